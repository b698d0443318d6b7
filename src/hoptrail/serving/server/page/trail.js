// A trail as it grows: hops one after the other, then the answer with its evidence before everything else.

import { documentOf } from "./api.js";
import { count, h, seconds } from "./dom.js";
import { exporting } from "./export.js";
import { picture } from "./picture.js";
import { openAt } from "./reader.js";
import { completed, isRow, placeOf, surroundings, wording } from "./words.js";

const VERDICTS = {
  answered: "Found",
  unsupported: "The citations do not say so",
  unanswered: "Nothing here settles it",
  failed: "This step failed",
};
const LONGEST_FOUND = 160;

/** One recipe's run on a question: `element` to show, methods that add what is told. `named`: it stands beside another. */
export class TrailView {
  constructor(recipe, named) {
    this.hops = h("ol", { class: "hops" });
    this.ending = h("div", { class: "ending" });
    this.status = h("span", { class: "run-status" });
    this.steps = h("details", { class: "steps", open: true }, h("summary", {}, this.status), this.hops);
    this.element = h("section", { class: "run", "aria-label": `Trail by ${recipe}` },
      h("h3", { class: named ? "run-name" : "unseen" }, named ? recipe : `Answer by ${recipe}`), this.ending, this.steps);
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
    this.working("Still thinking…");
  }

  /** The whole answer; hops that were given up on the way go. One hop alone says what the answer says, and is folded away. */
  answered(answer) {
    const cited = numbered(answer.evidence);
    this.hops.replaceChildren(...answer.trail.map((hop, index) =>
      hopView(hop, answer.evidence.filter((item) => item.hop === index), answer.evidence, cited)));
    this.open = null;
    this.status.textContent = `How this was ${answer.abstained ? "looked for" : "found"}: ${summary(answer)}`;
    this.steps.open = answer.trail.length > 1;
    this.steps.hidden = !answer.trail.length;
    this.ending.replaceChildren(...answer.notes?.map((note) => h("p", { class: "fine" }, note)) ?? [], ...answer.parts?.length
      ? answer.parts.flatMap((one) => [h("h4", {}, one.asked), endingOf(one, cited)]) : [endingOf(answer, cited)], ...soFar(answer));
  }

  failed(error) {
    this.open?.remove();
    this.status.textContent = "Stopped";
    this.steps.hidden = !this.hops.children.length;
    this.ending.replaceChildren(h("div", { class: "notice fault", role: "alert" },
      h("p", {}, h("strong", {}, error.message)), error.whatToDo && h("p", {}, error.whatToDo)));
  }

  stopped() {
    this.open?.remove();
    this.status.textContent = "Stopped. What was found so far is below.";
  }
}

function questionOf(question, asked) {
  const parts = completed(question, asked);
  const changed = parts.some(([text, isNew]) => isNew && text.trim());
  const really = parts.map(([text, isNew]) => (isNew && text.trim() ? h("mark", { class: "entity" }, text) : text));
  return h("div", { class: "asked" },
    h("h4", {}, changed ? really : asked),
    changed && question !== asked && h("p", { class: "fine" }, "completed from “", question, "”"));
}

function hopView(hop, evidence, all, cited = null) {
  const looked = new Set(hop.hits.map((hit) => hit.document)).size;
  const found = hop.answer?.length > LONGEST_FOUND ? `${hop.answer.slice(0, LONGEST_FOUND)}…` : hop.answer;
  return h("li", { class: `hop ${hop.verdict}` },
    questionOf(hop.question, hop.asked),
    evidence.length > 0 && h("div", { class: "evidence" }, evidence.map((item) => quote(item, all, cited))),
    h("p", { class: "verdict" },
      h("span", { class: "sign", "aria-hidden": "true" }),
      found === null ? VERDICTS[hop.verdict] : [h("span", { class: "unseen" }, "Found: "), h("strong", {}, found)],
      hop.verdict === "unsupported" && h("span", { class: "fine" }, VERDICTS.unsupported),
      h("span", { class: "fine" }, looked ? `looked at ${count(looked, "document")}` : "nothing was retrieved")));
}

/** The cited sentence between its neighbours, or the row as `header: value`; the whole opens the document there. */
function quote(item, all, cited) {
  const text = h("span", { class: "quoted" }, h("mark", {}, wording(item)));
  const where = h("span", { class: "where" });
  const number = cited?.get(key(item));
  const button = h("button", { type: "button", class: "quote", onclick: () => openAt(item, all),
    "aria-label": `${number ? `Citation ${number}, ` : ""}${item.title}: ${wording(item)}. Open the document here.` },
  h("span", { class: "from" }, number && h("span", { class: "number" }, String(number)), item.title || "Untitled", where), text);
  documentOf(item.document).then((found) => {
    const place = placeOf(found, item.start);
    if (place) where.textContent = `· ${place}`;
    if (isRow(found, item.start)) return;
    const around = surroundings(found, item.start, item.end);
    text.replaceChildren(around.before, h("mark", {}, around.cited), around.after);
  }).catch(() => {}); // the sentence itself is shown already; opening it tells what is wrong
  return button;
}

