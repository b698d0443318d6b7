// The evidence of one trail as a picture: names above, sentences in the middle, documents below, from the first hop to the last.
//
// The layout is ours: a column a hop, a lane a kind, and within a lane the order that crosses least links (barycentres, a few
// rounds); on a narrow screen names stand at the left, sentences at the right, and the trail runs downwards. A trail has a few
// dozen nodes, so nothing more is needed. What is drawn stands as a list below the drawing, too.

import { h, s } from "./dom.js";
import { openAt } from "./reader.js";
import { names, namesIn } from "./words.js";

const LANES = ["entity", "sentence", "document"];
const GAP = { x: 16, y: 44 };
const LETTER = { entity: 7.9, sentence: 6.9, document: 7.4 };
const LONGEST = { entity: 26, sentence: 29, document: 26 };
const MOST = 40;
const NARROW = "(max-width: 40rem)";
const NARROW_WIDTH = 350;

/** A figure for an answer. */
export function picture(answer) {
  const graph = graphOf(answer);
  graph.nodes.forEach(measure);
  const size = matchMedia(NARROW).matches ? stack(graph) : arrange(graph);
  const region = h("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Picture of the evidence, scrolls sideways" }, drawn(graph, size, answer));
  return h("figure", { class: "picture" },
    h("figcaption", {}, "How the evidence hangs together"),
    region,
    h("details", {}, h("summary", {}, "The same as a list"),
      h("ul", {}, graph.links.map((link) => h("li", {}, `${nameOf(link.from)} ${link.says} ${nameOf(link.to)}`)))));
}

const nameOf = (node) => (node.kind === "sentence" ? `“${node.text}”` : node.text);

function graphOf(answer) {
  const nodes = new Map();
  const links = [];
  const node = (kind, text, column, item = null) => {
    const name = `${kind}:${kind === "sentence" ? `${item.document}:${item.start}:${item.end}` : kind === "document" ? item.document : text.toLowerCase()}`;
    if (!nodes.has(name)) nodes.set(name, { kind, text: text || "Untitled", column, item, place: 0 });
    return nodes.get(name);
  };
  const link = (from, to, says) => {
    if (from && to && from !== to && !links.some((one) => one.from === from && one.to === to)) links.push({ from, to, says });
  };
  const evidence = answer.evidence.slice(0, MOST);
  for (const [index, hop] of answer.trail.entries()) {
    const own = evidence.filter((item) => item.hop === index);
    const found = hop.answer !== null && own.length ? node("entity", hop.answer, index + 1) : null;
    const about = [...new Set([...namesIn(hop.asked), ...answer.trail.slice(0, index).map((one) => one.answer).filter((text) => text && names(hop.asked, text))])];
    for (const item of own) {
      const sentence = node("sentence", item.text.replace(/\s+/g, " ").trim(), index + 0.5, item);
      link(sentence, node("document", item.title, index + 0.5, item), "stands in");
      const subjects = about.filter((name) => names(item.text, name) || names(item.title, name));
      for (const name of subjects.filter((one) => !subjects.some((other) => other !== one && names(other, one)))) {
        const known = nodes.get(`entity:${name.toLowerCase()}`) ?? node("entity", name, index);
        if (known !== found) link(known, sentence, "is named in");
      }
      link(sentence, found, "tells");
    }
  }
  const all = [...nodes.values()];
  const last = all.find((one) => one.kind === "entity" && answer.answer !== null && names(one.text, answer.answer) && names(answer.answer, one.text));
  if (last) last.isAnswer = true;
  return { nodes: all, links };
}

/** The lines and the size of a node. */
function measure(node) {
  node.lines = wrapped(node.text, LONGEST[node.kind], node.kind === "sentence" ? 3 : 1);
  const longest = Math.max(...node.lines.map((line) => line.length));
  node.w = node.kind === "sentence" ? 214 : Math.max(84, longest * LETTER[node.kind] + 26);
  node.h = node.kind === "sentence" ? 22 + 17 * (node.lines.length - 1) + 12 : node.kind === "entity" ? 30 : 22;
}

/** Lanes from top to bottom, hops from left to right; the size of the whole. */
function arrange({ nodes, links }) {
  const lanes = LANES.map((kind) => nodes.filter((one) => one.kind === kind).sort((a, b) => a.column - b.column));
  const spread = (lane) => lane.forEach((one, place) => { one.place = place / Math.max(1, lane.length - 1); });
  lanes.forEach(spread);
  for (let round = 0; round < 4; round++)
    for (const lane of lanes) {
      for (const one of lane) {
        const near = links.filter((link) => link.from === one || link.to === one).map((link) => (link.from === one ? link.to : link.from).place);
        one.pull = near.length ? near.reduce((sum, place) => sum + place, 0) / near.length : one.place;
      }
      lane.sort((a, b) => a.column - b.column || a.pull - b.pull);
      spread(lane);
    }
  const widths = lanes.map((lane) => lane.reduce((sum, one) => sum + one.w + GAP.x, 0));
  const width = Math.max(...widths, 320);
  let y = 8;
  lanes.forEach((lane, index) => {
    const space = (width - widths[index]) / Math.max(1, lane.length);
    let x = (space + GAP.x) / 2;
    for (const one of lane) {
      one.x = x;
      one.y = y;
      x += one.w + GAP.x + space;
    }
    if (lane.length) y += Math.max(...lane.map((one) => one.h)) + GAP.y;
  });
  underneath(lanes[2], links, width);
  return { width, height: y - GAP.y + 8 };
}

