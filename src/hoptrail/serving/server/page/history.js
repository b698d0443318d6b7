// Questions asked before, kept in this browser only, for each workspace.

import { session } from "./api.js";
import { fill, h } from "./dom.js";

const MOST = 50;
const place = () => `hoptrail-history-${session.workspace ?? ""}`;

/** The entries, newest first: {at, question, answers: [whole answers]}. */
export function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(place()) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

export function remember(question, answers) {
  let entries = [{ at: Date.now(), question, answers }, ...remembered()].slice(0, MOST);
  for (;;) {
    try {
      localStorage.setItem(place(), JSON.stringify(entries));
      return;
    } catch { // no room: the oldest go
      if (entries.length <= 1) return;
      entries = entries.slice(0, Math.floor(entries.length / 2));
    }
  }
}

const shown = () => `hoptrail-shown-${session.workspace ?? ""}`;

/** What this tab shows now, a question with its answers and what followed on from it, so that a reload shows it again. */
export function current(entries) {
  try {
    sessionStorage.setItem(shown(), JSON.stringify(entries));
  } catch { /* no room: it will be in the history */ }
}

export function lastShown() {
  try {
    const found = JSON.parse(sessionStorage.getItem(shown()) ?? "null");
    return Array.isArray(found) && found[0]?.answers?.length ? found : null;
  } catch {
    return null;
  }
}

/** The view; `show(entry)` opens one. */
export function historyView(show) {
  const view = h("div", { class: "narrow" });
  const draw = () => {
    const entries = remembered();
    fill(view,
      h("h1", { tabindex: "-1" }, "History"),
      h("p", { class: "lead" }, "Kept in this browser only. The server does not store questions."),
      entries.length
        ? h("ul", { class: "history" }, entries.map((entry) => line(entry, show)))
        : h("div", { class: "empty" }, h("p", {}, "No questions yet."), h("a", { class: "button", href: "#ask" }, "Ask something")),
      entries.length > 0 && h("button", { type: "button", class: "quiet", onclick: () => { localStorage.removeItem(place()); sessionStorage.removeItem(shown()); draw(); view.querySelector("h1").focus(); } }, "Forget all"));
  };
  draw();
  return view;
}

function line(entry, show) {
  const first = entry.answers[0];
  return h("li", {}, h("button", { type: "button", onclick: () => show(entry) },
    h("span", {}, entry.question),
    h("span", { class: "fine" }, first?.abstained ? "no answer" : first?.answer, " · ", entry.answers.map((one) => one.recipe).join(" and "), " · ",
      h("time", { datetime: new Date(entry.at).toISOString() }, new Date(entry.at).toLocaleString()))));
}