/** What a question ends in; a reply to a message that asks nothing is its text alone. */
const endingOf = (answer, cited) => answer.kind === "reply" ? h("p", {}, answer.answer) : answer.abstained ? abstention(answer) : answerView(answer, cited);

const key = (item) => `${item.document}:${item.start}:${item.end}`;

function numbered(evidence) {
  const numbers = new Map();
  for (const item of evidence) if (!numbers.has(key(item))) numbers.set(key(item), numbers.size + 1);
  return numbers;
}

function answerView(answer, cited) {
  const once = (items, seen = new Set()) => items.filter((item) => !seen.has(key(item)) && seen.add(key(item)));
  const citations = once(answer.evidence);
  const settling = once(answer.evidence.filter((item) => item.hop === answer.evidence.at(-1)?.hop)).slice(0, 2);
  const several = answer.items.length > 1;
  const numbers = citations.map((item) => h("button", { type: "button", class: "citation", onclick: () => openAt(item, answer.evidence),
    "aria-label": `Citation ${cited.get(key(item))}: ${item.title}` }, String(cited.get(key(item)))));
  return h("div", { class: "answer" },
    settling.length > 0 && h("div", { class: "settling" }, settling.map((item) => quote(item, answer.evidence, cited))),
    h("p", { class: "label" }, answer.confidence === null ? "Answer" : `Answer · ${certainty(answer.confidence)}`),
    several && h(answer.kind === "steps" ? "ol" : "ul", { class: "found" }, answer.items.map((item) => h("li", {}, item))),
    h("p", { class: several ? "numbers" : answer.answer.length > LONGEST_FOUND ? "text long" : "text" }, several ? "" : answer.answer, " ", numbers),
    citations.length === 0 && h("p", { class: "fine" }, "No sentence is cited for this: check it before you rely on it."),
    answer.trail.length > 1 && picture(answer, cited),
    exporting(answer));
}

/** While an index is made: what the answer could rest on. */
function soFar({ indexing }) {
  return indexing ? [h("p", { class: "fine" }, `Indexing has not ended: ${indexing.searchable.toLocaleString("en")} of ${count(indexing.documents, "document")} could be searched.`)] : [];
}

const certainty = (confidence) => confidence >= 0.8 ? "sure" : confidence >= 0.5 ? "likely" : "unsure";

function abstention(answer) {
  const answered = answer.trail.slice(0, -1).filter((hop) => hop.answer !== null).length;
  const failed = answer.trail.some((hop) => hop.verdict === "failed");
  return h("div", { class: "answer none" },
    h("p", { class: "label" }, "No answer"),
    h("p", { class: "text" }, failed ? "No answer: a step failed, so this says nothing about what the documents hold."
      : answer.guess ? ["Not settled. Perhaps: ", h("strong", {}, answer.guess.text)] : answer.closest.length ? "Not settled. Closest:" : "Not settled: nothing was found."),
    !failed && answer.guess && h("div", { class: "settling" }, answer.guess.evidence.slice(0, 2).map((item) => quote(item, answer.guess.evidence))),
    !failed && answer.guess && h("p", { class: "fine" }, `A guess (confidence ${answer.guess.confidence.toFixed(2)}), not an answer. Closest:`),
    h("ul", { class: "closest" }, answer.closest.map((item) => h("li", {},
      h("button", { type: "button", class: "sentence", onclick: () => openAt(item, answer.closest) },
        [item.title, ...item.heading_path.filter((heading) => heading !== item.title)].filter(Boolean).join(" › ")),
      h("span", { class: "fine" }, [item.place, item.date].filter(Boolean).map((text) => ` · ${text}`).join("")),
      h("p", {}, item.text)))),
    h("p", { class: "fine" }, answered
      ? `${count(answered, "step")} found something; the trail below shows where it ended.`
      : "Rather than give an answer that may be wrong, hoptrail says so. Try other words, another recipe, or add a document that says it."),
    exporting(answer));
}

function summary(answer) {
  const used = answer.usage;
  const parts = [count(answer.trail.length, "hop"), seconds(used.seconds)];
  if (used.calls) parts.push(count(used.calls, "model call"), count(used.prompt_tokens + used.completion_tokens, "token"));
  return parts.join(" · ");
}
