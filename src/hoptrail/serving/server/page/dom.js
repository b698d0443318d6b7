// Making elements. Text only ever becomes text: nothing here, or anywhere on the page, reads markup out of a string.

/** An element: `props` are attributes, `on…` listeners, `class`; children are nodes or text; nothing and false are left out. */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** Replace what is in an element; nothing and false are left out, as above. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

const present = (children) => children.flat(2).filter((child) => child !== null && child !== undefined && child !== false);

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** What the server says, with what stands between backticks as code. */
export const prose = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

/** An error, and what to do about it. */
export const faultOf = (error) => h("p", { class: "fault", role: "alert" }, prose(`${error.message} ${error.whatToDo ?? ""}`));

/** Say something to those who do not see the page. */
export function say(text) {
  document.getElementById("spoken").textContent = text;
}

export function seconds(value) {
  return value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`;
}

/** The step of a run in words: what is being done, and how much of it is done. */
export function stepOf({ what, done, total }) {
  return what && (total ? `${what}, ${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : what);
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
