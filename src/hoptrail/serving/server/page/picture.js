// The picture of a trail with several hops, read in two seconds: names, and between them what was asked and where that is said.
//
// A hop that goes on from what an earlier one found continues its line; one that starts elsewhere begins a line of its own, and
// what is concluded from several lines stands below them. It is a list of words, so it wraps on a phone and can be read aloud.

import { h } from "./dom.js";
import { openAt } from "./reader.js";
import { names, namesIn, relationIn, wording } from "./words.js";

const LONGEST = 48;

/** A figure for an answer, or nothing where a line would say no more than the answer does. */
export function picture(answer, cited) {
  const lines = linesOf(answer);
  if (lines.reduce((sum, line) => sum + line.steps.length, 0) < 2) return null;
  const ends = lines.some((line) => line.steps.at(-1).found === answer.answer);
  return h("figure", { class: "picture" },
    h("figcaption", {}, "The trail at a glance"),
    lines.map((line) => h("ol", { class: "line" },
      line.start && name(line.start, false),
      line.steps.map((step) => [arrow(step, answer, cited), name(step.found, step.found === answer.answer)]))),
    !ends && answer.answer !== null && h("ol", { class: "line" },
      h("li", { class: "arrow" }, h("span", {}, "so")), name(answer.answer, true)));
}

/** Lines of steps, each with what it asks of the one before, what it found, and the sentence that says so. */
function linesOf(answer) {
  const lines = [];
  answer.trail.forEach((hop, index) => {
    const concludes = index > 0 && hop.asked === answer.question;
    if (hop.answer === null || concludes) return;
    const before = lines.find((line) => names(hop.asked, line.steps.at(-1).found) && !names(answer.question, line.steps.at(-1).found));
    const start = before ? before.steps.at(-1).found : namesIn(hop.asked).at(-1) ?? "";
    const step = { asks: relationIn(hop.asked, start), found: hop.answer, item: answer.evidence.find((item) => item.hop === index) };
    if (before) before.steps.push(step);
    else lines.push({ start, steps: [step] });
  });
  return lines;
}

function name(text, isAnswer) {
  return h("li", { class: isAnswer ? "name final" : "name", title: text }, text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

function arrow({ asks, item }, answer, cited) {
  if (!item) return h("li", { class: "arrow" }, h("span", {}, asks));
  const number = cited.get(`${item.document}:${item.start}:${item.end}`);
  return h("li", { class: "arrow" }, h("button", { type: "button", title: wording(item), onclick: () => openAt(item, answer.evidence),
    "aria-label": `${asks || "so it is said"}, citation ${number}: ${item.title}` }, asks, " ", h("span", { class: "number" }, String(number))));
}
