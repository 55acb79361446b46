// Plans: arguments that answer at once, what differs, a proposal that is written; stored ones, two compared.
import { differences, list, make, table } from "./make.js";
import { picture } from "./picture.js";

const FIRST = ["name", "target", "ratio", "data", "db", "wal", "db-size", "wal-size"];
const PAUSE = 250; // milliseconds after the last key

const field = (told) => {
  const id = `argument-${told.name}`;
  const about = make("small", { id: `${id}-about` }, `${told.meaning} (${told.default})`);
  const common = { id, name: told.name, "aria-describedby": `${id}-about` };
  const input = told.default === "off" ? make("input", { ...common, type: "checkbox" })
    : make("input", { ...common, autocomplete: "off", spellcheck: "false" });
  return make("div", {}, make("label", { for: id }, `${told.name} `), input, about);
};

const asked = (form) => Object.fromEntries([...form.elements].filter((each) => each.name)
  .map((each) => [each.name, each.type === "checkbox" ? each.checked : each.value.trim()])
  .filter(([, value]) => value !== "" && value !== false));

/** The form of arguments, the plan that answers them, and the button that writes it. */
export const plan = async (place, page) => {
  const told = page.start.arguments;
  const first = told.filter((each) => FIRST.includes(each.name));
  const form = make("form", { "aria-label": "Arguments of the planner", submit: (event) => event.preventDefault() },
    make("div", { class: "fields" }, first.map(field)),
    make("details", {}, make("summary", {}, "More arguments"),
      make("div", { class: "fields" }, told.filter((each) => !first.includes(each)).map(field))));
  const answer = make("div", { "aria-live": "polite" });
  const drawing = make("div", { id: "drawing" });
  const write = make("button", { id: "write", type: "button", hidden: !page.may("operate.populate") }, "Write this proposal …");
  let turn = 0, timer = 0;
  const peek = async () => {
    const mine = turn += 1;
    const words = asked(form);
    const data = await page.ask("view.peek", words);
    if (mine !== turn || !page.live()) return;
    write.disabled = !data;
    if (!data) return;
    answer.replaceChildren(list(data.messages) || "", make("h2", {}, "What would differ from the stored proposal"), differences(data.differs));
    drawing.replaceChildren(picture(data, (from) => page.ask("view.peek", { ...words, first: from })));
  };
  form.addEventListener("input", () => { clearTimeout(timer); write.disabled = true; timer = setTimeout(peek, PAUSE); });
  write.addEventListener("click", async () => {
    const words = asked(form);
    const looked = await page.ask("operate.populate", words);
    if (!looked) return;
    const about = make("p", {}, `Proposal ${looked.name}: ${looked.summary.osds} OSDs on ${looked.summary.hosts} hosts. Files that were edited stay.`);
    if (!await page.confirm("Write this proposal?", about, "Write it")) return;
    const done = await page.ask("operate.populate", { ...words, confirm: looked.confirm });
    if (!done) return;
    await peek();
    page.status(`Proposal ${done.name} is written. ${done.messages.join(" ")}`);
  });
  place.append(make("h2", {}, "Plan disks"), form, make("p", {}, write), answer, drawing);
  await peek();
};

const chooser = (label, names, change) => {
  const id = `choose-${label.replaceAll(" ", "-")}`;
  const select = make("select", { id, change: () => change(select.value) }, names.map((name) => make("option", { value: name }, name || "none")));
  return [make("label", { for: id }, `${label} `), select, " "];
};

/** Stored proposals; two of them compared. */
export const proposals = async (place, page) => {
  const names = page.start.proposals;
  if (!names.length) { place.append(make("p", {}, "No proposal is stored yet.")); return; }
  let left = names[0], right = "", turn = 0;
  const answer = make("div", {});
  const show = async (old, other) => {
    const mine = turn += 1;
    const compared = other && await page.ask("view.compare", { old, new: other });
    const data = await page.ask("view.proposal", { name: old });
    const beside = other && await page.ask("view.proposal", { name: other });
    if (!data || mine !== turn || !page.live()) return;
    const words = (typed) => Object.entries(typed).map(([key, value]) => `${key}=${value}`).join(" ") || "no arguments";
    answer.replaceChildren(make("p", {}, words(data.arguments)),
      compared ? make("div", {}, make("h2", {}, `${old} beside ${other}`),
        table("Two proposals", ["proposal", "arguments", "what it is", "what falls with one device, at most"],
          [[old, compared.arguments.old], [other, compared.arguments.new]].map(([name, typed], at) =>
            [name, words(typed), compared.summaries[at], compared.falls[at]])),
        differences(compared.differs)) : "",
      picture(data, (first) => page.ask("view.proposal", { name: old, first })),
      beside ? picture(beside, (first) => page.ask("view.proposal", { name: other, first })) : "");
  };
  place.append(make("h2", {}, "Stored proposals"), make("p", {},
    chooser("Proposal", names, (name) => show(left = name, right)),
    chooser("beside", ["", ...names], (name) => show(left, right = name))), answer);
  await show(left, right);
};
