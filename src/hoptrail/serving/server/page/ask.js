// Asking: a question, what follows on from its answer, one recipe or two side by side, told as the hops are found.

import { ask, get } from "./api.js";
import { choose, chosen } from "./chosen.js";
import { fill, h, prose, say } from "./dom.js";
import { dropZone } from "./documents.js";
import { addressOf, nowAt, shownAddress } from "./address.js";
import { keptThread } from "./history.js";
import { Recipes } from "./recipes.js";
import { language } from "./settings.js";
import { TrailView } from "./trail.js";

/** The view; `told` is what the server says of its recipes. */
export function askView(told, watch) {
  const recipes = new Recipes(told, watch);
  const turns = h("div", { class: "turns" });
  const begun = h("div", {});
  const scope = h("div", { class: "scope" });
  const stop = h("button", { type: "button", class: "stop", hidden: true }, "Stop");
  const field = questionField("question", "Your question", "Which river flows through the town where…");
  const form = h("form", { class: "question", onsubmit: (event) => { event.preventDefault(); begin(field, true); } },
    field.label, field.input, scope,
    h("div", { class: "row" }, recipes.element, h("span", { class: "push" }), stop, h("button", { type: "submit", class: "main" }, "Ask")));
  const next = questionField("follow-up", "A follow-up question", "And when was …?");
  const following = h("form", { class: "question follow", hidden: true, onsubmit: (event) => { event.preventDefault(); begin(next, false); } },
    next.label, next.input, h("div", { class: "row" }, h("span", { class: "fine" }, "Follows up the answer above: “and when was she born?”"),
      h("span", { class: "push" }), h("button", { type: "submit" }, "Ask on")));
  const view = h("div", { class: "ask" }, h("h1", { tabindex: "-1", class: "unseen" }, "Ask"), form, watch.element, begun, turns, following);

  let under = null, shown = [], unseen = "", at = "";
  /** The answer that has come gets its address, which Back leaves. */
  function arrived() {
    at = unseen;
    if (unseen) nowAt(addressOf("answer", unseen));
    unseen = "";
  }
  async function begin(from, afresh) {
    const question = from.input.value.trim();
    if (!question) return;
    under?.abort();
    const own = under = new AbortController();
    if (afresh) { shown = []; turns.replaceChildren(); }
    const names = recipes.names();
    recipes.element.open = false;
    const views = names.map((name) => new TrailView(name, names.length > 1));
    const turn = turnView(question, views);
    turns.append(turn.element);
    begun.replaceChildren();
    following.hidden = true;
    stop.hidden = false;
    stop.onclick = () => own.abort();
    say("Question sent.");
    if (!afresh) { next.input.value = ""; turn.element.scrollIntoView({ block: "start" }); stop.focus({ preventScroll: true }); }
    const asked = { question, documents: [...chosen().keys()], before: shown.flatMap(({ answers }) => previous(answers[0])).slice(-8), keep: true, language: language(), thread: shown.at(-1)?.answers[0].thread };
    const answers = await Promise.all(views.map((one, place) => follow(one, turn, { ...asked, recipe: names[place] }, own.signal)));
    if (under !== own) return;
    stop.hidden = true;
    const known = answers.filter(Boolean);
    under = null;
    if (known.length) shown.push({ question, answers: known });
    following.hidden = !shown.length;
    unseen = known[0]?.id ?? "";
    if (["ask", "answer"].includes(shownAddress().view)) arrived();
    if (!afresh) (following.hidden ? field : next).input.focus({ preventScroll: true });
  }

  async function refresh() {
    const now = await get("api/show").catch(() => null);
    if (!now) return;
    view.classList.toggle("bare", now.empty);
    if (under || shown.length) return;
    if (now.empty) begun.replaceChildren(welcome(now.uploads, watch));
    else begun.replaceChildren(ready(now.contents.documents, (question) => { field.input.value = question; form.requestSubmit(); }));
  }

  function drawScope() {
    const documents = chosen();
    fill(scope, documents.size > 0 && h("p", {}, h("span", {}, documents.size === 1 ? "Only " : `Only ${documents.size} documents: `, [...documents.values()].slice(0, 3).join(", "), documents.size > 3 && ", …"),
      h("button", { type: "button", class: "quiet", onclick: () => { choose(new Map()); field.input.focus(); } }, "Ask all documents")));
  }

  view.refresh = refresh;
  view.recipesChanged = (told) => recipes.draw(told);
  /** Show a kept answer with what came before it, or with an empty id what is under way, else nothing. */
  view.show = async (id) => {
    if (!id && (under || unseen)) { if (!under) arrived(); return; }
    if (id === at && (id || !shown.length)) return;
    under?.abort();
    const own = under = id ? new AbortController() : null;
    at = id;
    shown = [];
    turns.replaceChildren();
    begun.replaceChildren();
    following.hidden = stop.hidden = true;
    field.input.value = "";
    if (!id) { refresh(); return; }
    try {
      const { answers } = await keptThread(id);
      if (under === own) open(answers.map((answer) => ({ question: answer.question, answers: [answer] })));
    } catch (error) {
      if (under === own) fill(turns, h("div", { class: "notice fault", role: "alert" }, h("p", {}, h("strong", {}, error.status === 404 ? "This answer is not here any more." : error.message)),
        h("p", {}, error.status === 404 ? "It was erased, a document that it came from was removed, or your key does not see all of its documents." : prose(error.whatToDo ?? ""))));
    }
    if (under === own) under = null;
  };
  function open(entries) {
    shown = entries;
    field.input.value = entries[0].question;
    grow(field.input);
    turns.replaceChildren(...entries.map(({ question, answers }) => {
      const views = answers.map((answer) => new TrailView(answer.recipe, answers.length > 1));
      const turn = turnView(question, views);
      answers.forEach((answer, place) => { views[place].answered(answer); turn.completed(answer.asked ?? answer.question); });
      return turn.element;
    }));
    following.hidden = !shown.length;
  }
  view.focusFirst = () => {
    grow(field.input);
    (turns.querySelector(".run") ? view.querySelector("h1") : field.input).focus();
  };
  document.addEventListener("chosen", drawScope);
  drawScope();
  refresh();
  return view;
}

