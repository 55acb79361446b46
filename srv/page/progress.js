// A stage's run from its records (proposals/stages/records.py): folded into steps, then shown.
import { list, make, table } from "./make.js";

const FEW = 50; // hosts of a step that are told one by one

/** Nothing known yet. */
export const blank = () => ({ stage: "", user: "", only: null, steps: [], end: null, notes: [] });

const stepOf = (run, name) => {
  let found = run.steps.find((each) => each.name === name);
  if (!found) { found = { name, state: "waits", hosts: new Map(), osds: new Map(), reason: "" }; run.steps.push(found); }
  return found;
};

/** Take one record in. */
export const take = (run, record) => {
  const current = run.steps.findLast((each) => each.state === "runs");
  switch (record.event) {
    case "stage":
      Object.assign(run, { stage: record.stage, user: record.user, only: record.only || null });
      (record.steps || []).forEach((name) => stepOf(run, name));
      break;
    case "step":
      if (current) current.state = "done";
      stepOf(run, record.step).state = "runs";
      break;
    case "job": {
      const step = stepOf(run, record.step);
      record.minions.forEach((minion) => step.hosts.set(minion, step.hosts.get(minion) || { state: "runs", reason: "" }));
      break;
    }
    case "osd":
      if (current) current.osds.set(record.minion, record);
      break;
    case "minion":
      stepOf(run, record.step).hosts.set(record.minion, { state: record.result, reason: record.reason || "", warnings: record.warnings || [] });
      break;
    case "result": {
      const step = stepOf(run, record.step);
      Object.assign(step, { state: record.result, reason: record.reason || "", seconds: record.seconds });
      break;
    }
    case "waits":
      run.notes.push(`waits up to ${record.limit} s for jobs of an interrupted run: ${record.jobs}`);
      break;
    case "stop":
      run.notes.push(`stopped by ${record.user}`);
      break;
    case "drain":
      run.notes.push(`${record.left} of ${record.of} ${record.what} are still to leave`);
      break;
    case "end":
      if (current && record.result !== "done") current.state = record.result;
      run.end = record;
      break;
  }
};

const WORDS = { waits: "○ waits", runs: "▶ runs", done: "✔ done", failed: "✘ failed" };
const word = (state) => WORDS[state] || `✘ ${state}`;
const bar = (label, value, max) => make("span", {}, make("progress", { value, max, "aria-label": label }), ` ${label} `);

const stepShown = (step) => {
  const hosts = [...step.hosts], through = hosts.filter(([, host]) => host.state !== "runs").length;
  const osds = [...step.osds.values()];
  const sum = (key) => osds.reduce((total, each) => total + each[key], 0);
  const failed = hosts.filter(([, host]) => host.state !== "runs" && host.state !== "done");
  const named = (hosts.length <= FEW ? hosts : failed.slice(0, FEW)).map(([name, host]) => {
    const own = step.osds.get(name);
    const told = own ? bar(`${own.made} of ${own.of} OSDs${own.failed ? `, ${own.failed} failed` : ""}`, own.made + own.failed, own.of) : "";
    return [name, make("span", { class: host.state === "runs" || host.state === "done" ? "" : "failed" }, word(host.state)),
      told, [host.reason, ...(host.warnings || []).map((each) => `warning: ${each}`)].filter(Boolean).join("\n")];
  });
  const seconds = step.seconds === undefined ? "" : ` ${Math.round(step.seconds)} s`;
  return make("li", { class: step.state === "waits" ? "faint" : "" },
    make("span", { class: ["waits", "runs", "done"].includes(step.state) ? "" : "failed" }, word(step.state)), ` ${step.name}${seconds} `,
    hosts.length ? bar(`${through} of ${hosts.length} hosts`, through, hosts.length) : null,
    osds.length ? bar(`${sum("made")} of ${sum("of")} OSDs`, sum("made") + sum("failed"), sum("of")) : null,
    step.reason ? make("p", { class: "failed" }, step.reason) : null,
    named.length ? table(`Hosts of ${step.name}`, ["host", "state", "OSDs", "why"], named) : null);
};

/** What is known of a run, as elements; `running`: whether it goes on. */
export const shown = (run, running) => {
  const only = run.only ? `, only ${run.only}` : "";
  const end = run.end ? `${run.end.result}${run.end.reason ? `: ${run.end.reason}` : ""}` : running ? "runs" : "its log has no end";
  return make("div", {},
    make("h3", {}, run.stage ? `stage ${run.stage}, begun by ${run.user}${only}: ${end}` : "no stage has run yet"),
    list(run.notes),
    make("ol", { class: "steps" }, run.steps.map(stepShown)),
    run.end && run.end.summary ? list(run.end.summary) : null);
};
