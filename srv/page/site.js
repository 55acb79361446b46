// What discovery saw, policy.cfg, networks, the cluster's health.
import { list, make, opened, table } from "./make.js";
import { picture } from "./picture.js";

/** Hosts and their disks. */
export const hosts = async (place, page) => {
  const data = await page.ask("view.hosts");
  if (!data || !page.live()) return;
  if (data.looked.length) place.append(make("p", {}, `Discovery looked between ${data.looked[0]} and ${data.looked[1]}.`));
  place.append(picture(data, (first) => page.ask("view.hosts", { first })));
};

const matched = (lines) => make("div", {}, lines.map((line) =>
  opened(`line ${line.line}: ${line.pattern}: ${line.of} files`, () =>
    list(line.of > line.matches.length ? [...line.matches, `and ${line.of - line.matches.length} more`] : line.matches))));

/** policy.cfg: what each line matches; saved by who may, after what would change was shown. */
export const policy = async (place, page) => {
  const told = await page.ask("view.policy");
  if (!told || !page.live()) return;
  const change = page.may("operate.policy");
  const text = make("textarea", { id: "policy-text", "aria-label": "policy.cfg", readonly: !change, spellcheck: "false" });
  text.value = told.written;
  const answer = make("div", { "aria-live": "polite" });
  const say = (lines, wrong) => answer.replaceChildren(wrong ? make("p", { class: "failed" }, wrong) : "",
    make("h2", {}, "What each line matches"), matched(lines));
  const save = make("button", { id: "save", type: "button", hidden: !change, click: async () => {
    const looked = await page.ask("operate.policy", { text: text.value });
    if (!looked) return;
    say(looked.lines, looked.wrong);
    if (!looked.confirm) return;
    const inner = make("div", {}, make("p", {}, "What changes in policy.cfg; configure and deploy read it when they run."),
      make("pre", {}, looked.changes.join("\n") || "nothing"));
    if (!await page.confirm("Save policy.cfg?", inner, "Save it")) return;
    if (await page.ask("operate.policy", { text: text.value, confirm: looked.confirm })) page.status("policy.cfg is saved");
  } }, "Check and save …");
  place.append(make("h2", {}, "policy.cfg"), text, make("p", {}, save), answer);
  say(told.lines, told.wrong);
};

/** Network proposals: bonds, VLANs, ports. */
export const networks = async (place, page) => {
  const names = page.start.networks, wires = make("div", { "aria-live": "polite" });
  const look = make("button", { type: "button", click: async () => {
    const told = await page.ask("view.cables");
    if (!told || !page.live()) return;
    wires.replaceChildren(table("Cables", ["host", "port", "switch and its port"], told.rows),
      told.more ? make("p", {}, `and ${told.more} more: salt-run networks.cables`) : "", list(told.unknown) || "");
  } }, "Ask the switches (LLDP)");
  place.append(make("h2", {}, "Networks"), make("p", {}, look), wires);
  if (!names.length) { place.append(make("p", {}, "No network proposal is stored yet: salt-run networks.populate writes one.")); return; }
  const answer = make("div", {});
  const select = make("select", { id: "network", change: () => show() }, names.map((name) => make("option", { value: name }, name)));
  const wired = make("input", { id: "wired", type: "checkbox", change: () => show() });
  let turn = 0;
  const show = async () => {
    const mine = turn += 1;
    const words = { name: select.value, ...(wired.checked ? { cables: true } : {}) };
    const data = await page.ask("view.networks", words);
    if (data && mine === turn && page.live()) answer.replaceChildren(picture(data, (first) => page.ask("view.networks", { ...words, first })));
  };
  place.append(make("p", {}, make("label", { for: "network" }, "Network proposal "), select, " ",
    wired, make("label", { for: "wired" }, " with each port's switch (hosts are asked)")), answer);
  await show();
};

/** The cluster's health, and every OSD beside its plan. */
export const health = async (place, page) => {
  place.append(make("h2", {}, "Health"));
  const told = await page.ask("view.health");
  if (!told || !page.live()) return;
  const rows = Object.entries({ wrong: "is wrong", moves: "moves", known: "was known before" })
    .map(([kind, title]) => [title, list(told[kind]) || "nothing"]);
  place.append(table("Health", ["", "what"], rows));
  const osds = await page.ask("view.osds");
  if (osds && page.live()) place.append(picture(osds, (first) => page.ask("view.osds", { first })));
};
