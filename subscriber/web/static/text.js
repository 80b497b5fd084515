// Text from elsewhere, made harmless and readable. Nothing here touches the page.
import { extraBy, hundredths } from "./spoken.js";

import { safe } from "./safe.js";

// named is what somebody calls themselves, on one line, without quotation marks and what a voice pauses at: where it stands in
// such marks, or last, nothing in it passes for a word of the page's about it.
export function named(name) {
  const one = safe(name).replace(/[.!?:;,]+([^\p{L}\p{N}\s/]*)(?=\s|$)|[。！？：；؟؛।॥…۔።፧։՞၊။។៕｡．]+/gu, "$1 ").replace(/["“”„‟«»‹›]/g, "").replace(/\s+/g, " ").trim();
  return clip(one, 100, () => "…");
}

// setText changes the text of an element where it stands, for a reading cursor in a node that is replaced is lost. The selection does not
// stay there: a cursor that is put back to the same place would not be seen to move.
export function setText(el, text) {
  if (el.contains(getSelection().focusNode)) getSelection().removeAllRanges();
  if (el.childNodes.length === 1 && el.firstChild.nodeType === 3) el.firstChild.data = text;
  else el.textContent = text;
}

// clip cuts a text that nobody can follow, and says how much is left out.
export function clip(s, most, left) {
  if (s.length <= most) return s;
  let end = most;
  if (/[\uD800-\uDBFF]/.test(s[end - 1])) end--;
  return s.slice(0, end) + left(s.length - end);
}

// writing is a language tag that says how an event's texts run: that of their language, or one made of the event's own word, which is
// ltr where it says nothing (§11.1.1); empty leaves it to the letters.
export const writing = ({ localization_hints: hints }) =>
  hints?.primary_language || ({ ltr: "und-Latn", rtl: "und-Arab" }[hints?.text_direction ?? "ltr"] ?? "");

export const scriptOf = (tag) => {
  try {
    return new Intl.Locale(tag).maximize().script;
  } catch {
    return ""; // it is no tag
  }
};

// serves is the tag that serves a listener best, or undefined (§11.1.3). It agrees with package handshake.
function serves(requested, offered) {
  const is = (a, b) => a.toLowerCase() === b.toLowerCase();
  for (const want of requested) {
    const script = scriptOf(want);
    for (let cut = want; cut; cut = cut.replace(/((^|-)[a-z0-9])?(^|-)[^-]*$/i, "")) {
      for (const fits of [(tag) => is(tag, cut) && scriptOf(tag) === script, (tag) => is(tag.slice(0, cut.length + 1), cut + "-") && scriptOf(tag) === script,
        (tag) => is(tag, cut) && !tag.includes("-")]) {
        const tag = offered.find(fits);
        if (tag) return tag;
      }
    }
  }
}

// translated is an event in the one of its languages that serves a listener best, where an agent that knows no handshake says itself
// in several (D-73). What is told beside the summary is in the event's own alone.
export function translated(event, languages) {
  const hints = event.localization_hints ?? {}, others = new Map();
  if (/^aaep:agent\.(output\.streaming|awaiting\.confirmation|awaiting\.clarification)$/.test(event.type) || event.remediation_hint) return event;
  for (const [name, text] of Object.entries(event)) {
    const [, base, suffix] = /^(summary_(?:normal|terse|detailed))_(.{2,128})$/.exec(name) ?? [];
    const tag = suffix?.replaceAll("_", "-"), key = tag?.toLowerCase();
    if (!tag || !text || typeof text !== "string" || (others.size >= 64 && !others.has(key))) continue;
    if (!others.has(key)) others.set(key, { localization_hints: { primary_language: tag, text_direction: "auto" } });
    others.get(key)[base] ??= text;
  }
  const own = hints.primary_language ?? "", further = Array.isArray(hints.fallback_chain) ? hints.fallback_chain.filter((tag) => typeof tag === "string") : [];
  const tag = others.size && serves([...languages, ...further], [own, ...others.keys()]);
  if (tag === own || !others.has(tag)) return event;
  return { ...event, summary_normal: undefined, summary_terse: undefined, summary_detailed: undefined, ...others.get(tag) };
}

const longest = 2000, short = 250;

const apart = /(?<!`)(`{1,3})(?!`)[^`]{1,500}\1(?!`)|!?\[[^[\]\n]{0,200}\]\([^()\n]{0,500}\)|<[^<>\s]{1,500}>|\bhttps?:\/\/\S{1,2000}|^[ \t]*\|[^\n]{0,2000}\|[ \t]*$|^(?:[ \t]*>)*[ \t]*\d{1,9}[.)][ \t]+\S/gm; // code, links, rows of tables and numbers of items, in which no sentence ends
const begun = /(`[^`\n]{0,500}|!?\[[^[\]\n]{0,200}(\]\([^()\n]{0,500})?|(?<![^\n])[ \t]*\|[^\n]{0,2000})$/; // of which the end has yet to come

// sentences cuts a text where a voice can pause, which is before white space or behind a mark that needs none, and never within code or
// a link. Whole is a text that its producer has cut: it is cut again only where it is so long that to hear it again takes long. What is left may go on with the next piece.
export function sentences(text, language, final, whole) {
  const found = [];
  let pieces = whole && text.length <= short ? [text] : cuts(text, language, final);
  let rest = final ? "" : pieces.pop() ?? "";
  if (rest.length > longest) {
    pieces.push(rest);
    rest = "";
  }
  for (let piece of pieces) {
    while (piece.length > longest) {
      let end = longest - /\S*$/.exec(piece.slice(longest / 2, longest))[0].length;
      if (end <= longest / 2) end = /[\uD800-\uDBFF]/.test(piece[longest - 1]) ? longest - 1 : longest; // it has no white space
      found.push(piece.slice(0, end));
      piece = piece.slice(end);
    }
    found.push(piece);
  }
  return { found: found.map((s) => s.trim()).filter(Boolean), rest };
}

const part = 400; // what is heard in some twenty seconds

// inParts is a text in pieces of some sentences each: what was cut off is heard again from the piece on that was cut.
export function inParts(text, language) {
  if (text.length <= part) return [text];
  const parts = [];
  for (const sentence of sentences(text, language, true).found) {
    if (parts.length && parts.at(-1).length + sentence.length < part) parts[parts.length - 1] += " " + sentence;
    else parts.push(sentence);
  }
  return parts;
}

function cuts(text, language, final) {
  let segments;
  try {
    segments = new Intl.Segmenter(language || undefined, { granularity: "sentence" });
  } catch {
    segments = globalThis.Intl?.Segmenter && new Intl.Segmenter(undefined, { granularity: "sentence" });
  }
  const parts = segments ? Array.from(segments.segment(text), (s) => s.segment) : text.match(/[^.!?。！？]+[.!?。！？]*\s*|[.!?。！？]+\s*/g) ?? [];
  const closed = Array.from(text.matchAll(apart), (m) => [m.index, m.index + m[0].length]), open = final ? null : begun.exec(text);
  if (open) closed.push([open.index, Infinity]);
  const pieces = [""];
  let at = 0;
  for (const part of parts) {
    const before = pieces.at(-1);
    if (before && /\s$|[。！？｡…][”’」』）"')]*$/.test(before) && !closed.some(([from, to]) => at > from && at < to)) pieces.push("");
    pieces[pieces.length - 1] += part;
    at += part.length;
  }
  for (let i = pieces.length - 1; i > 0; i--) { // **Done.** Then
    const [marks] = /\S$/.test(pieces[i - 1]) ? /^[*_~]{1,3}(\s+|$)|^/.exec(pieces[i]) : [""];
    pieces[i - 1] += marks;
    pieces[i] = pieces[i].slice(marks.length);
  }
  return pieces.filter(Boolean);
}

// numberOf reads a number somebody typed, with the digits and the decimal mark of their keyboard; NaN is none. What is a thousand
// to one person and one to another, such as 1,000, is none: nor is 1.000 but in English. It agrees with the terminal's.
export function numberOf(typed, ...languages) {
  const western = typed.replace(/[٠-٩۰-۹]/g, (d) => d.charCodeAt(0) & 15).replace(/٫/g, ".");
  const number = western.replace(/^([-+]?\d+),(\d{1,2}|\d{4,})$/, "$1.$2").replace(/^([-+]?0),(\d+)$/, "$1.$2");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(number) || (languages.some((l) => l && !/^en\b/.test(l)) && /^[-+]?[1-9]\d{0,2}\.\d{3}$/.test(number))) return NaN;
  return Number(number);
}

// reading is how long a text takes to be heard, in milliseconds, from a voice of its language: at the pace of the user's voice, and a second.
export const reading = (text, pace) => (hundredths(text) / 100 / pace) * 60000 + 1000;

// readingBy is reading by a voice that speaks one language alone, and names the letters of scripts that are not of that.
export const readingBy = (text, pace, tag) => reading(text, pace) + (extraBy(text, tag) / 100 / pace) * 60000;
