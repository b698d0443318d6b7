// Documents: listed, opened, chosen to be asked alone, removed; added by files and folders.

import { addressOf, placeAddress } from "./address.js";
import { get, remove } from "./api.js";
import { choose, chosen } from "./chosen.js";
import { count, faultOf, fill, h, say } from "./dom.js";
import { confirmed } from "./watch.js";

export { Watch } from "./watch.js";

const PAGE = 50;
const SORTS = { title: "Title", "-date": "Date, newest first", date: "Date, oldest first", "-length": "Longest first", folder: "Folder" };

const sized = ({ bytes, passages }) => (bytes === null ? count(passages, "passage") : bytes < 1024 ? `${bytes} bytes` : bytes < 2 ** 20 ? `${Math.round(bytes / 1024)} kB` : `${(bytes / 2 ** 20).toFixed(1)} MB`);

/** A place to drop files and folders or choose them; `limits` are those of the server, `take(files)` gets the files. */
export function dropZone(limits, take) {
  const picker = (id, text, folder) => [
    h("input", { type: "file", multiple: true, webkitdirectory: folder, id, class: "unseen", onchange: (event) => { take([...event.target.files]); event.target.value = ""; } }),
    h("label", { for: id, class: "button" }, text)];
  return h("div", { class: "add" },
    h("p", {}, h("strong", {}, "Drop files or folders here"), " or ", picker("files", "choose files", false), " ", picker("folder", "choose a folder", true)),
    h("p", { class: "fine" }, `PDF, Word, PowerPoint, Excel, web pages, mail, Markdown, notebooks and any other text; up to ${Math.round(limits.bytes / 2 ** 20)} MB a file`));
}

/** What tells a control of the list from the others, so that the focus outlives drawing the list anew. */
const nameOf = (control) => control.getAttribute("aria-label") ?? control.textContent;

/** The view of all documents. */
export function documentsView(limits, watch) {
  const list = h("div", { class: "list", "aria-live": "off" });
  const picked = new Map();
  const bar = h("div", { class: "picked", role: "group", "aria-label": "The selected documents" });
  const filter = h("input", { type: "search", placeholder: "Filter by title", "aria-label": "Filter documents by title", oninput: () => { start = 0; later(); } });
  const choice = (label, options) => h("label", { class: "choose" }, h("span", {}, label), h("select", { onchange: () => { start = 0; draw(); } }, options.map(([value, name]) => h("option", { value }, name))));
  const sort = choice("Sort by", Object.entries(SORTS));
  const folder = choice("Folder", [["", "All folders"]]);
  const chosenIn = (label) => label.querySelector("select").value;
  let start = 0, timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(draw, 150); };
  async function draw() {
    try {
      const found = await get(`api/documents?start=${start}&limit=${PAGE}&sort=${chosenIn(sort)}&title=${encodeURIComponent(filter.value)}&folder=${encodeURIComponent(chosenIn(folder))}`);
      drawFolders(found.folders);
      const held = list.contains(document.activeElement) ? document.activeElement : null;
      fill(list, rows(found));
      if (held) [...list.querySelectorAll(held.localName)].find((one) => nameOf(one) === nameOf(held))?.focus();
    } catch (error) {
      fill(list, faultOf(error));
    }
    drawBar();
  }
  function drawFolders(folders) {
    const select = folder.querySelector("select"), now = select.value;
    folder.hidden = folders.length < 2;
    fill(select, h("option", { value: "" }, "All folders"), folders.map(({ path, documents }) => h("option", { value: path, selected: path === now }, `${path} (${documents})`)));
  }
  function rows(found) {
    if (!found.total) return [h("p", { class: "empty" }, filter.value ? "No title contains this." : "No documents yet. What you add stays on this server.")];
    const last = Math.min(start + PAGE, found.total);
    const all = h("input", { type: "checkbox", onchange: () => { for (const box of list.querySelectorAll(".documents input")) if (box.checked !== all.checked) box.click(); } });
    all.checked = found.documents.every((one) => picked.has(one.id));
    return [
      h("label", { class: "all fine" }, all, found.total > PAGE ? `All on this page: ${start + 1} to ${last} of ${count(found.total, "document")}` : `All of ${count(found.total, "document")}`),
      h("ul", { class: "documents" }, found.documents.map(row)),
      found.total > PAGE && h("p", { class: "pages" },
        h("button", { type: "button", disabled: start === 0, onclick: () => { start -= PAGE; draw(); } }, "Before"),
        h("button", { type: "button", disabled: last === found.total, onclick: () => { start += PAGE; draw(); } }, "More")),
    ];
  }
  function row(one) {
    const title = one.title || "Untitled";
    const box = h("input", { type: "checkbox", "aria-label": `Select ${title}`, onchange: () => { if (box.checked) picked.set(one.id, title); else picked.delete(one.id); drawBar(); } });
    box.checked = picked.has(one.id);
    const names = one.sources.filter((source) => source !== title).join(", ");
    const about = [one.folder && `${one.folder}/`, names, one.date, sized(one)].filter(Boolean).join(" · ");
    return h("li", {}, box,
      h("a", { class: "title", href: placeAddress(one.id, null) }, title, h("span", { class: "fine" }, about)),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove ${title}`, onclick: (event) => confirmed(event.currentTarget, () => drop([one.id])) }, "Remove"));
  }
  function drawBar() {
    bar.hidden = !picked.size;
    fill(bar, h("strong", {}, `${picked.size} selected`),
      h("button", { type: "button", class: "main", onclick: () => { choose(new Map(picked)); location.hash = addressOf("ask"); } }, "Ask only these"),
      h("button", { type: "button", onclick: (event) => confirmed(event.currentTarget, () => drop([...picked.keys()])) }, "Remove these"),
      h("button", { type: "button", class: "quiet", onclick: () => { picked.clear(); draw(); } }, "Select none"));
  }
  async function drop(ids) {
    try {
      for (let from = 0; from < ids.length; from += 100)
        watch.removed(await remove(`api/documents?${ids.slice(from, from + 100).map((id) => `document=${encodeURIComponent(id)}`).join("&")}`));
      const left = chosen();
      for (const id of ids) { picked.delete(id); left.delete(id); }
      choose(left);
    } catch (error) {
      say(error.message);
    }
    draw();
  }
  const view = h("div", { class: "narrow" }, h("h1", { tabindex: "-1" }, "Documents"),
    dropZone(limits, (files) => watch.take(files)), watch.element, h("div", { class: "bar" }, filter, sort, folder), bar, list);
  view.refresh = draw;
  draw();
  return view;
}