/** One question with the runs that answer it. */
function turnView(question, views) {
  const whole = h("p", { class: "fine", hidden: true });
  const element = h("section", { class: "turn", "aria-label": question }, h("h2", {}, question), whole,
    h("div", { class: views.length > 1 ? "runs two" : "runs" }, views.map((one) => one.element)));
  return { element, completed: (asked) => { whole.hidden = asked === question; whole.textContent = `Asked as: ${asked}`; } };
}

/** What an answer leaves for the question that follows on from it; each of several. */
const previous = (answer) => (answer.parts?.length ? answer.parts : [answer]).filter(({ kind }) => kind !== "reply").map((one) => (
  { question: one.asked ?? one.question, answer: one.answer ?? one.guess?.text ?? null, trail: one.trail.map(({ asked, answer: found }) => ({ asked, answer: found })) }));

async function follow(view, turn, asked, signal) {
  try {
    for await (const { name, content } of ask(asked, signal)) {
      if (name === "completed") turn.completed(content.asked);
      if (name === "asked") { view.asked(content); say(`Step ${content.hop + 1}: ${content.asked}`); }
      if (name === "writing") view.writing(content);
      if (name === "hop") { view.found(content); say(content.answer === null ? `Step ${content.hop + 1}: nothing settles it.` : `Step ${content.hop + 1}: ${content.answer}`); }
      if (name === "error") { view.failed({ message: content.error.message, whatToDo: content.error.what_to_do }); return null; }
      if (name === "answer") { view.answered(content); turn.completed(content.asked); say(content.abstained ? (content.guess ? `Not settled. Perhaps: ${content.guess.text}` : "Not settled.") : `Answer: ${content.answer}`); return content; }
    }
    view.failed({ message: "The connection ended before the answer.", whatToDo: "Ask again." });
  } catch (error) {
    if (error.name === "AbortError") view.stopped();
    else view.failed(error);
  }
  return null;
}

/** A field for a question: Enter asks, Shift and Enter begin a new line. */
function questionField(id, name, placeholder) {
  const input = h("textarea", { id, rows: "1", maxlength: "8000", required: true, placeholder });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); input.form.requestSubmit(); }
  });
  input.addEventListener("input", () => grow(input));
  return { input, label: h("label", { for: id, class: "unseen" }, name) };
}

function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 320)}px`;
}

function welcome(limits, watch) {
  return h("div", { class: "welcome" },
    h("h2", {}, "Begin with your documents"),
    h("p", { class: "lead" }, "Notes, PDFs, web pages. Then ask what no single document tells; every step of the answer shows the sentence that supports it."),
    dropZone(limits, (files) => watch.take(files)));
}

/** What stands where no question was asked yet: how much there is to ask, and questions from headings. */
function ready(documents, asked) {
  const list = h("ul", { class: "suggestions" });
  const heading = h("p", { class: "instance fine", hidden: true }, "For instance");
  get("api/suggestions").then(({ questions }) => {
    heading.hidden = !questions.length;
    fill(list, questions.map((question) => h("li", {}, h("button", { type: "button", onclick: () => asked(question) }, question))));
  }).catch(() => {}); // the page does without
  return h("div", { class: "welcome" },
    h("h2", {}, "Ask across ", documents === 1 ? "one document" : `${documents.toLocaleString("en")} documents`),
    h("p", { class: "lead" }, "The answer comes with the sentence that settles it, and with every step on the way."),
    heading, list);
}
