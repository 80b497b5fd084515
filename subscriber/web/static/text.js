// Text from elsewhere, made harmless and readable. Nothing here touches the page.

const flag = /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{1,6}\u{E007F}/gu;
const hidden = /[\0-\x08\x0B-\x1F\x7F-\x9F\u2028\u2029\u202A-\u202E\uFFF9-\uFFFB\p{Co}\p{Cs}\u{E0000}-\u{E007F}]/gu;
const isolate = /[\u2066-\u2069]/g;

const shown = (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;

function balanced(s) {
  let depth = 0;
  for (const [c] of s.matchAll(isolate)) {
    depth += c === "\u2069" ? -1 : 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

// safe shows what could deceive: controls, overrides of direction, hidden characters. It agrees with aaep.SafeText.
export function safe(value) {
  const s = String(value ?? "").replace(/\r\n?/g, "\n");
  let out = "", from = 0;
  for (const m of s.matchAll(flag)) { // the flags of Wales, Scotland and the like are no hidden message
    out += s.slice(from, m.index).replace(hidden, shown) + m[0];
    from = m.index + m[0].length;
  }
  out += s.slice(from).replace(hidden, shown);
  return balanced(out) ? out : out.replace(isolate, shown);
}

// named is what somebody calls themselves, on one line, without quotation marks and what a voice pauses at: where it stands in
// such marks, or last, nothing in it passes for a word of the page's about it.
export function named(name) {
  const one = safe(name).replace(/[.!?:;,]+([^\p{L}\p{N}\s/]*)(?=\s|$)|[。！？：；؟؛।॥…۔።፧։՞၊။។៕｡．]+/gu, "$1 ").replace(/["“”„‟«»‹›]/g, "").replace(/\s+/g, " ").trim();
  return clip(one, 100, () => "…");
}

// clip cuts a text that nobody can follow, and says how much is left out.
export function clip(s, most, left) {
  if (s.length <= most) return s;
  let end = most;
  if (/[\uD800-\uDBFF]/.test(s[end - 1])) end--;
  return s.slice(0, end) + left(s.length - end);
}

// direction is how an event says that its text runs, which is ltr where it says nothing (§11.1.1), or what the text itself shows.
export function direction(event) {
  const said = event.localization_hints?.text_direction ?? "ltr";
  return ["ltr", "rtl"].includes(said) ? said : "auto";
}

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

const longest = 2000;

// sentences cuts a text where a voice can pause. What is left may go on with the next piece.
export function sentences(text, language, final) {
  const found = [];
  let segments;
  try {
    segments = new Intl.Segmenter(language || undefined, { granularity: "sentence" });
  } catch {
    segments = globalThis.Intl?.Segmenter && new Intl.Segmenter(undefined, { granularity: "sentence" });
  }
  let pieces = segments ? Array.from(segments.segment(text), (s) => s.segment) : text.match(/[^.!?。！？]+[.!?。！？]*\s*|[.!?。！？]+\s*/g) ?? [];
  for (let i = pieces.length - 1; i > 0; i--) { // **Done.** Then
    const [marks] = /\S$/.test(pieces[i - 1]) ? /^[*_~]{1,3}(\s+|$)|^/.exec(pieces[i]) : [""];
    pieces[i - 1] += marks;
    pieces[i] = pieces[i].slice(marks.length);
  }
  pieces = pieces.filter(Boolean);
  let rest = final ? "" : pieces.pop() ?? "";
  if (rest.length > longest) {
    pieces.push(rest);
    rest = "";
  }
  for (let piece of pieces) {
    while (piece.length > longest) {
      let end = piece.lastIndexOf(" ", longest);
      if (end < longest / 2) end = /[\uD800-\uDBFF]/.test(piece[longest - 1]) ? longest - 1 : longest;
      found.push(piece.slice(0, end));
      piece = piece.slice(end);
    }
    found.push(piece);
  }
  return { found: found.map((s) => s.trim()).filter(Boolean), rest };
}

// numberOf reads a number somebody typed, with the digits and the decimal mark of their keyboard; NaN is none. What is a thousand
// to one person and one to another, such as 1,000, is none: nor is 1.000 but in English. It agrees with the terminal's.
export function numberOf(typed, ...languages) {
  const western = typed.replace(/[٠-٩۰-۹]/g, (d) => d.charCodeAt(0) & 15).replace(/٫/g, ".");
  const number = western.replace(/^([-+]?\d+),(\d{1,2}|\d{4,})$/, "$1.$2").replace(/^([-+]?0),(\d+)$/, "$1.$2");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(number) || (languages.some((l) => l && !/^en\b/.test(l)) && /^[-+]?[1-9]\d{0,2}\.\d{3}$/.test(number))) return NaN;
  return Number(number);
}

// reading is how long a text takes to be heard, in milliseconds: at the pace of the user's voice, and a second.
export function reading(text, pace) {
  const words = Math.max(text.split(/\s+/).length, text.length / 7);
  return (words / pace) * 60000 + 1000;
}
