// What is being indexed, removed or built, and what could not be read, shown wherever the reader is.

import { get, post, remove, session, upload } from "./api.js";
import { count, faultOf, fill, h, prose, say, stepOf } from "./dom.js";
import { lots } from "./files.js";
import { FolderStatus } from "./folder.js";

const STATES = { waiting: "waiting", reading: "reading", indexing: "indexing", done: "ready", failed: "not read", stopped: "stopped", discarded: "discarded" };
const OVER = ["done", "failed", "stopped"];
const LOOK = 500;
const AWAY = "hoptrail-put-away";

/** `changed` is called whenever documents have become ready; `limits` are those of the server. */
export class Watch {
  constructor(changed, limits) {
    this.changed = changed;
    this.limits = limits;
    this.folder = new FolderStatus(changed);
    this.element = h("div", { class: "jobs" }, this.folder.element);
    this.shown = new Map();
    this.working = new Set();
  }

  /** Whether something is under way. */
  get isBusy() {
    return this.working.size > 0 || this.folder.isBusy;
  }

  /** What is under way since before the page was opened, and what was not read and has not been put away. */
  async begin() {
    this.folder.begin();
    const { jobs } = await get("api/jobs");
    const away = putAway();
    for (const job of jobs)
      if (!OVER.includes(job.state) || (job.state === "stopped" && job.counts.stopped) || (job.counts.failed && !away.includes(job.id))) this.follow(job.id);
  }

  async take(files) {
    const all = lots(files, this.limits);
    if (!all.length) return;
    const total = all.reduce((sum, some) => sum + some.length, 0);
    const note = h("div", { class: "job" }, h("p", {}, `Sending ${count(total, "file")}…`), h("progress", { "aria-label": "Sending" }));
    this.element.prepend(note);
    try {
      for (const some of all) {
        const job = await upload(some);
        this.follow(job.id, job);
      }
      note.remove();
      say(`${count(total, "document")} handed in.`);
    } catch (error) {
      note.replaceChildren(faultOf(error), closing(note));
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
    this.working.add(id);
    let ready = 0;
    for (;;) {
      try {
        job = job ?? await get(`api/jobs/${id}`);
      } catch (error) {
        this.working.delete(id);
        box.replaceChildren(faultOf(error), closing(box));
        return;
      }
      if (session.workspace !== workspace) return;
      this.draw(box, job);
      const done = job.items.filter((item) => item.state === "done").length;
      const over = OVER.includes(job.state);
      if (over) this.working.delete(id);
      if (done > ready || over) { ready = done; this.changed(); }
      if (over) { say(told(job)); return; }
      job = null;
      await new Promise((resolve) => { setTimeout(resolve, LOOK); });
    }
  }

  draw(box, job) {
    const over = OVER.includes(job.state);
    const stopped = over && job.items.some((item) => item.state === "stopped");
    const done = job.items.filter((item) => ["done", "failed"].includes(item.state)).length;
    const open = box.querySelector("details")?.open ?? job.items.length <= 8;
    const button = (text, act) => h("button", { type: "button", class: "quiet", onclick: act }, text);
    const held = box.contains(document.activeElement) ? document.activeElement.textContent : null;
    fill(box,
      h("div", { class: "job-head" },
        h("p", {}, h("strong", {}, told(job)), !over && h("span", { class: "fine" }, step(job))),
        !over && button("Stop", () => post(`api/jobs/${job.id}/cancel`).catch(() => {})),
        stopped && button("Go on", () => post(`api/jobs/${job.id}/resume`).then((again) => this.follow(job.id, again)).catch(() => {})),
        (job.state === "waiting" || stopped) && button("Discard", () => remove(`api/jobs/${job.id}`).then(() => box.remove()).catch(() => {})),
        over && closing(box, job.id)),
      !over && h("progress", job.kind === "build" ? { "aria-label": "Building" } : { max: job.items.length, value: done || false, "aria-label": "Documents indexed" }),
      job.error && h("p", { class: "fault" }, prose(`${job.error.message} ${job.error.what_to_do}`)),
      job.kind === "add" && h("details", { open }, h("summary", {}, "Each document"),
        h("div", { class: "items", tabindex: "0", role: "region", "aria-label": "Each document" }, h("ul", {}, inOrder(job.items).map((item) => h("li", { class: item.state },
          h("span", { class: "name" }, item.name), h("span", { class: "state" }, STATES[item.state]),
          item.reason && h("span", { class: "fine" }, prose(item.reason)),
          item.notes.map((note) => h("span", { class: "fine" }, prose(note)))))))));
    if (held !== null) [...box.querySelectorAll("button, summary")].find((one) => one.textContent === held)?.focus();
  }
}

/** What could not be read first: it is what somebody has to do something about. */
const inOrder = (items) => [...items.filter((item) => item.state === "failed"), ...items.filter((item) => item.state !== "failed")];

function step(job) {
  const ready = job.items.filter((item) => item.state === "done").length;
  return [stepOf(job.progress), job.kind === "add" && ready && `${count(ready, "document")} can be asked about already`].filter(Boolean).join(" · ");
}

function told(job) {
  const of = (state) => job.items.filter((item) => item.state === state).length;
  const over = OVER.includes(job.state);
  if (job.kind === "remove") return job.state === "done" ? (job.items.length > 1 ? `${count(job.items.length, "document")} removed` : "Removed") : over ? "Not removed" : "Removing…";
  if (job.kind === "build") return job.state === "done" ? `Built for ${job.items[0].name}` : over ? `Not built for ${job.items[0].name}` : `Building for ${job.items[0].name}`;
  const failed = of("failed") ? `, ${of("failed")} not read` : "";
  if (job.state === "done") return of("done") ? `${count(of("done"), "document")} ready${failed}` : "Nothing could be read";
  if (over) return `Stopped: ${of("done")} of ${job.items.length} ready${failed}`;
  return `Indexing ${of("done") + of("failed")} of ${job.items.length}`;
}

const closing = (box, id = "") => h("button", { type: "button", class: "quiet", "aria-label": "Dismiss this message", onclick: () => {
  if (id) localStorage.setItem(AWAY, JSON.stringify([id, ...putAway()].slice(0, 200)));
  box.remove();
} }, "Dismiss");

function putAway() {
  try {
    const found = JSON.parse(localStorage.getItem(AWAY) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/** Ask twice instead of in a dialogue: the first press changes what the button says, the second acts. */
export function confirmed(button, act) {
  if (button.dataset.confirming === "yes") {
    button.disabled = true;
    act();
    return;
  }
  const text = button.textContent, name = button.getAttribute("aria-label");
  const set = (confirming, shown, called) => {
    button.dataset.confirming = confirming;
    button.textContent = shown;
    if (name) button.setAttribute("aria-label", called);
  };
  const really = (words) => `Really ${words[0].toLowerCase()}${words.slice(1)}`;
  set("yes", really(text), name && really(name));
  say(`${really(name ?? text)}? Press once more.`);
  button.addEventListener("blur", () => set("", text, name), { once: true });
}
