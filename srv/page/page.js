// The page: who is logged in, which view is shown. Views are functions that fill an element.
import { ask, enter, leave, may } from "./ask.js";
import { make } from "./make.js";
import { plan, proposals } from "./plans.js";
import { health, hosts, networks, policy } from "./site.js";
import { stages } from "./stages.js";

const VIEWS = {
  plan: ["Plan", plan], proposals: ["Proposals", proposals], hosts: ["Hosts", hosts], policy: ["policy.cfg", policy],
  networks: ["Networks", networks], stages: ["Stages", stages], health: ["Health", health],
};
const by = (id) => document.getElementById(id);
const main = by("main"), form = by("login"), wrong = by("wrong"), status = by("status");
let shown = 0, under = 0;

const show = async () => {
  const name = VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : "plan";
  const turn = shown += 1;
  const page = {
    live: () => turn === shown, // whether this view is still the one that is seen
    may,
    status: (text) => { status.textContent = text; },
    wrong: (error) => { if (turn === shown) wrong.textContent = error ? error.message || String(error) : ""; },
    /** Ask, and tell that it is asked (`quiet`: not so); undefined where it failed, which is told always. */
    ask: async (fun, kwarg, quiet) => {
      under += 1;
      if (!quiet) status.textContent = "asks …";
      try {
        const answer = await ask(fun, kwarg);
        page.wrong("");
        return answer;
      } catch (error) {
        page.wrong(error);
        return undefined;
      } finally {
        under -= 1;
        if (!under && !quiet) status.textContent = "";
      }
    },
    confirm,
  };
  wrong.textContent = "";
  by("views").querySelectorAll("a").forEach((link) => {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  document.title = `${VIEWS[name][0]} - Halocline`;
  const place = make("div", {});
  main.replaceChildren(place);
  page.start = page.start || await page.ask("view.start");
  if (page.start && page.live()) await VIEWS[name][1](place, page);
};

/** Ask a person to confirm what `inner` shows; true where they do. */
const confirm = (title, inner, yes) => new Promise((resolve) => {
  const dialog = by("dialog");
  by("dialog-title").textContent = title;
  by("dialog-text").replaceChildren(inner);
  by("dialog-yes").textContent = yes;
  const close = (answer) => () => { if (dialog.open) dialog.close(); resolve(answer); };
  by("dialog-yes").onclick = close(true);
  by("dialog-no").onclick = close(false);
  dialog.onclose = close(false);
  dialog.showModal();
});

const out = () => {
  shown += 1;
  for (const id of ["views", "who"]) by(id).hidden = true;
  main.replaceChildren(form);
  document.title = "Halocline";
  by("username").focus();
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  wrong.textContent = "";
  try {
    by("user").textContent = await enter(by("username").value, by("password").value, () => { out(); wrong.textContent = "Your login has ended."; });
  } catch (error) {
    wrong.textContent = error.message;
    return;
  } finally {
    by("password").value = "";
  }
  for (const id of ["views", "who"]) by(id).hidden = false;
  main.focus(); // the field that had it is gone
  await show();
});
by("leave").addEventListener("click", async () => { await leave(); out(); });
by("views").append(...Object.entries(VIEWS).map(([name, [title]]) => make("a", { href: `#${name}` }, title)));
window.addEventListener("hashchange", () => { if (!by("who").hidden) { show(); main.focus(); } });
by("username").focus();
