// A trail as it grows: hops one after the other, then the answer with its citations, and the picture of the evidence.

import { documentOf } from "./api.js";
import { count, h, say, seconds } from "./dom.js";
import { picture } from "./picture.js";
import { openAt } from "./reader.js";
import { completed, surroundings } from "./words.js";

const VERDICTS = {
  answered: "Found",
  unsupported: "What is cited does not say so",
  unanswered: "Nothing here settles it",
  failed: "This step failed",
};

/** One recipe's run on a question: `element` to show, methods that add what is told. */
export class TrailView {
  constructor(recipe) {
    this.hops = h("ol", { class: "hops" });
    this.ending = h("div", { class: "ending" });
    this.status = h("p", { class: "run-status" });
    this.element = h("section", { class: "run", "aria-label": `Trail by ${recipe}` },
      h("header", { class: "run-head" }, h("h2", {}, recipe), this.status), this.ending, this.hops);
    this.open = null;
    this.working("Reading the question…");
  }

  working(text) {
    this.status.replaceChildren(h("span", { class: "dots", "aria-hidden": "true" }), text);
  }

  asked({ question, asked }) {
    this.open?.remove();
    this.open = h("li", { class: "hop open" }, questionOf(question, asked),
      h("p", { class: "looking" }, "Looking for evidence"));
    this.hops.append(this.open);
    this.working(`Hop ${this.hops.children.length}`);
  }

  found(hop) {
    this.open?.remove();
    this.open = null;
    this.hops.append(hopView(hop, hop.evidence, hop.evidence));
    this.working("Thinking on…");
  }

  /** The whole answer; hops that were given up on the way go. */
  answered(answer) {
    const cited = numbered(answer.evidence);
    this.hops.replaceChildren(...answer.trail.map((hop, index) =>
      hopView(hop, answer.evidence.filter((item) => item.hop === index), answer.evidence, cited)));
    this.open = null;
    this.status.textContent = summary(answer);
    this.ending.replaceChildren(answer.abstained ? abstention(answer) : answerView(answer, cited));
    const drawn = answer.trail.length > 1 && answer.evidence.length ? picture(answer) : null;
    if (drawn) this.element.append(drawn);
  }

  failed(error) {
    this.open?.remove();
    this.status.textContent = "Stopped";
    this.ending.replaceChildren(h("div", { class: "notice fault", role: "alert" },
      h("p", {}, h("strong", {}, error.message)), error.whatToDo && h("p", {}, error.whatToDo)));
  }

  stopped() {
    this.open?.remove();
    this.status.textContent = "Stopped by you. What was found so far is below.";
  }

}

function questionOf(question, asked) {
  const parts = completed(question, asked);
  const changed = parts.some(([text, isNew]) => isNew && text.trim());
  const really = parts.map(([text, isNew]) => (isNew && text.trim() ? h("mark", { class: "entity" }, text) : text));
  return h("div", { class: "asked" },
    h("h3", {}, changed ? really : asked),
    changed && question !== asked && h("p", { class: "fine" }, "completed from “", question, "”"));
}

function hopView(hop, evidence, all, cited = null) {
  const looked = new Set(hop.hits.map((hit) => hit.document)).size;
  return h("li", { class: `hop ${hop.verdict}` },
    questionOf(hop.question, hop.asked),
    evidence.length > 0 && h("div", { class: "evidence" }, evidence.map((item) => quote(item, all, cited))),
    h("p", { class: "verdict" },
      h("span", { class: "sign", "aria-hidden": "true" }),
      hop.answer === null ? VERDICTS[hop.verdict] : [h("span", { class: "unseen" }, "Found: "), h("strong", {}, hop.answer)],
      hop.verdict === "unsupported" && h("span", { class: "fine" }, VERDICTS.unsupported),
      h("span", { class: "fine" }, looked ? `looked at ${count(looked, "document")}` : "nothing was retrieved")));
}

/** The cited sentence between its neighbours; the whole opens the document there. */
function quote(item, all, cited) {
  const text = h("span", { class: "quoted" }, h("mark", {}, item.text));
  const number = cited?.get(key(item));
  const button = h("button", { type: "button", class: "quote", onclick: () => openAt(item, all),
    "aria-label": `${number ? `Citation ${number}, ` : ""}${item.title}: ${item.text}. Open the document here.` },
  h("span", { class: "from" }, number && h("span", { class: "number" }, String(number)), item.title || "Untitled"), text);
  documentOf(item.document).then((found) => {
    const around = surroundings(found, item.start, item.end);
    text.replaceChildren(around.before, h("mark", {}, around.cited), around.after);
  }).catch(() => {}); // the sentence itself is shown already; opening it tells what is wrong
  return button;
}

