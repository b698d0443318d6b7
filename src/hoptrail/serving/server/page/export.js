// An answer as Markdown: copied, or saved as a file.

import { h, say } from "./dom.js";
import { wording } from "./words.js";

/** An answer with its citations, or what is closest where there is none, as Markdown. */
export function asMarkdown(answer) {
  const line = (text) => text.replace(/\s+/g, " ").trim().replace(/([\\`*_[\]<>])/g, "\\$1");
  const settled = answer.abstained ? `Not settled. ${answer.guess ? `Perhaps: ${line(answer.guess.text)}. ` : ""}Closest:` : answer.items.length > 1
    ? answer.items.map((item, place) => `${answer.kind === "steps" ? `${place + 1}.` : "-"} ${line(item)}`).join("\n") : `**${line(answer.answer)}**`;
  const shown = answer.abstained ? answer.closest : answer.evidence;
  const seen = new Set();
  const quotes = shown.filter((item) => !seen.has(item.text) && seen.add(item.text)).map((item) =>
    `> ${line(wording(item))}  \n> — ${line(item.title || "Untitled")}, ${item.date ? `${line(item.date)}, ` : ""}characters ${item.start}–${item.end}`);
  return [`# ${line(answer.question)}`, settled, ...quotes].join("\n\n") + "\n";
}

/** The buttons that take an answer elsewhere. */
export function exporting(answer) {
  const copy = h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(asMarkdown(answer));
      copy.textContent = "Copied";
      say("Copied as Markdown.");
    } catch {
      copy.textContent = "The browser does not allow copying";
    }
  } }, "Copy as Markdown");
  const save = h("button", { type: "button", class: "quiet", onclick: () => {
    saveAs(new Blob([asMarkdown(answer)], { type: "text/markdown" }), `${fileName(answer.question)}.md`);
    say("Saved as Markdown.");
  } }, "Save as Markdown");
  return h("div", { class: "actions" }, copy, save);
}

/** Hand the reader a file. */
export function saveAs(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const fileName = (question) => question.replace(/[^\p{L}\p{N}]+/gu, " ").trim().slice(0, 60).trim() || "answer";
