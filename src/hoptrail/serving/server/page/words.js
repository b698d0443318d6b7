// Words of questions and sentences: what completion has put in, and which names sentences share.

const tokens = (text) => text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}\s]+|\s+/gu) ?? [];

/** The parts of `asked` as [text, isNew]: new are the words that do not stand, in this order, in `question`. */
export function completed(question, asked) {
  const before = tokens(question), after = tokens(asked);
  if (before.length * after.length > 250_000) return [[asked, false]];
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i][j] = before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const parts = [];
  const put = (text, isNew) => {
    const last = parts.at(-1);
    if (last && last[1] === isNew) last[0] += text;
    else parts.push([text, isNew]);
  };
  let i = 0, j = 0;
  while (j < after.length) {
    if (i < before.length && before[i] === after[j]) { put(after[j], false); i++; j++; }
    else if (i < before.length && common[i + 1][j] > common[i][j + 1]) i++;
    else { put(after[j], true); j++; }
  }
  return joined(parts);
}

/** White space between two new parts is new as well, so that a name of two words is one mark. */
function joined(parts) {
  const result = [];
  for (const [index, [text, isNew]] of parts.entries()) {
    const between = !text.trim() && parts[index - 1]?.[1] && parts[index + 1]?.[1];
    const last = result.at(-1);
    if (last && (last[1] === isNew || (last[1] && between))) last[0] += text;
    else result.push([text, isNew || Boolean(between)]);
  }
  return result;
}

const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\s+/g, " ");

/** Whether a text has a name in it, as whole words. */
export function names(text, name) {
  const within = ` ${folded(text).replace(/[^\p{L}\p{N}]+/gu, " ")} `;
  const wanted = folded(name).replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  return wanted.length > 0 && within.includes(` ${wanted} `);
}

/** Runs of capitalised words in a question, the first word left out unless more follow: what it may be about. */
export function namesIn(question) {
  const found = question.match(/\p{Lu}[\p{L}\p{N}'’.-]*(?:\s+(?:(?:of|the|and|&|de|la|von|van|der)\s+)*\p{Lu}[\p{L}\p{N}'’.-]*)*/gu) ?? [];
  return found.map((name) => name.replace(/[.'’-]+$/, "")).filter((name, place) => place > 0 || !question.startsWith(name));
}

/** A sentence in its surroundings: the sentence before, the cited characters, the sentence after. Offsets are code points. */
export function surroundings(document, start, end) {
  const ends = document.sentences;
  const first = ends.findIndex((place) => place > start);
  const last = ends.findIndex((place) => place >= end);
  const from = first >= 2 ? ends[first - 2] : 0;
  const to = last >= 0 ? ends[Math.min(last + 1, ends.length - 1)] : document.points.length;
  const cut = (a, b) => document.points.slice(a, b).join("");
  const before = cut(from, start), after = cut(end, to);
  return {
    before: before.length > 160 ? `…${before.slice(-160)}` : before,
    cited: cut(start, end),
    after: after.length > 160 ? `${after.slice(0, 160)}…` : after,
  };
}

const EMPTY = new Set(("who whom whose what which where when why how many much is are was were be been do does did has have had can will would should " +
  "the a an of in on at to for by from with and or it its that this there as").split(" "));

/** The words of a question that a statement may share with it. */
export const contentWords = (question) => (question.match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !EMPTY.has(word.toLowerCase()));

/** A text as [part, isOne]: the parts that are one of these, as whole words in whatever case, and the others. */
export function split(text, wanted) {
  const escaped = wanted.filter(Boolean).map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  if (!escaped.length) return [[text, false]];
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(found).map((part, place) => [part, place % 2 === 1]).filter(([part]) => part);
}

/** What a question asks about a name, in its own few words: `designer`, `town born`, `river flows through`. */
export function relationIn(question, name) {
  const place = name ? question.toLowerCase().indexOf(name.toLowerCase()) : -1;
  const rest = place < 0 ? question : `${question.slice(0, place)} ${question.slice(place + name.length).replace(/^['’]s?\b/, "")}`;
  return (rest.match(/[\p{L}\p{N}-]+/gu) ?? []).filter((word) => !EMPTY.has(word.toLowerCase())).slice(0, 5).join(" ");
}

/** Where a place in the text is in the document's file, in short: `page 3`, `line 12`. */
export function placeOf(found, start) {
  return blockAt(found, start)?.place ?? "";
}

/** The wording of a cited or closest statement; answers that a browser kept from older versions have only its text. */
export const wording = (item) => item.said ?? item.text;

/** Whether a place in the text is within a table row. */
export const isRow = (found, start) => blockAt(found, start)?.kind === "row";

const blockAt = (found, start) => found.blocks.findLast((block) => block.start <= start);
