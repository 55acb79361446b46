// Asking the master, as who logged in. The token is kept in this page alone: no cookie, nothing in the browser's store.
let login = null, ended = () => {};

const AGAIN = 3, PAUSE = 1000; // how often what only looks is asked once more where the network fails, and after how long

const reached = async (path, told, again) => {
  for (;;) {
    try {
      return await fetch(path, told);
    } catch {
      if (again <= 0) throw new Error("the server cannot be reached");
      again -= 1;
      await new Promise((then) => setTimeout(then, PAUSE));
    }
  }
};

const send = async (path, body, again = 0) => {
  const answer = await reached(path, {
    method: "POST", credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    headers: { "Content-Type": "application/json", ...(login ? { "X-Auth-Token": login.token } : {}) },
    body: JSON.stringify(body),
  }, again);
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401 && login) { login = null; ended(); }
  if (!answer.ok) throw new Error(told.error || `the server answers ${answer.status}`);
  return told;
};

/** Log in; who it is. `atEnd` is called when that login has ended. */
export const enter = async (username, password, atEnd) => {
  login = await send("login", { username, password });
  ended = atEnd;
  return login.user;
};

/** Log out. */
export const leave = async () => { await send("logout", {}).catch(() => {}); login = null; };

/** Whether who logged in may ask for a function. The master judges; this only chooses what is shown. */
export const may = (fun) => Boolean(login && login.may.includes(fun));

/** Ask for a function; an error that it answers is thrown. */
export const ask = async (fun, kwarg = {}) => {
  const told = (await send("run", { fun, kwarg }, fun.startsWith("view.") ? AGAIN : 0)).return;
  if (told === null || typeof told !== "object") throw new Error("the master's log says what went wrong");
  if (told.error) throw new Error(told.error);
  return told;
};
