// What could deceive or disturb the reader of a text, made visible or taken away: the rules of the SDK's package safetext, by its
// table. A test runs both over the same texts. Nothing here touches the page.
import { table } from "./table.js";

const [HIDDEN, FILLER, JOINER, VARIANT, BLANK, ACCENT, RIGHT, LEFT, DIGIT, ARABIC, NEUTRAL, SEPARATOR, SYMBOL, KEYCAP, VARIED, JOINED, UNSPACED, HAN, JAMO, MONGOLIAN, EGYPTIAN] =
  Array.from({ length: 21 }, (_, i) => 1 << i);
const UNSEEN = ACCENT | FILLER | JOINER | VARIANT;

const starts = [], classes = [];
{
  let at = 0;
  for (const run of table.split(";").slice(0, -1)) {
    const [length, of] = run.split(",").map((s) => parseInt(s, 36));
    starts.push(at);
    classes.push(of);
    at += length;
  }
}

function classOf(r) {
  let low = 0, high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= r) low = middle;
    else high = middle;
  }
  return classes[low];
}

const maxAccents = 8, deepest = 4, flagTags = 7;
const LRM = 0x200e, RLM = 0x200f, ALM = 0x61c, LRI = 0x2066, RLI = 0x2067, FSI = 0x2068, PDI = 0x2069, BLACK_FLAG = 0x1f3f4, END_OF_TAGS = 0xe007f;
const isControl = (r) => r === LRM || r === RLM || r === ALM || (r >= LRI && r <= PDI);
const isOpener = (r) => r >= LRI && r < PDI;

const points = (s) => Array.from(s, (c) => c.codePointAt(0));

// safe is SafeTextIn of the SDK: a text as it may be heard, shown and recorded. Language is a tag, or empty.
export function safe(value, language = "") {
  const s = String(value ?? "").replace(/\r\n?/g, "\n");
  if (/^[\n\t -~]*$/.test(s)) return s;
  const text = harmless(points(s)), right = fromRight(text, language);
  return text.split("\n").map((line) => ordered(line, right)).join("\n");
}

// directionOf is how a text runs, "ltr" or "rtl": it is shown in no other direction, or what is seen is in another order than what is
// heard.
export const directionOf = (text, language = "") => (fromRight(safe(text, language), language) ? "rtl" : "ltr");

function balanced(text) {
  let depth = 0;
  for (const r of text) {
    if (isOpener(r) && ++depth > deepest) return false;
    if (r === PDI && --depth < 0) return false;
    if (r === 0x0a && depth) return false;
  }
  return depth === 0;
}

function harmless(text) {
  const isolates = balanced(text);
  let out = "", tags = 0, accents = 0, before = 0, letter = 0;
  for (let i = 0; i < text.length; i++) {
    const r = text[i], c = classOf(r), mayFollow = tags;
    tags = 0;
    if (c & ACCENT) {
      if (++accents > maxAccents) continue;
    } else if (!(c & (FILLER | JOINER | VARIANT))) accents = 0;
    let shows = false, blank = false;
    if (r >= LRI && r <= PDI) shows = !isolates;
    else if (r === BLACK_FLAG) tags = flagTags;
    else if (r === END_OF_TAGS) shows = mayFollow === 0 || mayFollow === flagTags;
    else if (r >= 0xe0000 && r <= 0xe007f) {
      shows = mayFollow <= 1 || !/[0-9a-z]/.test(String.fromCharCode(r - 0xe0000));
      if (!shows) tags = mayFollow - 1;
    } else if (c & HIDDEN) shows = true;
    else if (c & BLANK) blank = true;
    else if (c & (FILLER | JOINER | VARIANT) && !spells(r, c, before, letter, text[i + 1])) continue;
    out += shows ? `<U+${r.toString(16).toUpperCase().padStart(4, "0")}>` : blank ? " " : String.fromCodePoint(r);
    before = r;
    letter = c & ACCENT ? letter | c : c;
  }
  return out;
}