/** Move documents below the sentences that stand in them, as far as they do not run into one another. */
function underneath(documents, links, width) {
  for (const one of documents) {
    const middles = links.filter((link) => link.to === one).map((link) => link.from.x + link.from.w / 2);
    one.x = middles.reduce((sum, x) => sum + x, 0) / middles.length - one.w / 2;
  }
  documents.sort((a, b) => a.x - b.x);
  let left = 0;
  for (const one of documents) left = (one.x = Math.max(one.x, left)) + one.w + 4;
  let right = width;
  for (const one of [...documents].reverse()) right = (one.x = Math.min(one.x, right - one.w)) - 4;
}

/** Names at the left, sentences with their documents at the right, from top to bottom. */
function stack({ nodes, links }) {
  let y = 6;
  const placed = new Set();
  for (const node of nodes.filter((one) => one.kind !== "document").sort((a, b) => a.column - b.column)) {
    node.x = node.kind === "entity" ? 1 : NARROW_WIDTH - node.w - 1;
    node.y = y;
    y += node.h;
    const own = node.kind === "sentence" && links.find((link) => link.from === node && link.to.kind === "document")?.to;
    if (own && !placed.has(own)) {
      placed.add(own);
      own.x = NARROW_WIDTH - own.w - 1;
      own.y = y + 2;
      y += own.h + 2;
    }
    y += 14;
  }
  return { width: NARROW_WIDTH, height: y, narrow: true };
}

function drawn({ nodes, links }, size, answer) {
  const { width, height } = size;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${nodes.length} nodes, ${links.length} links` },
    links.filter((link) => !(size.narrow && link.to.kind === "document")).map((link) => curve(link, size.narrow)),
    nodes.map((node) => box(node, answer)));
  svg.style.maxWidth = `${width}px`; // its natural size at most, and not so small that it cannot be read
  svg.style.minWidth = `${Math.round(width * 0.72)}px`;
  return svg;
}

function curve({ from, to, says }, narrow) {
  const path = narrow ? around(from, to) : down(from, to);
  return s("path", { class: `link ${says.split(" ")[0]}`, d: path }, s("title", {}, says));
}

function down(from, to) {
  const [top, bottom] = from.y < to.y ? [from, to] : [to, from];
  const x1 = top.x + top.w / 2, y1 = top.y + top.h, x2 = bottom.x + bottom.w / 2, y2 = bottom.y;
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}

/** From a name at the left round the corner to a sentence at the right, or back. */
function around(from, to) {
  const [name, sentence] = from.kind === "entity" ? [from, to] : [to, from];
  const below = sentence.y > name.y;
  const x1 = name.x + (below ? 30 : 46), y1 = below ? name.y + name.h : name.y, x2 = sentence.x, y2 = sentence.y + sentence.h / 2 + (below ? -6 : 6);
  return `M${x1} ${y1} Q${x1} ${y2} ${x2} ${y2}`;
}

function box(node, answer) {
  const opens = node.item ? { tabindex: "0", role: "button", "aria-label": `${node.kind}: ${node.text}. Open the document.`,
    onclick: () => openAt(node.item, answer.evidence),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openAt(node.item, answer.evidence); } } } : {};
  const top = node.y + node.h / 2 - (node.lines.length - 1) * 8.5 + 4.5;
  const x = node.kind === "sentence" ? node.x + 11 : node.x + node.w / 2;
  return s("g", { class: `node ${node.kind}${node.isAnswer ? " final" : ""}`, ...opens },
    s("title", {}, node.text),
    s("rect", { x: node.x, y: node.y, width: node.w, height: node.h, rx: node.kind === "entity" ? 15 : 6 }),
    node.lines.map((line, index) => s("text", { x, y: top + index * 17 }, line)));
}

function wrapped(text, longest, most) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (!line || line.length + word.length < longest) lines[lines.length - 1] = line ? `${line} ${word}` : word;
    else lines.push(word);
  }
  const shown = lines.slice(0, most).map((line) => (line.length > longest ? `${line.slice(0, longest - 1)}…` : line));
  if (lines.length > most && !shown.at(-1).endsWith("…")) shown[most - 1] = `${shown[most - 1].slice(0, longest - 1)}…`;
  return shown;
}
