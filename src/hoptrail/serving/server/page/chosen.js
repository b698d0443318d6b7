// Which documents are asked: all, or those that were chosen. Kept in this tab, for each workspace.

import { session } from "./api.js";

const place = () => `hoptrail-chosen-${session.workspace ?? ""}`;

/** The chosen documents as a map of ids to titles; none means all. */
export function chosen() {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(place()) ?? "[]"));
  } catch {
    return new Map();
  }
}

/** Ask these from now on; whoever shows the choice hears of it. */
export function choose(documents) {
  if (documents.size) sessionStorage.setItem(place(), JSON.stringify([...documents]));
  else sessionStorage.removeItem(place());
  document.dispatchEvent(new CustomEvent("chosen"));
}
