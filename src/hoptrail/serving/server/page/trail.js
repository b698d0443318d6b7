// An answer: what it says, how sure it is and what it rests on; below, folded, the trail of hops that led to it.

import { documentOf, get } from "./api.js";
import { count, fill, h, prose, seconds } from "./dom.js";
import { exporting } from "./export.js";
import { picture } from "./picture.js";
import { openAt } from "./reader.js";
import { completed, contentWords, isRow, placeOf, split, surroundings, wording } from "./words.js";

const VERDICTS = {
  answered: "Found",
  unsupported: "The citations do not say so",
  unanswered: "Nothing here settles it",
  failed: "This step failed",
};
const LONGEST_FOUND = 160, LONGEST_TEXT = 90;

/** One method's run on a question: `element` to show, methods that add what is told. `named`: it stands beside another. */
export class TrailView {
  constructor(recipe, named) {
    this.recipe = recipe;
    this.hops = h("ol", { class: "hops" });
    this.ending = h("div", { class: "ending" });
    this.status = h("p", { class: "run-status fine" });
    this.glance = h("div", {});
    this.summary = h("summary", {}, "What was found so far");
    this.steps = h("details", { class: "steps", hidden: true }, this.summary, this.glance, this.hops);
    this.element = h("section", { class: "run", "aria-label": `Answer by ${recipe}` },
      h("h3", { class: named ? "run-name" : "unseen" }, named ? recipe : "Answer"), this.status, this.ending, this.steps);
    this.open = null;
    this.written = { text: "" };
    this.working("Reading the question…");
  }

  working(text) {
    this.status.hidden = false;
    this.status.replaceChildren(h("span", { class: "dots", "aria-hidden": "true" }), text);
  }

  asked({ question, asked }) {
    this.open?.remove();
    this.open = h("li", { class: "hop open" }, questionOf(question, asked),
      h("p", { class: "looking" }, "Looking for evidence"));
    this.hops.append(this.open);
    this.steps.hidden = false;
    this.working(`Step ${this.hops.children.length}: ${asked}`);
  }

  /** What a model has written of an answer so far; it is not checked yet, and may begin anew. */
  writing(written) {
    this.written = written;
    this.ending.replaceChildren(...written.text ? [h("div", { class: "answer writing" }, h("p", { class: "label" }, "Being written, not checked yet"), h("p", { class: "text long" }, written.text))] : []);
  }

  found(hop) {
    this.open?.remove();
    this.ending.replaceChildren();
    this.open = null;
    this.hops.append(hopView(hop, hop.evidence, hop.evidence));
    this.working(hop.answer === null ? "Still thinking…" : `Found: ${shortened(hop.answer)}. Still thinking…`);
  }

  /** The whole answer, how it was found folded below it; hops that were given up on the way go. */
  answered(answer) {
    const cited = numbered(answer.evidence);
    this.hops.replaceChildren(...answer.trail.map((hop, index) =>
      hopView(hop, answer.evidence.filter((item) => item.hop === index), answer.evidence, cited)));
    this.open = null;
    this.status.hidden = true;
    this.summary.textContent = `How this was ${answer.abstained ? "looked for" : "found"}`;
    this.steps.open = false;
    this.steps.hidden = !answer.trail.length;
    this.glance.replaceChildren(h("p", { class: "fine" }, summary(answer)), (!answer.abstained && !answer.parts?.length && answer.trail.length > 1 && picture(answer, cited)) || "");
    this.ending.replaceChildren(...withdrawn(this.written, answer), ...answer.notes?.map((note) => h("p", { class: "fine" }, prose(note))) ?? [], ...answer.parts?.length
      ? answer.parts.flatMap((one) => [h("h4", {}, one.asked), endingOf(one, cited)]) : [endingOf(answer, cited)], ...soFar(answer));
  }

  failed(error) {
    this.open?.remove();
    this.status.hidden = true;
    this.steps.hidden = !this.hops.children.length;
    this.ending.replaceChildren(h("div", { class: "notice fault", role: "alert" },
      h("p", {}, h("strong", {}, error.message)), error.whatToDo && h("p", {}, prose(error.whatToDo))));
  }

  stopped() {
    this.open?.remove();
    this.status.textContent = "Stopped.";
    this.steps.hidden = !this.hops.children.length;
  }
}

const shortened = (text) => (text.length > LONGEST_FOUND ? `${text.slice(0, LONGEST_FOUND)}…` : text);

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
  const found = hop.answer === null ? null : shortened(hop.answer);
  return h("li", { class: `hop ${hop.verdict}` },
    questionOf(hop.question, hop.asked),
    evidence.length > 0 && h("div", { class: "evidence" }, evidence.map((item) => quote(item, all, cited))),
    h("p", { class: "verdict" },
      h("span", { class: "sign", "aria-hidden": "true" }),
      found === null ? VERDICTS[hop.verdict] : [h("span", { class: "unseen" }, "Found: "), h("strong", {}, found)],
      hop.verdict === "unsupported" && h("span", { class: "fine" }, VERDICTS.unsupported),
      h("span", { class: "fine" }, looked ? `looked at ${count(looked, "document")}` : "nothing was retrieved")));
}

/** The cited sentence between its neighbours, or the row as `header: value`; only its place if the answer has `said` it. The whole
 *  opens the document there. */
