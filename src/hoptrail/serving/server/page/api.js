// Talking to the server: the key, errors in the server's one shape, and answers as a stream of events.

const KEY = "hoptrail-key";

export const session = {
  workspace: null,
  several: false, // whether the key opens several workspaces
  get key() { return sessionStorage.getItem(KEY) ?? ""; },
  set key(value) { value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY); },
};

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, error = {}) {
    super(error.message || "The server did not answer as expected.");
    this.status = status;
    this.code = error.code || "unknown";
    this.whatToDo = error.what_to_do || "";
  }
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (session.key) headers.Authorization = `Bearer ${session.key}`;
  const address = new URL(path, document.baseURI);
  if (session.workspace) address.searchParams.set("workspace", session.workspace);
  let answer;
  try {
    answer = await fetch(address, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "unreachable", message: "The server cannot be reached.", what_to_do: "Is it still running? Then try again." });
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("key-needed", { detail: Boolean(session.key) }));
  throw new Refused(answer.status, told.error);
}

const asJson = (method, content, signal) => ({
  method, signal, body: JSON.stringify(content), headers: { "Content-Type": "application/json" },
});

export const get = async (path, signal) => (await request(path, { signal })).json();
export const post = async (path, content) => (await request(path, content ? asJson("POST", content) : { method: "POST" })).json();
export const remove = async (path) => (await request(path, { method: "DELETE" })).json();
export const file = async (path) => (await request(path)).blob();

export async function upload(files) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.webkitRelativePath || file.name);
  return (await request("api/documents", { method: "POST", body: form })).json();
}

/** The events of a question as {name, content}, until the answer or an error; aborting the signal stops the work. `asked` is
 *  {question, recipe, documents, before, keep, thread}. */
export async function* ask(asked, signal) {
  const options = asJson("POST", asked, signal);
  options.headers.Accept = "text/event-stream";
  const answer = await request("api/ask", options);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    const whole = waiting.split("\n\n");
    waiting = whole.pop();
    for (const block of whole) {
      const told = parsed(block);
      if (told) yield told;
    }
  }
}

function parsed(block) {
  let name = "message", data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { name, content: JSON.parse(data) } : null;
}

const documents = new Map();

/** A document with its text; kept, since its id stands for its content. */
export function documentOf(id) {
  const place = `${session.workspace}/${id}`;
  if (!documents.has(place)) {
    const promise = get(`api/documents/${encodeURIComponent(id)}`).then((found) => ({ ...found, points: Array.from(found.text) }));
    promise.catch(() => documents.delete(place));
    documents.set(place, promise);
  }
  return documents.get(place);
}
