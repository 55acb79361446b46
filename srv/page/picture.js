// A picture from its data (proposals/pictures/drawing.py): groups of equal hosts, each drawn when it comes into sight.
import { drawn, list, make, opened, table } from "./make.js";

const MARGIN = "600px"; // how far below what is seen the next hosts are drawn

const box = ([x, y, kind, letter, title, head], size) =>
  drawn("g", { class: `box ${kind}${head ? " head" : ""}`, role: "img", "aria-label": title },
    drawn("title", {}, title),
    drawn("rect", { x, y, width: size, height: size, rx: 3 }),
    drawn("text", { x: x + size / 2, y: y + Math.floor(size * 2 / 3), "aria-hidden": "true" }, letter));

const group = (told, data, sight) => {
  const said = make("output", { class: "told" }, told.text);
  const section = make("section", { class: "hosts", "aria-label": told.title });
  let boxes = [], at = -1;
  const point = (number) => { // at a box: it, and where it carries others these too
    const [, , , , title, head, row] = told.boxes[number];
    boxes.forEach((each, other) => {
      each.classList.toggle("falls", head && told.boxes[other][6] === row);
      each.classList.toggle("at", other === number);
    });
    at = number;
    said.textContent = title;
  };
  const whole = () => { // at the host: all that falls with it
    boxes.forEach((each, number) => { each.classList.toggle("falls", told.boxes[number][2] !== "unused"); each.classList.remove("at"); });
    said.textContent = told.text;
  };
  const leave = () => { boxes.forEach((each) => each.classList.remove("falls", "at")); said.textContent = told.text; };
  const keys = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || !boxes.length) return;
    event.preventDefault();
    point((at + step + boxes.length) % boxes.length);
  };
  const draw = () => {
    boxes = told.boxes.map((each) => box(each, data.size));
    boxes.forEach((each, number) => each.addEventListener("pointerenter", () => point(number)));
    const texts = told.texts.map(([x, y, text]) => drawn("text", { x, y }, text));
    section.append(make("div", { class: "wide" },
      drawn("svg", { width: data.width, height: told.height, role: "group", tabindex: 0, keydown: keys, blur: leave,
        pointerleave: leave, "aria-label": `${told.title}: arrow keys go from disk to disk` }, boxes, texts)), said);
    const more = told.hosts.length > 1 ? `, and all ${told.hosts.length} hosts` : "";
    section.append(opened(`As a table${more}`, () => make("div", {},
      make("p", {}, told.hosts.join(", ")),
      table(told.title, ["", "what it is"], told.boxes.map((each) => [each[5] ? "carries" : each[3], each[4]])))));
  };
  section.append(make("h3", { tabindex: 0, focus: whole, blur: leave, pointerenter: whole, pointerleave: leave }, told.title));
  sight(section, draw);
  return section;
};

/** The picture; `more(first)` asks for the data from a group on, where one answer does not take all. */
export const picture = (data, more) => {
  const waiting = new Map();
  const seen = new IntersectionObserver((entries) => entries.filter((each) => each.isIntersecting).forEach((each) => {
    seen.unobserve(each.target);
    waiting.get(each.target)();
  }), { rootMargin: MARGIN });
  const sight = (element, then) => { waiting.set(element, then); seen.observe(element); };
  const hosts = make("div", {});
  const add = (told) => {
    hosts.append(...told.groups.map((each) => group(each, told, sight)));
    if (told.next === null) return;
    const button = make("button", { type: "button", click: () => next() }, `${told.of - told.next} more`);
    const next = async () => {
      button.disabled = true;
      const answer = await more(told.next);
      button.remove();
      if (answer) add(answer);
    };
    hosts.append(button);
    sight(button, next);
  };
  add(data);
  const legend = data.legend.map(([kind, letter, title]) => make("li", {},
    drawn("svg", { width: data.size, height: data.size, "aria-hidden": "true" }, box([0, 0, kind, letter, title, false], data.size)), ` ${title}`));
  return make("div", { class: "picture" }, make("h2", {}, data.title), make("p", {}, data.summary),
    make("ul", { class: "legend", "aria-label": "Legend" }, legend), list(data.lines), hosts);
};
