// The address of everything that can be shown: `#ask`, `#answer/ID`, `#documents`, `#document/ID/START-END`, `#history`,
// `#settings`; before it `~WORKSPACE/` where the key opens several. It follows the page's own address, whatever path that has.

import { session } from "./api.js";

/** The address of a view. */
export function addressOf(view, ...rest) {
  const parts = [view, ...rest.filter((part) => part !== "")].map(encodeURIComponent);
  return `#${session.several ? `~${encodeURIComponent(session.workspace)}/` : ""}${parts.join("/")}`;
}

/** The address of a document, opened at one of its places. */
export const placeAddress = (id, at) => addressOf("document", id, at && at.end > at.start ? `${at.start}-${at.end}` : "");

/** What the page's address names: {workspace, view, rest}. */
export function shownAddress() {
  let parts;
  try {
    parts = location.hash.slice(1).split("/").map(decodeURIComponent);
  } catch { // not one of ours
    parts = [];
  }
  const workspace = parts[0]?.startsWith("~") ? parts.shift().slice(1) : null;
  const [view = "", ...rest] = parts;
  return { workspace, view: view || "ask", rest };
}

/** Show this address without a new entry in the browser's history and without drawing anything. */
export const nowAt = (address, before = location.hash) => { if (address !== before) history.pushState(null, "", address); };