// spells reports whether what shows nothing has a use between what is kept before it and what follows.
function spells(r, c, last, letter, next) {
  const before = classOf(last), following = next === undefined ? 0 : classOf(next);
  if (r === 0x200b) return Boolean(before & following & UNSPACED);
  if (c & JOINER && letter & JOINED) return true;
  if (r === 0x200d) return Boolean((before & (SYMBOL | VARIANT) || last === END_OF_TAGS) && following & SYMBOL);
  if (r === 0x115f || r === 0x1160) return Boolean((before | following) & JAMO);
  if (r >= 0x180b && r <= 0x180f) return Boolean(before & MONGOLIAN);
  if (r >= 0x13430 && r <= 0x13455) return Boolean(before & EGYPTIAN);
  if (r === 0xfe0e || r === 0xfe0f) return Boolean(before & (SYMBOL | KEYCAP));
  if (r >= 0xfe00 && r <= 0xfe0d) return Boolean(before & (SYMBOL | VARIED | HAN));
  if (r >= 0xe0100 && r <= 0xe01ef) return Boolean(before & HAN);
  return false;
}

function fromRight(text, language) {
  let first = 0, left = 0, right = 0;
  for (const r of points(text)) {
    const c = classOf(r) & (LEFT | RIGHT);
    if (!c) continue;
    if (c === RIGHT) right++;
    else left++;
    first ||= c;
  }
  if (!right) return false;
  return language ? writtenFromRight(language) : first === RIGHT && right > left;
}

function writtenFromRight(tag) {
  try {
    return /^(Arab|Hebr|Thaa|Syrc|Nkoo|Adlm|Rohg|Mand|Samr)$/.test(new Intl.Locale(tag).maximize().script);
  } catch {
    return false; // it is no tag
  }
}

