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

/** The document as nodes: headings, lists, tables and the rest by its blocks, everything cited marked in place. */
function marked(found, cited, at) {
  if (!found.text.trim()) return [h("p", { class: "fine" }, "This document holds no text.")];
  const shown = [];
  const whole = (block) => inline(found.points, cited, at, block.start, block.end);
  let list = null, body = null, page = "";
  for (const block of found.blocks.length ? found.blocks : [{ kind: "plain", start: 0, end: found.points.length, cells: [] }]) {
    const from = /^(page|slide|sheet) [^,]+/.exec(block.place ?? "")?.[0] ?? "";
    if (from && from !== page) { shown.push(h("p", { class: "place" }, page = from)); list = body = null; }
    if (block.kind === "row") {
      list = null;
      if (!body || block.level === 1) shown.push(h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, body = h("tbody"))));
      body.append(h("tr", {}, block.cells.map((cell) => h(block.level === 1 ? "th" : "td", {}, inline(found.points, cited, at, cell.start, cell.end)))));
    } else if (block.kind === "item") {
      body = null;
      const tag = block.ordered ? "ol" : "ul";
      if (list?.localName !== tag) shown.push(list = h(tag));
      list.append(h("li", { class: `depth-${Math.min(Math.max(block.level, 1), 4)}` }, whole(block)));
    } else {
      list = body = null;
      const tag = { heading: `h${Math.min(block.level + 2, 6)}`, code: "pre", quote: "blockquote" }[block.kind] ?? "p";
      shown.push(h(tag, { class: block.kind === "plain" ? "plain" : "" }, whole(block)));
    }
  }
  return shown;
}

/** Characters of the text, with those that are cited as marks. Lines that were broken to fit a width flow again. */
function inline(points, cited, at, start, end) {
  const cut = (from, to) => points.slice(from, to).join("");
  const parts = [];
  let place = start;
  for (const item of [...cited].sort((a, b) => a.start - b.start)) {
    const from = Math.max(item.start, place), to = Math.min(item.end, end);
    if (to <= from) continue;
    const here = at && item.start === at.start && item.end === at.end;
    parts.push(cut(place, from), h("mark", { class: here ? "here" : "", tabindex: "-1" }, cut(from, to)));
    place = to;
  }
  parts.push(cut(place, end).replace(/\s+$/, ""));
  return parts;
}

/** Open the document of an evidence item at it, with all that is cited from the same document. */
export function openAt(item, all) {
  openSource(item.document, all.filter((other) => other.document === item.document), item);
}
