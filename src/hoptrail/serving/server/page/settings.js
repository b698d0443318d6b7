// Settings of the page in this browser, and its keys.

import { get, session } from "./api.js";
import { faultOf, fill, h, prose } from "./dom.js";

const MODEL = "hoptrail-without-model";
const OFFLINE = "offline"; // what answers without a model, wherever one is set
const THEME = "hoptrail-theme";
const THEMES = { "": "As the system", light: "Light", dark: "Dark" };
const KEYS = [["Enter", "ask"], ["Shift + Enter", "a new line in the question"], ["/", "to the question"], ["d", "to the documents"],
  ["h", "to the history"], ["s or ?", "to these settings"], ["Escape", "close a document"], ["Alt + ←", "back to what was shown before"]];

const theme = () => localStorage.getItem(THEME) ?? "";

/** Light, dark, or whatever the system has. */
export function applyTheme() {
  if (theme() in THEMES && theme()) document.documentElement.dataset.theme = theme();
  else delete document.documentElement.dataset.theme;
}

/** What answers: null is what the server is set to. */
export const language = () => localStorage.getItem(MODEL);

function choices(place, options, chosen) {
  return Object.entries(options).map(([value, name]) => {
    const input = h("input", { type: "radio", name: place, value, onchange: () => {
      if (value) localStorage.setItem(place, value);
      else localStorage.removeItem(place);
      applyTheme();
    } });
    input.checked = value === chosen;
    return h("label", { class: "choice" }, input, name);
  });
}

/** The choice of the model, or how to get one where none is set. */
async function drawModel(box) {
  const { languages, model } = await get("api/recipes");
  if (languages.length > 1) { fill(box, choices(MODEL, { "": model || "The model of this server", [OFFLINE]: "None: quotes, and nothing leaves the server" }, language() ?? "")); return; }
  const { offer } = await get("api/offer");
  fill(box, h("p", { class: "fine" }, "None is set: answers are quoted from the documents, and nothing leaves the server. ",
    prose(offer || "With a chat model, answers come in words of their own: `hoptrail setup` finds one and writes the settings.")));
}

/** The view. */
export function settingsView() {
  const model = h("div", { class: "choices" });
  drawModel(model).catch((error) => fill(model, faultOf(error)));
  return h("div", { class: "narrow settings" }, h("h1", { tabindex: "-1" }, "Settings"),
    h("fieldset", {}, h("legend", {}, "Model"), model),
    h("fieldset", {}, h("legend", {}, "Light or dark"), h("div", { class: "choices" }, choices(THEME, THEMES, theme()))),
    session.key && h("section", {}, h("h2", {}, "Key"), h("p", { class: "fine" }, "Kept in this tab only, and forgotten when it closes."),
      h("button", { type: "button", onclick: () => { session.key = ""; location.reload(); } }, "Change key")),
    h("section", {}, h("h2", {}, "Keyboard"),
      h("dl", { class: "keys" }, KEYS.map(([keys, does]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)]))));
}
