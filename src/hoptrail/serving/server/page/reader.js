// A document opened at a sentence, with everything that the trail cites from it marked.

import { documentOf } from "./api.js";
import { h } from "./dom.js";

const dialog = document.getElementById("reader");
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

/** Open a document; `cited` are its evidence items, `at` is the one to show first. */
export async function openSource(id, cited = [], at = null) {
  const title = document.getElementById("reader-title");
  const text = document.getElementById("reader-text");
  const from = document.getElementById("reader-from");
  title.textContent = cited[0]?.title || "Document";
  from.textContent = "";
  text.replaceChildren(h("p", { class: "waiting" }, "Opening…"));
  if (!dialog.open) dialog.showModal();
  try {
    const found = await documentOf(id);
    title.textContent = found.title || "Untitled";
    from.textContent = found.sources.join(", ");
    text.replaceChildren(...marked(found, cited, at));
    const first = text.querySelector("mark.here") ?? text.querySelector("mark");
    first?.scrollIntoView({ block: "center" });
    (first ?? title).focus({ preventScroll: true });
  } catch (error) {
    text.replaceChildren(h("p", { class: "fault", role: "alert" }, `${error.message} ${error.whatToDo ?? ""}`));
  }
}

/** The text as nodes. Lines that were broken to fit a width flow again: a break becomes a space, so that offsets still hold. */
function marked(found, cited, at) {
  const flowing = Array.from(found.text.replace(/([^\n]{60,})\n(?=[\p{L}\p{N}"'“‘(])/gu, "$1 "));
  const cut = (start, end) => flowing.slice(start, end).join("");
  const parts = [];
  let place = 0;
  for (const item of [...cited].sort((a, b) => a.start - b.start)) {
    const start = Math.max(item.start, place);
    if (item.end <= start) continue;
    parts.push(cut(place, start));
    const here = at && item.start === at.start && item.end === at.end;
    parts.push(h("mark", { class: here ? "here" : "", tabindex: "-1" }, cut(start, item.end)));
    place = item.end;
  }
  parts.push(cut(place, flowing.length));
  return parts.some((part) => typeof part !== "string" || part.trim()) ? parts : [h("p", { class: "fine" }, "This document holds no text.")];
}

/** Open the document of an evidence item at it, with all that is cited from the same document. */
export function openAt(item, all) {
  openSource(item.document, all.filter((other) => other.document === item.document), item);
}
