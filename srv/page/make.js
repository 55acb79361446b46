// Elements from data. What a minion, a file or a person said becomes text and nothing else: no markup is ever parsed.
const SVG = "http://www.w3.org/2000/svg";

const filled = (made, told, inner) => {
  for (const [key, value] of Object.entries(told)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...inner.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return made;
};

/** An element: attributes and listeners by name, then texts and elements in it. */
export const make = (tag, told = {}, ...inner) => filled(document.createElement(tag), told, inner);

/** The same of SVG. */
export const drawn = (tag, told = {}, ...inner) => filled(document.createElementNS(SVG, tag), told, inner);

/** A table with a caption for screen readers; cells are texts or elements. */
export const table = (caption, heads, rows) =>
  make("div", { class: "wide" },
    make("table", { "aria-label": caption },
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell)))))));

/** A list of lines; nothing where there are none. */
export const list = (lines) => lines.length ? make("ul", {}, lines.map((line) => make("li", {}, line))) : null;

/** Something that is opened; what is in it is made then. */
export const opened = (summary, inner) => {
  const made = make("details", { toggle: () => { if (made.open && made.children.length === 1) made.append(inner()); } },
    make("summary", {}, summary));
  return made;
};

/** What differs between two proposals, host by host. */
export const differences = (differs) => {
  const hosts = Object.entries(differs.hosts);
  if (!hosts.length) return make("p", {}, differs.stored ? "Nothing differs." : "Nothing of this name is stored yet.");
  const lines = (changes) => list(Object.entries(changes).flatMap(([kind, each]) => each.map((line) => `${kind}: ${line}`)));
  return make("div", {},
    make("p", {}, `${hosts.length + differs.more} hosts differ.`),
    hosts.map(([host, changes]) => {
      const counts = Object.entries(changes).map(([kind, each]) => `${each.length} ${kind}`).join(", ");
      return opened(`${host}: ${counts}`, () => lines(changes));
    }),
    differs.more ? make("p", {}, `and ${differs.more} more`) : null);
};
