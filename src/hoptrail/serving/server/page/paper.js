// A page of a PDF as it is printed, with the cited sentence boxed; the server draws it.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { placeOf } from "./words.js";

const pageOf = (found, at) => Number(/page (\d+)/.exec(at ? placeOf(found, at.start) : "")?.[1] ?? 1);

/** The page that a place is on, or the first, with buttons for the pages around it. */
export function pageView(found, at) {
  const box = h("figure", { class: "paper" });
  const cited = pageOf(found, at);
  async function show(number) {
    const held = box.contains(document.activeElement) ? document.activeElement.textContent : null;
    try {
      const range = at && number === cited ? `?start=${at.start}&end=${at.end}` : "";
      const drawn = await get(`api/documents/${encodeURIComponent(found.id)}/pages/${number}${range}`);
      const bytes = Uint8Array.from(atob(drawn.picture), (character) => character.charCodeAt(0));
      const address = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
      const picture = h("img", { src: address, width: drawn.width, height: drawn.height, alt: `Page ${number} of ${drawn.pages}; its text stands beside it`,
        onload: () => URL.revokeObjectURL(address) });
      const turn = (text, to) => h("button", { type: "button", class: "quiet", disabled: to < 1 || to > drawn.pages, onclick: () => show(to) }, text);
      fill(box, h("figcaption", { class: "fine" }, turn("Page before", number - 1), `Page ${number} of ${drawn.pages}`, turn("Next page", number + 1)),
        h("div", { class: "sheet" }, picture, drawn.boxes.map(boxed)));
      if (held) [...box.querySelectorAll("button")].find((one) => one.textContent === held && !one.disabled)?.focus();
      box.querySelector(".box")?.scrollIntoView({ block: "center" });
    } catch (error) {
      fill(box, h("p", { class: "fine" }, `The page cannot be shown. ${error.message}`));
    }
  }
  fill(box, h("p", { class: "waiting" }, "Drawing the page…"));
  show(cited);
  return box;
}

/** A box on the page; its sides are shares of the page's width and height. */
function boxed([left, top, right, bottom]) {
  const box = h("span", { class: "box" });
  const share = (value) => `${(100 * value).toFixed(2)}%`;
  Object.assign(box.style, { left: share(left), top: share(top), width: share(right - left), height: share(bottom - top) });
  return box;
}
