// Asking the master, as who logged in. The token is kept in this page alone: no cookie, nothing in the browser's store.
let login = null, ended = () => {};

const send = async (path, body) => {
  const answer = await fetch(path, {
    method: "POST", credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    headers: { "Content-Type": "application/json", ...(login ? { "X-Auth-Token": login.token } : {}) },
    body: JSON.stringify(body),
  });
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
  const told = (await send("run", { fun, kwarg })).return;
  if (told === null || typeof told !== "object") throw new Error("the master's log says what went wrong");
  if (told.error) throw new Error(told.error);
  return told;
};
