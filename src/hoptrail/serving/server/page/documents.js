// Documents: dropped in, watched while they are indexed, listed, opened, removed.

import { get, post, remove, session, upload } from "./api.js";
import { count, fill, h, say } from "./dom.js";
import { openSource } from "./reader.js";

const STATES = { waiting: "waiting", reading: "reading", indexing: "indexing", done: "ready", failed: "not read", stopped: "stopped", discarded: "discarded" };
const PAGE = 50;
const LOOK = 500;

/** A place to drop files or choose them; `limits` are those of the server, `take(files)` gets the files. */
export function dropZone(limits, take) {
  const input = h("input", { type: "file", multiple: true, id: "files", class: "unseen", onchange: () => { take([...input.files]); input.value = ""; } });
  const kinds = limits.endings.filter((ending) => ![".markdown", ".htm", ".jsonl.gz"].includes(ending)).map((ending) => ending.slice(1).toUpperCase());
  return h("div", { class: "zone" }, input,
    h("label", { for: "files" },
      h("strong", {}, "Drop documents here"), h("span", {}, " or choose files"),
      h("span", { class: "fine" }, `${kinds.join(", ")} and other text, also packed as .gz · up to ${Math.round(limits.bytes / 2 ** 20)} MB at once`)));
}

/** What is being indexed, shown wherever the user is; `changed` is called whenever documents have become ready. */
export class Watch {
  constructor(changed) {
    this.changed = changed;
    this.element = h("div", { class: "jobs" });
    this.shown = new Map();
  }

  /** Look for work that is under way since before the page was opened. */
  async begin() {
    const { jobs } = await get("/api/jobs");
    for (const job of jobs) if (["waiting", "indexing"].includes(job.state) || (job.state === "stopped" && job.counts.stopped)) this.follow(job.id);
  }

  async take(files) {
    if (!files.length) return;
    const note = h("div", { class: "job" }, h("p", {}, `Sending ${count(files.length, "file")}…`), h("progress", { "aria-label": "Sending" }));
    this.element.prepend(note);
    try {
      const job = await upload(files);
      note.remove();
      say(`${count(files.length, "document")} handed in.`);
      this.follow(job.id, job);
    } catch (error) {
      note.replaceChildren(h("p", { class: "fault", role: "alert" }, h("strong", {}, error.message), ` ${error.whatToDo ?? ""}`), closing(note));
    }
  }

  async removed(job) {
    this.follow(job.id, job);
  }

  async follow(id, job = null) {
    const workspace = session.workspace;
    const box = this.shown.get(id) ?? h("div", { class: "job" });
    this.shown.set(id, box);
    this.element.prepend(box);
    let ready = 0;
    for (;;) {
      try {
        job = job ?? await get(`/api/jobs/${id}`);
      } catch (error) {
        box.replaceChildren(h("p", { class: "fault", role: "alert" }, error.message), closing(box));
        return;
      }
      if (session.workspace !== workspace) return;
      this.draw(box, job);
      const done = job.items.filter((item) => item.state === "done").length;
      const over = ["done", "failed", "stopped"].includes(job.state);
      if (done > ready || over) { ready = done; this.changed(); }
      if (over) { say(told(job)); return; }
      job = null;
      await new Promise((resolve) => { setTimeout(resolve, LOOK); });
    }
  }

  draw(box, job) {
    const over = ["done", "failed", "stopped"].includes(job.state);
    const done = job.items.filter((item) => ["done", "failed"].includes(item.state)).length;
    const { what, done: step, total } = job.progress;
    const open = box.querySelector("details")?.open ?? job.items.length <= 8;
    fill(box,
      h("div", { class: "job-head" },
        h("p", {}, h("strong", {}, told(job)), !over && what && h("span", { class: "fine" }, total ? `${what}, ${step} of ${total}` : what)),
        !over && h("button", { type: "button", class: "quiet", onclick: () => post(`/api/jobs/${job.id}/cancel`).catch(() => {}) }, "Stop"),
        over && job.items.some((item) => item.state === "stopped") && h("button", { type: "button", class: "quiet", onclick: () => post(`/api/jobs/${job.id}/resume`).then((again) => this.follow(job.id, again)).catch(() => {}) }, "Go on"),
        (job.state === "waiting" || (over && job.items.some((item) => item.state === "stopped"))) && h("button", { type: "button", class: "quiet", onclick: () => remove(`/api/jobs/${job.id}`).then(() => box.remove()).catch(() => {}) }, "Discard"),
        over && closing(box)),
      !over && h("progress", { max: job.items.length, value: done || false, "aria-label": "Documents indexed" }),
      job.error && h("p", { class: "fault" }, job.error.message, " ", job.error.what_to_do),
      job.kind === "add" && h("details", { open }, h("summary", {}, "Each document"),
        h("ul", { class: "items" }, job.items.map((item) => h("li", { class: item.state },
          h("span", { class: "name" }, item.name), h("span", { class: "state" }, STATES[item.state]),
          item.reason && h("span", { class: "fine" }, item.reason),
          item.notes.map((note) => h("span", { class: "fine" }, note)))))));
  }
}

