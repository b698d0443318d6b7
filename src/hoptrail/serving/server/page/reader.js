// A document opened at a sentence, with everything that the trail cites from it marked; beside the text of a PDF, its page.

import { addressOf, placeAddress, shownAddress } from "./address.js";
import { documentOf, file } from "./api.js";
import { faultOf, fill, h } from "./dom.js";
import { saveAs } from "./export.js";
import { pageView } from "./paper.js";
import { placeOf } from "./words.js";

const dialog = document.getElementById("reader");
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => {
  if (shownAddress().view !== "document") return; // closed by Back
  if (fromHere) history.back();
  else location.hash = addressOf("documents");
});

const cited = new Map();
let fromHere = false;

/** Open the document of an evidence item at it, with all that is cited from the same document. */
export function openAt(item, all) {
  const address = placeAddress(item.document, item);
  cited.set(address, all.filter((other) => other.document === item.document));
  fromHere = true;
  location.hash = address;
}

/** Close the document, since another address is shown. */
export function closeSource() {
  fromHere = false;
  if (dialog.open) dialog.close();
}

/** Show the document of an address, at `range`: `START-END`. */
export async function showSource(id, range = "") {
  const [start, end] = range.split("-").map(Number);
  const at = end > start ? { start, end } : null;
  const marks = cited.get(placeAddress(id, at)) ?? (at ? [at] : []);
  const title = document.getElementById("reader-title");
  const text = document.getElementById("reader-text");
  const from = document.getElementById("reader-from");
  const paper = document.getElementById("reader-paper");
  title.textContent = marks[0]?.title || "Document";
  fill(from);
  fill(paper);
  dialog.classList.remove("wide");
  text.replaceChildren(h("p", { class: "waiting" }, "Opening…"));
  if (!dialog.open) dialog.showModal();
  try {
    const found = await documentOf(id);
    title.textContent = found.title || "Untitled";
    fill(from, [...found.sources, at && placeOf(found, at.start)].filter(Boolean).join(" · "), found.original && original(found, at));
    text.replaceChildren(...marked(found, marks, at));
    if (found.original && isPdf(found)) {
      dialog.classList.add("wide");
      fill(paper, pageView(found, at));
    }
    const first = text.querySelector("mark.here") ?? text.querySelector("mark");
    first?.scrollIntoView({ block: "center" });
    (first ?? title).focus({ preventScroll: true });
  } catch (error) {
    text.replaceChildren(faultOf(error.status === 404 ? { message: "This document is not here any more." } : error));
  }
}

const isPdf = (found) => found.sources[0].toLowerCase().endsWith(".pdf");

/** What fetches the file that the document was read from: a PDF opens at the page, anything else is saved. */
function original(found, at) {
  const name = found.sources[0];
  const button = h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      const blob = await file(`api/documents/${encodeURIComponent(found.id)}/original`);
      if (!isPdf(found)) { saveAs(blob, name); return; }
      const page = /page (\d+)/.exec(at ? placeOf(found, at.start) : "")?.[1];
      window.open(URL.createObjectURL(blob) + (page ? `#page=${page}` : ""), "_blank", "noopener");
    } catch (error) {
      button.replaceWith(faultOf(error));
    }
  } }, isPdf(found) ? "Open the original" : "Save the original");
  return button;
}

/** The document as nodes: headings, lists, tables and the rest by its blocks, everything cited marked in place. */
function marked(found, cited, at) {
  if (!found.text.trim()) return [h("p", { class: "fine" }, "This document has no text.")];
  const shown = [];
  const text = (block) => inline(found.points, cited, at, block.start, block.end);
  const blocks = found.blocks.length ? found.blocks : [{ kind: "plain", start: 0, end: found.points.length, cells: [] }];
  let list = null, page = "";
  for (let place = 0; place < blocks.length; place++) {
    const block = blocks[place];
    const from = /^(page|slide|sheet) [^,]+/.exec(block.place ?? "")?.[0] ?? "";
    if (from && from !== page) { shown.push(h("p", { class: "place" }, page = from)); list = null; }
    if (block.kind === "row") {
      let end = place + 1;
      while (blocks[end]?.kind === "row" && blocks[end].level !== 1 && alike(block, blocks[end])) end++;
      shown.push(table(blocks.slice(place, end), text));
      place = end - 1;
      list = null;
    } else if (block.kind === "item") {
      const tag = block.ordered ? "ol" : "ul";
      if (list?.localName !== tag) shown.push(list = h(tag));
      list.append(h("li", { class: `depth-${Math.min(Math.max(block.level, 1), 4)}` }, text(block)));
    } else {
      list = null;
      const tag = { heading: `h${Math.min(block.level + 2, 6)}`, code: "pre", quote: "blockquote" }[block.kind] ?? "p";
      shown.push(h(tag, { class: block.kind === "plain" ? "plain" : "" }, text(block)));
    }
  }
  return shown;
}

const headers = (row) => row.cells.map((cell) => cell.header);

/** Whether a row is one named value, `key: value`. */
const isPair = (row) => row.level !== 1 && row.cells.length === 1 && row.cells[0].header !== "";

/** Whether two rows belong to one table: below the same headers, those of a row of headers or those that each cell brings along. */
const alike = (first, row) => (isPair(first) && isPair(row)) || (first.level === 1 ? first.cells.length >= row.cells.length : headers(first).join("\n") === headers(row).join("\n"));

/** Rows as a table; named values, such as the head of a mail, as a line each. */
function table(rows, text) {
  const told = headers(rows[0]);
  const named = rows[0].level !== 1 && told.some(Boolean);
  const body = named && (rows.length === 1 || rows.every(isPair))
    ? rows.flatMap((row) => row.cells).map((cell) => h("tr", {}, h("th", { scope: "row" }, cell.header), h("td", {}, text(cell))))
    : [named && h("tr", {}, told.map((header) => h("th", { scope: "col" }, header))),
      ...rows.map((row) => h("tr", {}, row.cells.map((cell) => (row.level === 1 ? h("th", { scope: "col" }, text(cell)) : h("td", {}, text(cell))))))];
  return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", {}, h("tbody", {}, body)));
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
