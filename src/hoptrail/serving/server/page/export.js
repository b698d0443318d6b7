// An answer as Markdown: copied, or saved as a file.

import { addressOf } from "./address.js";
import { h, say } from "./dom.js";
import { wording } from "./words.js";

/** An answer as Markdown: its citations or what is closest, each with file and place, and how it was found. */
export function asMarkdown(answer) {
  const line = (text) => text.replace(/\s+/g, " ").trim().replace(/([\\`*_[\]<>])/g, "\\$1");
  const settled = answer.abstained ? `Not settled. ${answer.guess ? `Perhaps: ${line(answer.guess.text)}. ` : ""}Closest:` : answer.items.length > 1
    ? answer.items.map((item, index) => `${answer.kind === "steps" ? `${index + 1}.` : "-"} ${line(item)}`).join("\n") : `**${line(answer.answer)}**`;
  const from = (item) => [item.title || "Untitled", item.file, item.place, item.date, `characters ${item.start}–${item.end}`].filter(Boolean).map(line).join(", ");
  const seen = new Set();
  const shown = (answer.abstained ? answer.closest : answer.evidence).filter((item) => !seen.has(wording(item)) && seen.add(wording(item)));
  const trail = answer.trail.map((hop, index) => [`${index + 1}. ${line(hop.asked)} → ${hop.answer === null ? "nothing settles it" : line(hop.answer)}`,
    ...answer.evidence.filter((item) => item.hop === index).map((item) => `   - ${from(item)}`)].join("\n"));
  return [`# ${line(answer.question)}`, settled, ...shown.map((item) => `> ${line(wording(item))}  \n> — ${from(item)}`),
    trail.length ? `How this was found:\n\n${trail.join("\n")}` : ""].filter(Boolean).join("\n\n") + "\n";
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
  const link = answer.id && h("button", { type: "button", class: "quiet", onclick: () => navigator.clipboard.writeText(new URL(addressOf("answer", answer.id), document.baseURI).href)
    .then(() => { link.textContent = "Copied"; say("The address was copied."); }, () => { link.textContent = "The browser does not allow copying"; }) }, "Copy the address");
  return h("div", { class: "actions" }, copy, save, link);
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
