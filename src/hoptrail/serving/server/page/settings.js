// Settings of the page in this browser, and its keys.

import { session } from "./api.js";
import { h } from "./dom.js";

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

/** The view. */
export function settingsView() {
  const choices = Object.entries(THEMES).map(([value, name]) => {
    const input = h("input", { type: "radio", name: "theme", value, onchange: () => {
      if (value) localStorage.setItem(THEME, value);
      else localStorage.removeItem(THEME);
      applyTheme();
    } });
    input.checked = value === theme();
    return h("label", { class: "choice" }, input, name);
  });
  return h("div", { class: "narrow settings" }, h("h1", { tabindex: "-1" }, "Settings"),
    h("fieldset", {}, h("legend", {}, "Light or dark"), choices),
    session.key && h("section", {}, h("h2", {}, "Key"), h("p", { class: "fine" }, "Kept in this tab only, and forgotten when it closes."),
      h("button", { type: "button", onclick: () => { session.key = ""; location.reload(); } }, "Change key")),
    h("section", {}, h("h2", {}, "Keyboard"),
      h("dl", { class: "keys" }, KEYS.map(([keys, does]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)]))));
}
