// Questions asked before, as the server keeps them for this key: found, renamed, erased, saved as one file.

import { addressOf } from "./address.js";
import { get, post, remove } from "./api.js";
import { faultOf, fill, h, say } from "./dom.js";
import { asMarkdown, saveAs } from "./export.js";
import { confirmed } from "./watch.js";

const MOST = 1000;

/** An answer after the earlier ones of its thread: {id, name, own, answers}. */
export const keptThread = (id) => get(`api/history/${encodeURIComponent(id)}`);

/** The view. */
export function historyView() {
  const list = h("div", {});
  let timer = 0;
  const search = h("input", { type: "search", placeholder: "Search questions and answers", "aria-label": "Search the history",
    oninput: () => { clearTimeout(timer); timer = setTimeout(draw, 150); } });
  const fault = (error) => fill(list, faultOf(error));
  async function draw() {
    try {
      const { total, threads } = await get(`api/history?limit=${MOST}&words=${encodeURIComponent(search.value)}`);
      fill(list, total
        ? [h("ul", { class: "history" }, threads.map((one) => line(one, draw, fault))), total > MOST && h("p", { class: "fine" }, `and ${total - MOST} older ones`),
          h("p", { class: "actions" },
            h("button", { type: "button", class: "quiet", onclick: () => save(threads).catch(fault) }, "Save all as Markdown"),
            h("button", { type: "button", class: "quiet", onclick: (event) => confirmed(event.currentTarget, () => remove("api/history").then(draw, fault)) }, "Erase all"))]
        : h("div", { class: "empty" }, h("p", {}, search.value ? "Nothing that was asked has these words." : "No questions yet."),
          h("a", { class: "button", href: addressOf("ask") }, "Ask something")));
    } catch (error) { fault(error); }
  }
  draw();
  return h("div", { class: "narrow" }, h("h1", { tabindex: "-1" }, "History"),
    h("p", { class: "lead" }, "Kept by the server for your key. When a document is removed, the answers that came from it are erased."),
    h("div", { class: "bar" }, search), list);
}

function line(one, draw, fault) {
  const address = addressOf("answer", one.id);
  const name = h("a", { class: "title", href: address }, h("span", {}, one.name),
    h("span", { class: "fine" }, one.answer ? `${one.abstained ? "perhaps " : ""}${one.answer}` : "not settled", " · ",
      h("time", { datetime: one.at }, new Date(one.at).toLocaleString())));
  const rename = () => {
    const input = h("input", { type: "text", value: one.name, maxlength: "300", required: true, "aria-label": "New name" });
    const form = h("form", { class: "rename", onsubmit: (event) => { event.preventDefault(); post(`api/history/${one.id}`, { name: input.value.trim() || one.name }).then(draw, fault); } },
      input, h("button", { type: "submit" }, "Rename"));
    name.replaceWith(form);
    input.select();
  };
  return h("li", {}, name,
    h("button", { type: "button", class: "quiet", "aria-label": `Rename ${one.name}`, onclick: rename }, "Rename"),
    h("button", { type: "button", class: "quiet", "aria-label": `Erase ${one.name}`, onclick: (event) => confirmed(event.currentTarget, () => remove(`api/history/${one.id}`).then(draw, fault)) }, "Erase"));
}

async function save(threads) {
  const texts = [];
  for (const { id } of threads) texts.push((await keptThread(id)).answers.map(asMarkdown).join("\n"));
  saveAs(new Blob([texts.join("\n---\n\n")], { type: "text/markdown" }), "history.md");
  say("Saved as Markdown.");
}
