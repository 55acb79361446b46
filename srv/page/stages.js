// Stages: one that goes on, live, whoever began it; earlier runs; one that is begun after its dry run.
import { list, make, table } from "./make.js";
import { blank, shown, take } from "./progress.js";

const PAUSE = 3000; // milliseconds before it is asked again where asking failed
const IDLE = 8000; // before it is asked again whether somebody has begun a stage: each asking is a job of the master

const begin = (page, watch) => {
  const stage = make("select", { id: "stage" }, page.start.stages.map((name) => make("option", { value: name }, name)));
  const only = make("input", { id: "only", autocomplete: "off", placeholder: "all hosts" });
  const look = make("button", { id: "look", type: "button", click: async () => {
    const words = { stage: stage.value, ...(only.value.trim() ? { only: only.value.trim() } : {}) };
    look.disabled = true;
    page.status("makes the dry run: this may take minutes …");
    const planned = await page.ask("operate.plan", words);
    look.disabled = false;
    if (!planned || !page.live()) return;
    const inner = make("div", {}, make("p", {}, "This is what it would do; nothing was touched yet."),
      planned.fails ? make("p", { class: "failed" }, "Its dry run failed: it would most likely fail too.") : null, make("pre", {}, planned.lines.join("\n")));
    if (!await page.confirm(`Run stage ${planned.stage}?`, inner, "Run it")) return;
    const begun = await page.ask("operate.run", { ...words, confirm: planned.confirm });
    if (begun) watch(begun.run);
  } }, "Dry run …");
  return make("form", { submit: (event) => event.preventDefault(), "aria-label": "Run a stage" }, make("h2", {}, "Run a stage"),
    make("p", {}, make("label", { for: "stage" }, "Stage "), stage, " ", make("label", { for: "only" }, "only "), only, " ", look));
};

/** Runs, the history, and what is typed on the master. */
export const stages = async (place, page) => {
  const told = await page.ask("view.stages");
  if (!told || !page.live()) return;
  const run = make("select", { id: "run", change: () => watch(run.value) });
  const choose = (names, name) => {
    run.replaceChildren(...names.map((each) => make("option", { value: each }, each)));
    if (name) run.value = name;
  };
  const live = make("div", { id: "live", "aria-live": "off" });
  let turn = 0;
  const watch = async (name) => {
    const mine = turn += 1, known = blank();
    const here = () => mine === turn && page.live();
    let after = 0;
    if (name && ![...run.options].some((each) => each.value === name)) run.prepend(make("option", { value: name }, name));
    if (name) run.value = name;
    while (here()) {
      const words = name ? { run: name, after } : { after };
      const answer = await page.ask("view.progress", words, true);
      if (!here()) return;
      if (answer) {
        answer.records.forEach((record) => take(known, record));
        name = answer.run || name;
        after = answer.next;
        live.replaceChildren(shown(known, answer.running));
        if (known.end && !answer.running) page.status(`stage ${known.stage}: ${known.end.result}`);
        if (!answer.running) return follow(mine);
      }
      if (!answer) await new Promise((then) => setTimeout(then, PAUSE));
    }
  };
  const follow = async (mine) => { // a stage that somebody begins elsewhere comes into sight by itself
    const seen = new Set([...run.options].map((each) => each.value));
    while (mine === turn && page.live()) {
      await new Promise((then) => setTimeout(then, IDLE));
      if (mine !== turn || !page.live()) return undefined;
      const now = await page.ask("view.stages", {}, true);
      const newest = now && (now.running || now.runs[0]); // one that has ended meanwhile too
      if (newest && !seen.has(newest)) { choose(now.runs, newest); return watch(newest); }
    }
    return undefined;
  };
  choose(told.runs);
  const typed = Object.entries(page.start.typed).map(([what, line]) => [what, make("code", {}, line)]);
  place.append(page.may("operate.run") ? begin(page, watch) : "",
    make("h2", {}, "Runs"), make("p", {}, make("label", { for: "run" }, "Run "), run), live,
    make("h2", {}, "Typed on the master alone"), table("Typed on the master", ["to", "type"], typed),
    make("h2", {}, "Who ran what"),
    table("History", ["when", "who", "what", "result"], told.entries.map((each) => [each.time, each.user, each.what, each.result])));
  watch(told.running);
};
