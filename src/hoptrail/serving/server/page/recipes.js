// The recipes: each with a line that says what it does, those that cannot be used here yet with what it takes to build them.

import { get, post } from "./api.js";
import { count, faultOf, fill, h, seconds } from "./dom.js";

const KEPT = "hoptrail-recipes";
const NONE = "";

/** The choice of recipes: `element`, `names()` of those to ask, `refresh()` when what is built may have changed. */
export class Recipes {
  constructor(told, watch) {
    this.watch = watch;
    this.list = h("div", { class: "recipes" });
    this.second = h("select", { id: "second" });
    this.name = h("strong", {});
    this.element = h("details", { class: "options" },
      h("summary", {}, "Method: ", this.name),
      h("fieldset", {}, h("legend", {}, "How the documents are searched and read"), this.list),
      h("label", { class: "beside" }, h("span", {}, "Compare with"), this.second));
    const [first, second] = kept();
    this.first = first;
    this.draw(told);
    if (second && told.recipes.some((one) => one.name === second && one.usable)) this.second.value = second;
  }

  names() {
    localStorage.setItem(KEPT, JSON.stringify([this.first, this.second.value]));
    return [...new Set([this.first, this.second.value].filter((name) => name !== NONE))];
  }

  draw(told) {
    const usable = told.recipes.filter((one) => one.usable);
    if (!usable.some((one) => one.name === this.first)) this.first = told.default;
    this.name.textContent = this.first;
    const plain = told.recipes.filter((one) => one.usable && (!one.published || one.name === told.default));
    const others = told.recipes.filter((one) => !plain.includes(one));
    const open = this.list.querySelector("details")?.open ?? others.some((one) => one.name === this.first);
    fill(this.list, plain.map((one) => this.line(one, one.name === told.default)),
      h("details", { open }, h("summary", {}, "Methods of published papers"),
        h("p", { class: "fine" }, "For comparison. Most are made for a language model, and some have to be built first."),
        others.sort((a, b) => b.usable - a.usable).map((one) => this.line(one, false))));
    const second = this.second.value;
    fill(this.second, h("option", { value: NONE }, "nothing"), usable.map((one) => h("option", { value: one.name, selected: one.name === second }, one.name)));
  }

  line(one, isUsual) {
    const about = h("span", { class: "fine" }, one.description);
    if (!one.usable) return h("div", { class: "recipe" }, h("p", {}, h("strong", {}, one.name), " ", about), this.offer(one));
    const input = h("input", { type: "radio", name: "recipe", value: one.name, onchange: () => { this.first = this.name.textContent = one.name; } });
    input.checked = one.name === this.first;
    return h("label", { class: "recipe" }, input, h("span", {}, h("strong", {}, one.name), isUsual && h("span", { class: "fine" }, " (usual)"), " ", about));
  }

  /** A recipe that is not built yet: first what it takes, then the building. */
  offer(one) {
    const box = h("div", { class: "offer", "aria-live": "polite" });
    const fault = (error) => fill(box, faultOf(error));
    const begin = () => post(`api/recipes/${one.name}`).then((job) => { fill(box, h("p", { class: "fine" }, "Being built; see above.")); this.watch.follow(job.id, job); }).catch(fault);
    const ask = async () => {
      fill(box, h("p", { class: "fine" }, "Estimating the cost…"));
      try {
        const build = h("button", { type: "button", onclick: begin, "aria-label": `Build for ${one.name}` }, "Build");
        fill(box, h("p", { class: "fine" }, costOf(await get(`api/recipes/${one.name}/cost`))), build);
        build.focus();
      } catch (error) { fault(error); }
    };
    fill(box, h("button", { type: "button", class: "quiet", onclick: ask }, `Not built here: what would ${one.name} take?`));
    return box;
  }
}

function costOf(cost) {
  const paid = cost.calls ? `${count(cost.calls, "model call")}, ${(cost.prompt_tokens + cost.completion_tokens).toLocaleString("en")} tokens` : "No model calls";
  return `${paid}, and time: all that is built here so far took ${seconds(cost.seconds_so_far)}.`;
}

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}