function quote(item, all, cited, said = false) {
  const text = h("span", { class: "quoted" }, h("mark", {}, wording(item)));
  const where = h("span", { class: "where" });
  const number = cited?.get(key(item));
  const button = h("button", { type: "button", class: "quote", title: "Open the document here", onclick: () => openAt(item, all) },
    h("span", { class: "from" }, number && h("span", { class: "number" }, String(number)), item.title || "Untitled", where), !said && text);
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

const once = (items, seen = new Set()) => items.filter((item) => !seen.has(key(item)) && seen.add(key(item)));

/** The answer first; then how sure it is, and the sentence that it rests on, once. Items of a list have their places beside them. */
function answerView(answer, cited) {
  const citations = once(answer.evidence);
  const several = answer.items.length > 1;
  const number = (item) => h("button", { type: "button", class: "citation", onclick: () => openAt(item, answer.evidence),
    "aria-label": `Citation ${cited.get(key(item))}: ${item.title}` }, String(cited.get(key(item))));
  const saying = (text) => citations.find((item) => wording(item).includes(text) || text.includes(item.text));
  const placed = several ? answer.items.map((text) => [text, saying(text)]) : [];
  const isPlaced = several && placed.every(([, item]) => item);
  const settling = isPlaced ? [] : once(answer.evidence.filter((item) => item.hop === answer.evidence.at(-1)?.hop)).slice(0, 2);
  return h("div", { class: "answer" },
    h("p", { class: "label" }, "Answer"),
    several
      ? h(answer.kind === "steps" ? "ol" : "ul", { class: "found" }, placed.map(([text, item]) => h("li", {}, text, " ", item && number(item),
        item && h("span", { class: "fine" }, " ", [item.title, item.place].filter(Boolean).join(", ")))))
      : h("p", { class: answer.answer.length > LONGEST_TEXT ? "text long" : "text" }, answer.answer, " ", citations.map(number)),
    several && !isPlaced && h("p", { class: "numbers" }, citations.map(number)),
    h("p", { class: "certainty" }, citations.length ? certainty(answer.confidence) : "No sentence is cited for this: check it before you rely on it."),
    settling.length > 0 && h("div", { class: "settling" }, settling.map((item) => quote(item, answer.evidence, cited, answer.answer.includes(item.text)))),
    exporting(answer));
}

/** What was shown while it was written, and does not stand in the answer. */
function withdrawn({ question, text }, answer) {
  const given = answer.answer ?? answer.guess?.text ?? "";
  return text && question === answer.asked && !given.includes(text.replace(/[ .]+$/, "")) ? [h("p", { class: "fine" }, `Withdrawn when it was checked: ${text}`)] : [];
}

/** While an index is made: what the answer could rest on. */
function soFar({ indexing }) {
  return indexing ? [h("p", { class: "fine" }, `Indexing has not ended: ${indexing.searchable.toLocaleString("en")} of ${count(indexing.documents, "document")} could be searched.`)] : [];
}

/** How sure an answer is, in plain words. */
function certainty(confidence) {
  if (confidence === null) return "Read from the sentence below by a language model: check it there.";
  if (confidence >= 0.8) return "Sure: the documents say so.";
  return confidence >= 0.5 ? "Likely, not certain: check the sentence below." : "Unsure: read the sentence below before you rely on it.";
}

/** Whether one statement begins within another. */
const isWithin = (one, other) => one.document === other.document && one.start >= other.start && one.start < other.end;

/** Where nothing settles a question: the guess, marked as one, the closest statements with the likely words marked, what to do. What
 *  the guess is from is marked among them, or stands before them. */
function abstention(answer) {
  const failed = answer.trail.some((hop) => hop.verdict === "failed");
  const guess = failed ? null : answer.guess;
  const offer = h("p", { class: "fine" }); // a chat model, where none is set
  if (!failed && answer.language === "offline") get("api/offer").then((found) => { fill(offer, prose(found.offer)); }).catch(() => {});
  const likely = guess ? [guess.text] : contentWords(answer.question);
  const bases = guess ? guess.evidence.filter((base) => !base.replaced) : [];
  const places = once([...bases.filter((base) => !answer.closest.some((item) => isWithin(base, item))), ...answer.closest]);
  return h("div", { class: "answer none" },
    h("p", { class: "label" }, guess ? "A guess, not an answer" : "No answer"),
    guess && h("p", { class: guess.text.length > LONGEST_TEXT ? "text long" : "text" }, "Perhaps: ", h("strong", {}, guess.text)),
    h("p", { class: "certainty" }, failed ? "A step failed, so this says nothing about what the documents hold."
      : places.length ? "Not settled: no sentence here is sure to answer this. These come closest:" : "Not settled: nothing was found."),
    h("ul", { class: "closest" }, places.map((item) => h("li", {},
      h("button", { type: "button", class: "sentence", onclick: () => openAt(item, places) },
        [item.title, ...item.heading_path.filter((heading) => heading !== item.title)].filter(Boolean).join(" › ")),
      h("span", { class: "fine" }, [item.place, item.date, bases.some((base) => isWithin(base, item)) && "the guess is from here"]
        .filter(Boolean).map((text) => ` · ${text}`).join("")),
      h("p", {}, split(wording(item), likely).map(([text, isLikely]) => (isLikely ? h("mark", {}, text) : text)))))),
    h("p", { class: "fine" }, failed ? "Ask again; if it fails again, the server's log says more."
      : places.length ? "Open one to read on around it, ask in other words, or add a document that says it." : "Ask in other words, or add a document that says it."),
    offer,
    exporting(answer));
}

function summary(answer) {
  const used = answer.usage;
  const parts = [`recipe ${answer.recipe}`, count(answer.trail.length, "hop"), seconds(used.seconds)];
  if (answer.confidence !== null) parts.push(`confidence ${answer.confidence.toFixed(2)}`);
  if (used.calls) parts.push(count(used.calls, "model call"), count(used.prompt_tokens + used.completion_tokens, "token"));
  return parts.join(" · ");
}
