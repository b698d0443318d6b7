// The page: which view is open, which workspace, which key, light or dark.

import { get, session } from "./api.js";
import { askView } from "./ask.js";
import { documentsView, Watch } from "./documents.js";
import { dropped } from "./files.js";
import { h } from "./dom.js";
import { historyView } from "./history.js";

const main = document.getElementById("view");
const views = {};
let watch, limits;

async function begin() {
  try {
    const { workspaces } = await get("/api/workspaces");
    if (!workspaces.includes(session.workspace)) session.workspace = workspaces[0];
    showWorkspaces(workspaces);
    const [shown, recipes] = await Promise.all([get("/api/show"), get("/api/recipes")]);
    limits = shown.uploads;
    watch = new Watch(changed, limits);
    for (const name of Object.keys(views)) delete views[name];
    views.ask = askView(recipes, watch);
    route();
    watch.begin().catch(() => {});
  } catch (error) {
    if (error.status !== 401) main.replaceChildren(h("div", { class: "notice fault", role: "alert" },
      h("h1", {}, error.message), h("p", {}, error.whatToDo ?? ""), h("button", { type: "button", onclick: begin }, "Try again")));
  }
}

/** Documents have come or gone: what may be asked, and what is listed, may be other. */
async function changed() {
  views.documents?.refresh();
  views.ask?.refresh();
  const recipes = await get("/api/recipes").catch(() => null);
  if (recipes) views.ask?.recipesChanged(recipes);
}

function route() {
  const name = ["ask", "documents", "history"].find((one) => `#${one}` === location.hash) ?? "ask";
  if (!views.ask) return;
  if (name === "documents") views.documents ??= documentsView(limits, watch);
  const view = name === "history" ? historyView(openEntry) : views[name];
  main.replaceChildren(view);
  if (name !== "history") view.querySelector(".jobs") ?? view.querySelector("form, .add").after(watch.element);
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = name === "ask" ? "hoptrail" : `${name[0].toUpperCase()}${name.slice(1)} · hoptrail`;
  if (name === "ask") view.focusFirst();
  else view.querySelector("h1").focus();
}

function openEntry(entry) {
  views.ask.open([entry]);
  location.hash = "#ask";
}

function showWorkspaces(names) {
  const select = document.getElementById("workspace");
  select.replaceChildren(...names.map((name) => h("option", { value: name, selected: name === session.workspace }, name)));
  select.parentElement.hidden = names.length < 2;
  select.onchange = () => { session.workspace = select.value; begin(); };
  document.getElementById("sign-out").hidden = !session.key;
}

// --- the key

const dialog = document.getElementById("key");
const input = document.getElementById("key-input");
document.addEventListener("key-needed", (event) => {
  document.getElementById("key-fault").textContent = event.detail ? "This key opens nothing here." : "";
  session.key = "";
  if (!dialog.open) dialog.showModal();
  input.focus();
});
dialog.addEventListener("cancel", (event) => event.preventDefault());
dialog.querySelector("form").addEventListener("submit", () => {
  session.key = input.value.trim();
  session.workspace = null;
  input.value = "";
  begin();
});
document.getElementById("sign-out").addEventListener("click", () => { session.key = ""; location.reload(); });

// --- light or dark

const THEME = "hoptrail-theme";
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
if (localStorage.getItem(THEME)) document.documentElement.dataset.theme = localStorage.getItem(THEME) === "dark" ? "dark" : "light";
document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  localStorage.setItem(THEME, document.documentElement.dataset.theme);
});

// --- files dropped anywhere

const drop = document.getElementById("drop");
const brings = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
let depth = 0;
addEventListener("dragenter", (event) => { if (brings(event)) { depth++; drop.hidden = false; } });
addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) drop.hidden = true; });
addEventListener("dragover", (event) => { if (brings(event)) event.preventDefault(); });
addEventListener("drop", (event) => {
  if (!brings(event)) return;
  event.preventDefault();
  depth = 0;
  drop.hidden = true;
  dropped(event.dataTransfer).then((files) => watch?.take(files));
});

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", route);
begin();