// ordered is a line so that it is seen in the order in which it is heard; order.go says what that is.
function ordered(text, right) {
  const runes = points(text), n = runes.length, of = runes.map(classOf);
  if (!runes.some(isControl) && !of.some((c) => c & ARABIC) && !(of.some((c) => c & RIGHT) && of.some((c) => c & DIGIT))) return text;
  const pair = [], digit = Array(n + 1).fill(false), dropped = Array(n).fill(false), within = Array(n).fill(false), holds = Array(n).fill(false), mark = Array(n).fill(false), open = [];
  runes.forEach((r, i) => {
    if (r === PDI) pair[open.pop()] = i;
    else if (isOpener(r)) open.push(i);
  });
  const parts = (i) => !isControl(runes[i]) && !(of[i] & UNSEEN), isUnit = (i) => Boolean(of[i] & (LEFT | DIGIT));
  const preceded = [false], followed = Array(n + 1).fill(false);
  for (let i = 0; i < n; i++) preceded.push(parts(i) ? isUnit(i) : preceded[i]);
  for (let i = n - 1; i >= 0; i--) followed[i] = parts(i) ? isUnit(i) : followed[i + 1];
  for (let i = n - 1; i >= 0; i--) digit[i] = of[i] & (LEFT | RIGHT | DIGIT) ? Boolean(of[i] & DIGIT) : digit[i + 1];

  const beside = (k, by) => {
    for (k += by; k >= 0 && k < n; k += by) if (!isControl(runes[k])) return of[k] & (DIGIT | ARABIC | NEUTRAL);
    return 0;
  };
  const joins = (k) => {
    if (!(of[k] & SEPARATOR)) return false;
    const before = beside(k, -1);
    return before === beside(k, 1) && (before & (DIGIT | NEUTRAL)) === DIGIT;
  };
  const stays = (from, to) => {
    let units = 0, numbers = 0, controls = 0, rights = false, inside = false, number = false;
    for (let k = from + 1; k < to; k++) {
      const c = of[k];
      if (c & NEUTRAL) {
        units++;
        if (!inside || !number) numbers++; // else it is the fraction of the number before
        [inside, number] = [true, false];
        continue;
      }
      if (c & (LEFT | DIGIT)) {
        if (!inside) {
          units++;
          number = false;
        }
        if (c & DIGIT && !number) {
          numbers++;
          number = true;
        }
        inside = true;
        continue;
      }
      if (c & UNSEEN || (inside && joins(k))) continue;
      if (c & RIGHT) rights = true;
      else if (isControl(runes[k])) controls++;
      inside = false;
    }
    const edge = preceded[from] || followed[to + 1];
    if (rights) return units <= 1 && !edge && !(right && digit[to + 1]);
    return right && numbers <= 1 && units > 0 && !controls && !edge;
  };
  for (let i = 0; i < n; i++) {
    if (!isOpener(runes[i])) continue;
    const end = pair[i];
    if (!stays(i, end)) {
      dropped[i] = dropped[end] = true;
      continue;
    }
    for (let k = i; k <= end; k++) {
      within[k] = true;
      holds[i] ||= isUnit(k);
      if (k > i && k < end && isControl(runes[k])) dropped[k] = true;
    }
    i = end;
  }

  let before = 0, marks = [], last = -1, count = 0, inside = false, kind = 0, neutral = false, turned = -1, arabic = false, touches = false, used = false, after = 0, held = 0, puts = [];
  const markStays = (m, next, follows) => {
    const leftwards = runes[m] !== LRM;
    if (!right) return leftwards && before === RIGHT && next !== RIGHT && !count;
    if (follows) return before === RIGHT && next !== LEFT && count <= 1;
    if (leftwards) return !(before === LEFT && next === LEFT);
    return (before === LEFT && next !== LEFT) || (before === RIGHT && next === LEFT);
  };
  const flush = (next) => {
    for (const m of marks) if ((right && neutral) || !markStays(m, next, m < last)) dropped[m] = true;
    [before, marks, last, count, inside, neutral] = [next, [], -1, 0, false, false];
  };
  const put = () => {
    if (!used) puts.push(turned);
    used = true;
  };
  const release = () => { // isolates with a number count where what follows makes them run from right to left
    after += held;
    if (held) put();
    held = 0;
  };
  const phrase = () => {
    if (after > 1 && !right) for (const p of puts) mark[p] = true;
    [turned, after, held, puts, used] = [-1, 0, 0, [], false];
  };
  for (let i = 0; i < n; i++) {
    const c = of[i];
    if (within[i]) {
      inside = touches = false;
      if (holds[i] && right) [last, count] = [i, count + 1];
      else if (holds[i] && turned >= 0) held++;
    } else if (dropped[i]) continue;
    else if (held && (runes[i] === RLM || runes[i] === ALM)) dropped[i] = true; // it would make the isolate before it run from right to left
    else if (isControl(runes[i])) {
      marks.push(i);
      inside &&= !right;
    } else if (c & LEFT) {
      flush(LEFT);
      phrase();
    } else if (c & RIGHT) {
      release();
      flush(RIGHT);
      if (turned >= 0 && arabic) put(); // else the number before it would run with it
      [turned, arabic, touches, used] = [i, false, true, false];
    } else if (c & DIGIT) {
      release();
      if (!inside || kind !== (c & (ARABIC | NEUTRAL)) || c & NEUTRAL) { // digits of two kinds are two numbers
        if (!(c & NEUTRAL) || !inside || kind) count++; // else it is the fraction of the number before
        last = i;
        kind = c & (ARABIC | NEUTRAL);
        neutral ||= kind === NEUTRAL;
        if (turned >= 0) {
          after++;
          put();
        } else if (c & ARABIC) after = 1;
      }
      inside = true;
      touches = Boolean(c & ARABIC);
      if (touches) [turned, arabic, used] = [i, true, false];
    } else if (c & UNSEEN) {
      if (turned >= 0 && touches) turned = i;
    } else [inside, touches] = [inside && joins(i), false];
  }
  flush(0);
  phrase();
  return runes.map((r, i) => (dropped[i] ? "" : String.fromCodePoint(r)) + (mark[i] ? "\u200e" : "")).join("");
}