const key = (item) => `${item.document}:${item.start}:${item.end}`;

function numbered(evidence) {
  const numbers = new Map();
  for (const item of evidence) if (!numbers.has(key(item))) numbers.set(key(item), numbers.size + 1);
  return numbers;
}

function answerView(answer, cited) {
  const seen = new Set();
  const citations = answer.evidence.filter((item) => !seen.has(key(item)) && seen.add(key(item)));
  const last = citations.filter((item) => item.hop === answer.evidence.at(-1)?.hop).slice(0, 2);
  return h("div", { class: "answer" },
    h("p", { class: "label" }, answer.confidence === null ? "Answer" : `Answer · ${certainty(answer.confidence)}`),
    last.length > 0 && h("div", { class: "settling" }, last.map((item) => quote(item, answer.evidence, cited))),
    answer.items.length > 1 && h(answer.kind === "steps" ? "ol" : "ul", {}, answer.items.map((item) => h("li", {}, item))),
    h("p", { class: "text" }, answer.items.length > 1 ? "" : answer.answer, " ", citations.map((item) =>
      h("button", { type: "button", class: "citation", onclick: () => openAt(item, answer.evidence),
        "aria-label": `Citation ${cited.get(key(item))}: ${item.title}` }, String(cited.get(key(item)))))),
    citations.length === 0 && h("p", { class: "fine" }, "No sentence is cited for this: check it before you rely on it."),
    h("div", { class: "actions" }, copying(answer)));
}

/** A button that copies an answer as Markdown: question, answer, every citation with where it stands. */
function copying(answer) {
  const button = h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(asMarkdown(answer));
      button.textContent = "Copied";
      say("Copied as Markdown.");
    } catch {
      button.textContent = "The browser does not allow copying";
    }
  } }, "Copy as Markdown");
  return button;
}

/** An answer with its citations, or what is closest where there is none, as Markdown. */
export function asMarkdown(answer) {
  const line = (text) => text.replace(/\s+/g, " ").trim().replace(/([\\`*_[\]<>])/g, "\\$1");
  const settled = answer.abstained ? "Not settled. Closest:" : answer.items.length > 1
    ? answer.items.map((item, place) => `${answer.kind === "steps" ? `${place + 1}.` : "-"} ${line(item)}`).join("\n") : `**${line(answer.answer)}**`;
  const shown = answer.abstained ? answer.closest : answer.evidence;
  const quotes = shown.map((item) => `> ${line(item.text)}  \n> — ${line(item.title || "Untitled")}, ${item.date ? `${line(item.date)}, ` : ""}characters ${item.start}–${item.end}`);
  return [`# ${line(answer.question)}`, settled, ...quotes].join("\n\n") + "\n";
}

const certainty = (confidence) => confidence >= 0.8 ? "sure" : confidence >= 0.5 ? "likely" : "unsure";

function abstention(answer) {
  const answered = answer.trail.filter((hop) => hop.answer !== null).length;
  const failed = answer.trail.some((hop) => hop.verdict === "failed");
  return h("div", { class: "answer none" },
    h("p", { class: "label" }, "No answer"),
    h("p", { class: "text" }, failed ? "No answer: a step failed, so this says nothing of what the documents hold."
      : answer.closest.length ? "Not settled. Closest:" : "Not settled: nothing was found."),
    h("ul", { class: "closest" }, answer.closest.map((item) => h("li", {},
      h("button", { type: "button", class: "sentence", onclick: () => openAt(item, answer.closest) },
        [item.title, ...item.heading_path.filter((heading) => heading !== item.title)].filter(Boolean).join(" › ")),
      item.date !== "" && h("span", { class: "fine" }, ` ${item.date}`),
      h("p", {}, item.text)))),
    h("p", { class: "fine" }, answered
      ? `${count(answered, "step")} found something; the trail below shows where it ended.`
      : "Rather than guess, hoptrail says so. Try other words, another recipe, or add a document that tells it."));
}

function summary(answer) {
  const used = answer.usage;
  const parts = [count(answer.trail.length, "hop"), seconds(used.seconds)];
  if (used.calls) parts.push(count(used.calls, "model call"), count(used.prompt_tokens + used.completion_tokens, "token"));
  return parts.join(" · ");
}