function told(job) {
  const of = (state) => job.items.filter((item) => item.state === state).length;
  if (job.kind === "remove") return job.state === "done" ? "Removed" : job.state === "failed" || job.state === "stopped" ? "Not removed" : "Removing…";
  const failed = of("failed") ? `, ${of("failed")} not read` : "";
  if (job.state === "done") return of("done") ? `${count(of("done"), "document")} ready${failed}` : `Nothing could be read`;
  if (job.state === "stopped" || job.state === "failed") return `Stopped: ${of("done")} of ${job.items.length} ready${failed}`;
  return `Indexing ${of("done") + of("failed")} of ${job.items.length}`;
}

const closing = (box) => h("button", { type: "button", class: "quiet", "aria-label": "Put away this message", onclick: () => box.remove() }, "Put away");

/** The view of all documents. */
export function documentsView(limits, watch) {
  const list = h("div", { class: "list", "aria-live": "off" });
  const filter = h("input", { type: "search", placeholder: "Filter by title", "aria-label": "Filter documents by title", oninput: () => { start = 0; later(); } });
  let start = 0, timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(draw, 150); };
  async function draw() {
    try {
      const found = await get(`/api/documents?start=${start}&limit=${PAGE}&title=${encodeURIComponent(filter.value)}`);
      list.replaceChildren(...rows(found));
    } catch (error) {
      list.replaceChildren(h("p", { class: "fault", role: "alert" }, `${error.message} ${error.whatToDo ?? ""}`));
    }
  }
  function rows(found) {
    if (!found.total) return [h("p", { class: "empty" }, filter.value ? "No title contains this." : "No documents yet. What you add stays on this server.")];
    const last = Math.min(start + PAGE, found.total);
    return [
      h("p", { class: "fine" }, found.total > PAGE ? `${start + 1} to ${last} of ${count(found.total, "document")}` : count(found.total, "document")),
      h("ul", { class: "documents" }, found.documents.map((one) => h("li", {},
        h("button", { type: "button", class: "title", onclick: () => openSource(one.id, [{ title: one.title, start: 0, end: 0 }]) },
          one.title || "Untitled", h("span", { class: "fine" }, one.sources.join(", "), " · ", count(one.passages, "passage"))),
        h("button", { type: "button", class: "quiet", "aria-label": `Remove ${one.title}`, onclick: (event) => drop(one, event.currentTarget) }, "Remove")))),
      found.total > PAGE && h("p", { class: "pages" },
        h("button", { type: "button", disabled: start === 0, onclick: () => { start -= PAGE; draw(); } }, "Before"),
        h("button", { type: "button", disabled: last === found.total, onclick: () => { start += PAGE; draw(); } }, "More")),
    ].filter(Boolean);
  }
  async function drop(one, button) {
    if (button.dataset.sure !== "yes") { // asked twice instead of in a dialogue
      button.dataset.sure = "yes";
      button.textContent = "Really remove";
      button.addEventListener("blur", () => { button.dataset.sure = ""; button.textContent = "Remove"; }, { once: true });
      return;
    }
    button.disabled = true;
    try {
      watch.removed(await remove(`/api/documents/${encodeURIComponent(one.id)}`));
    } catch (error) {
      say(error.message);
      draw();
    }
  }
  const view = h("div", { class: "narrow" }, h("h1", { tabindex: "-1" }, "Documents"),
    dropZone(limits, (files) => watch.take(files)), watch.element, h("div", { class: "bar" }, filter), list);
  view.refresh = draw;
  draw();
  return view;
}
