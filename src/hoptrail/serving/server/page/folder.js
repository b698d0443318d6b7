// The folder that the server keeps in step with: how far it is indexed, and what was not read.

import { get, session } from "./api.js";
import { count, fill, h, prose, say, stepOf } from "./dom.js";

const BUSY = 1000, QUIET = 10_000;
const AWAY = "hoptrail-unread-put-away";

/** `changed` is called whenever more documents can be asked about. */
export class FolderStatus {
  constructor(changed) {
    this.changed = changed;
    this.element = h("div", { class: "job", hidden: true });
    this.isBusy = false;
  }

  /** Look until another workspace is chosen; only once where no folder is served. */
  async begin() {
    const workspace = session.workspace;
    let searchable = null;
    for (;;) {
      const now = await get("api/show").catch(() => null);
      if (session.workspace !== workspace || (now && !now.folder)) return;
      if (now) {
        const wasBusy = this.isBusy;
        const found = now.indexing?.searchable ?? now.contents?.documents ?? 0;
        this.isBusy = Boolean(now.progress.what);
        this.draw(now, this.isBusy);
        if (wasBusy && !this.isBusy) say("The folder is indexed.");
        if (wasBusy !== this.isBusy || (searchable !== null && found !== searchable)) this.changed();
        searchable = found;
      }
      await new Promise((resolve) => { setTimeout(resolve, this.isBusy ? BUSY : QUIET); });
    }
  }

  draw(now, busy) {
    const { unread } = now.folder;
    const name = JSON.stringify(unread);
    const total = unread.total + unread.left_out;
    const shown = total > 0 && localStorage.getItem(AWAY) !== name;
    const state = JSON.stringify([now.progress, now.indexing, name]);
    this.element.hidden = !busy && !shown;
    if (this.element.hidden || this.element.dataset.state === state) return; // drawing anew would close what is open
    this.element.dataset.state = state;
    const open = this.element.querySelector("details")?.open ?? false;
    this.element.classList.toggle("unread", !busy);
    const away = () => { localStorage.setItem(AWAY, name); this.element.hidden = true; };
    fill(this.element,
      busy && h("div", { class: "job-head" }, h("p", {}, h("strong", {}, "Indexing your folder"), h("span", { class: "fine" }, step(now)))),
      busy && h("progress", { max: 1, value: now.progress.share ?? false, "aria-label": "The folder indexed" }),
      shown && h("div", { class: "job-head" }, h("p", {}, h("strong", {}, told(unread))),
        h("button", { type: "button", class: "quiet", "aria-label": "Dismiss this message", onclick: away }, "Dismiss")),
      shown && h("details", { open }, h("summary", {}, "Each file"),
        h("div", { class: "items", tabindex: "0", role: "region", "aria-label": "Each file" }, h("ul", {}, unread.files.map((one) => h("li", { class: one.left_out ? "" : "failed" },
          h("span", { class: "name" }, one.file), h("span", { class: "state" }, one.left_out ? "left out" : "not read"), h("span", { class: "fine" }, prose(one.reason))))),
        total > unread.files.length && h("p", { class: "fine" }, `and ${count(total - unread.files.length, "other")}`))));
  }
}

function told({ total, left_out }) {
  const failed = total > 0 && `${count(total, "file")} of your folder could not be read`;
  return [failed, left_out > 0 && (failed ? `${left_out.toLocaleString("en")} left out` : `${count(left_out, "file")} of your folder left out`)].filter(Boolean).join(", ");
}

function step({ progress, indexing }) {
  const { seconds_left } = progress;
  const left = seconds_left !== null && (seconds_left < 90 ? "about a minute left" : `about ${Math.round(seconds_left / 60)} minutes left`);
  const ready = indexing?.searchable > 0 && `${indexing.searchable.toLocaleString("en")} of ${count(indexing.documents, "document")} can be asked about already`;
  return [stepOf(progress), left, ready].filter(Boolean).join(" · ");
}
