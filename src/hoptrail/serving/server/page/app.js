// The page: which address is shown, which workspace, which key.

import { addressOf, shownAddress } from "./address.js";
import { get, session } from "./api.js";
import { askView } from "./ask.js";
import { documentsView, Watch } from "./documents.js";
import { dropped } from "./files.js";
import { h, prose } from "./dom.js";
import { historyView } from "./history.js";
import { closeSource, showSource } from "./reader.js";
import { applyTheme, settingsView } from "./settings.js";

const main = document.getElementById("view");
const NAMES = ["ask", "answer", "documents", "document", "history", "settings"];
let views = {}, names = [], watch, limits, drawn = "";

async function begin() {
  try {
    names = (await get("api/workspaces")).workspaces;
    const { workspace } = shownAddress();
    session.workspace = [workspace, session.workspace].find((name) => names.includes(name)) ?? names[0];
    session.several = names.length > 1;
    showWorkspaces();
    const [shown, recipes] = await Promise.all([get("api/show"), get("api/recipes")]);
    limits = shown.uploads;
    watch = new Watch(changed, limits);
    views = { ask: askView(recipes, watch) };
    drawn = "";
    route();
    watch.begin().catch(() => {});
  } catch (error) {
    if (error.status !== 401) main.replaceChildren(h("div", { class: "notice fault", role: "alert" },
      h("h1", {}, error.message), h("p", {}, prose(error.whatToDo ?? "")), h("button", { type: "button", onclick: begin }, "Try again")));
  }
}

/** Documents have come or gone: what may be asked, and what is listed, may be other. */
async function changed() {
  views.documents?.refresh();
  views.ask?.refresh();
  const recipes = await get("api/recipes").catch(() => null);
  if (recipes) views.ask?.recipesChanged(recipes);
}

function route() {
  const { workspace, view, rest } = shownAddress();
  if (workspace && workspace !== session.workspace && names.includes(workspace)) { begin(); return; }
  if (!views.ask) return;
  const name = NAMES.includes(view) ? view : "ask";
  if (name === "document") { // over whatever is shown
    if (!drawn) draw("documents");
    showSource(...rest);
    return;
  }
  closeSource();
  const answer = name === "answer" ? rest[0] ?? "" : "";
  if (name === "ask" || name === "answer") views.ask.show(answer);
  draw(name === "answer" ? "ask" : name);
}

function draw(name) {
  if (drawn === name && name !== "history") return;
  drawn = name;
  if (name === "documents") views.documents ??= documentsView(limits, watch);
  const made = { history: historyView, settings: settingsView }[name];
  const view = made ? made() : views[name];
  main.replaceChildren(view);
  if (!made) view.querySelector("form, .add").after(watch.element);
  for (const link of document.querySelectorAll("[data-view]")) {
    link.href = addressOf(link.dataset.view);
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = name === "ask" ? "hoptrail" : `${name[0].toUpperCase()}${name.slice(1)} · hoptrail`;
  if (name === "ask") view.focusFirst();
  else view.querySelector("h1").focus();
}

function showWorkspaces() {
  const select = document.getElementById("workspace");
  select.replaceChildren(...names.map((name) => h("option", { value: name, selected: name === session.workspace }, name)));
  select.parentElement.hidden = names.length < 2;
  select.onchange = () => { session.workspace = select.value; location.hash = addressOf(drawn || "ask"); begin(); };
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

// --- keys that work everywhere but in a field

const GO = { "/": "ask", d: "documents", h: "history", s: "settings" };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const view = event.key === "?" ? "settings" : GO[event.key];
  if (!view) return;
  event.preventDefault();
  location.hash = addressOf(view);
  if (view === "ask") document.getElementById("question")?.focus();
});

applyTheme();
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", route);
begin();
