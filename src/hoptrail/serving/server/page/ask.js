// Asking: one question, one recipe or two side by side, told as the hops are found.

import { ask, get } from "./api.js";
import { h, say } from "./dom.js";
import { dropZone } from "./documents.js";
import { current, lastShown, remember } from "./history.js";
import { TrailView } from "./trail.js";

const NONE = "";
const CHOICE = "hoptrail-recipes";

/** The view; `state` is what the server has told of the workspace. */
export function askView(state, watch) {
  const runs = h("div", { class: "runs" });
  const field = h("textarea", { id: "question", rows: "2", maxlength: "8000", required: true, placeholder: "Which river flows through the town where…" });
  const first = choice(state.recipes, false), second = choice(state.recipes, true);
  const about = h("p", { class: "about", id: "about" });
  const tell = () => { about.textContent = state.recipes.recipes.find((one) => one.name === first.value)?.description ?? ""; };
  first.setAttribute("aria-describedby", "about");
  first.addEventListener("change", tell);
  const button = h("button", { type: "submit", class: "main" }, "Ask");
  const stop = h("button", { type: "button", class: "stop", hidden: true }, "Stop");
  const form = h("form", { class: "question", onsubmit: (event) => { event.preventDefault(); begin(); } },
    h("label", { for: "question", class: "unseen" }, "Your question"), field,
    h("div", { class: "row" },
      h("label", {}, h("span", {}, "Recipe"), first), h("label", {}, h("span", {}, "beside"), second),
      h("span", { class: "push" }), stop, button, about));
  const view = h("div", { class: "ask" }, h("h1", { tabindex: "-1", class: "unseen" }, "Ask"), form, watch.element, runs);

  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  field.addEventListener("input", () => grow(field));
  restore(first, second);
  tell();

  let under = null;
  async function begin() {
    const question = field.value.trim();
    if (!question) return;
    under?.abort();
    const own = under = new AbortController();
    const recipes = [...new Set([first.value, second.value].filter((name) => name !== NONE))];
    localStorage.setItem(CHOICE, JSON.stringify([first.value, second.value]));
    stop.hidden = false;
    stop.onclick = () => own.abort();
    runs.classList.toggle("two", recipes.length > 1);
    const views = recipes.map((name) => new TrailView(name));
    runs.replaceChildren(...views.map((one) => one.element));
    say("Asked. Hops will be told as they are found.");
    const answers = await Promise.all(views.map((one, place) => follow(one, question, recipes[place], own.signal)));
    if (under !== own) return;
    stop.hidden = true;
    const known = answers.filter(Boolean);
    if (known.length) { remember(question, known); current(question, known); }
  }

  async function show() {
    const shown = await get("/api/show").catch(() => null);
    if (!shown) return;
    view.classList.toggle("bare", shown.empty);
    if (shown.empty && !under) runs.replaceChildren(welcome(shown.uploads, watch));
    else if (!under) runs.replaceChildren(ready(shown.contents.documents));
  }

  view.refresh = show;
  view.open = (entry) => {
    under?.abort();
    under = new AbortController();
    current(entry.question, entry.answers);
    field.value = entry.question;
    grow(field);
    runs.classList.toggle("two", entry.answers.length > 1);
    runs.replaceChildren(...entry.answers.map((answer) => { const one = new TrailView(answer.recipe); one.answered(answer); return one.element; }));
  };
  view.focusFirst = () => {
    grow(field);
    (runs.querySelector(".run") ? view.querySelector("h1") : field).focus();
  };
  const left = lastShown();
  if (left) view.open(left);
  show();
  return view;
}

async function follow(view, question, recipe, signal) {
  try {
    for await (const { name, content } of ask(question, recipe, signal)) {
      if (name === "asked") { view.asked(content); say(`Hop ${content.hop + 1}: ${content.asked}`); }
      if (name === "hop") { view.found(content); say(content.answer === null ? `Hop ${content.hop + 1}: nothing settles it.` : `Hop ${content.hop + 1}: ${content.answer}`); }
      if (name === "error") { view.failed({ message: content.error.message, whatToDo: content.error.what_to_do }); return null; }
      if (name === "answer") { view.answered(content); say(content.abstained ? "Not settled." : `Answer: ${content.answer}`); return content; }
    }
    view.failed({ message: "The connection ended before the answer.", whatToDo: "Ask again." });
  } catch (error) {
    if (error.name === "AbortError") view.stopped();
    else view.failed(error);
  }
  return null;
}

function choice(recipes, optional) {
  const options = recipes.recipes.map((one) => h("option", { value: one.name, disabled: !one.usable, title: one.description, selected: !optional && one.name === recipes.default }, one.name));
  return h("select", { "aria-label": optional ? "A second recipe, side by side" : "Recipe" }, optional && h("option", { value: NONE, selected: true }, "none"), options);
}

function restore(first, second) {
  try {
    const chosen = JSON.parse(localStorage.getItem(CHOICE) ?? "[]");
    [first, second].forEach((select, place) => {
      const option = [...select.options].find((one) => one.value === chosen[place]);
      if (option && !option.disabled) select.value = option.value;
    });
  } catch { /* what is kept there is not ours: the defaults stay */ }
}

function grow(field) {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 320)}px`;
}

function welcome(limits, watch) {
  return h("div", { class: "welcome" },
    h("h2", {}, "Begin with your documents"),
    h("p", { class: "lead" }, "Notes, PDFs, web pages. Then ask what no single one of them tells; every step of the answer shows the sentence it stands on."),
    dropZone(limits, (files) => watch.take(files)));
}

function ready(documents) {
  return h("div", { class: "welcome" },
    h("h2", {}, "Ask across ", documents === 1 ? "one document" : `${documents.toLocaleString("en")} documents`),
    h("p", { class: "lead" }, "The answer comes hop by hop: what was asked, which sentence settles it, and what that leads to."));
}
