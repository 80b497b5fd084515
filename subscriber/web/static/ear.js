// What is written for the eye, as it is said. It agrees with the terminal's announcer.
import { safe } from "./safe.js";
import { scriptOf } from "./text.js";
import { pageWords, tables } from "./words.js";

// Each run of white space in a line is one space by then.
const alone = /^ ?([`~]{3,} ?[\w+#.-]*|={3,}|[|:*_#>~ -]+) ?$/gm; // marks with nothing that they are for
const row = /^ ?\|(.*)\| ?$/, belowNames = /^ ?(?:\| ?:?-+:? ?)+\|? ?$/;
const heading = /^ ?#{1,6} (.*?) ?#* ?$/gm;
const quote = /^ ?(?:> ?)+/gm;
const bullet = /^ ?[-*+] (?:\[([ xX])\] )?/gm;
const target = String.raw`\( ?(?:<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)(?: (?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))? ?\)`;
const image = new RegExp(String.raw`!\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]` + target, "g");
const link = new RegExp(String.raw`\[((?:[^\[\]\n]|\[[^\[\]\n]*\])+)\]` + target, "g");
const shownLink = new RegExp(String.raw`!?\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\](` + target + ")", "g");
// A link by reference, and the line that says where such links lead. A name of a program may have brackets behind it.
const reference = /(?<![\p{L}\p{N}\])!])(!?)\[((?:[^\[\]\n]|\[[^\[\]\n]*\])+)\] ?\[[^\[\]\n]*\]/gu;
const definition = /^ {0,3}\[(?!\^)([^\[\]\n]+)\]: ?(?:<[^<>\n]*>|[^\s<>]*[\/#@][^\s<>]*)(?: (?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))? ?$/gm;
const address = /<?\bhttps?:\/\/[^\s<>"]+>?/g;

// sentence ends a text, so that a voice pauses before what follows.
function sentence(text) {
  text = text.trim();
  return !text || /[\p{Sentence_Terminal}…;\u037E]$/u.test(text.replace(/[\p{Pe}\p{Pf}\p{Pi}"']+$/u, "")) ? text : text + ".";
}

// hostOf is where an address leads, with what stands behind it in the sentence.
function hostOf(address) {
  const bare = address.replace(/^<|>$/g, ""), [end] = /[.,;:!?)]*$/.exec(bare);
  const host = /^https?:\/\/(?:[^/?#\\]*@)?([^/?#\\:@[\]]+)(?=[:/?#]|$)/.exec(bare.slice(0, bare.length - end.length));
  return host && host[1] + end;
}

// tagOf is which of the page's languages a text is in, or undefined. One that says none is taken for English.
function tagOf(language) {
  const tag = language?.split("-")[0].toLowerCase() || "en";
  return tag === "en" || (Object.hasOwn(tables, tag) && scriptOf(language) === scriptOf(tag)) ? tag : undefined;
}

const hunk = /^@@ -\d{1,6}(?:,(\d{1,6}))? \+\d{1,6}(?:,(\d{1,6}))? @@/;
const header = /^(?:diff --git |@@ -\d|--- (?:a\/|\/dev\/null)|\+\+\+ (?:b\/|\/dev\/null)|index [0-9a-f]{7,}\.\.)/;
const fileMode = /^(?:new file|deleted file|old mode|new mode|rename (?:from|to)|similarity index|Binary files) /;
const names = { bash: "Shell", c: "C", "c++": "C++", cpp: "C++", cs: "C#", csharp: "C#", css: "CSS", go: "Go", golang: "Go", html: "HTML", java: "Java", javascript: "JavaScript",
  js: "JavaScript", json: "JSON", kotlin: "Kotlin", php: "PHP", py: "Python", python: "Python", rb: "Ruby", rs: "Rust", ruby: "Ruby", rust: "Rust", sh: "Shell", shell: "Shell",
  sql: "SQL", swift: "Swift", toml: "TOML", ts: "TypeScript", typescript: "TypeScript", xml: "XML", yaml: "YAML", yml: "YAML" };

// Block is code, or a diff, of which not all may have come. A diff may have no fence.
export class Block {
  constructor(fence, info = "") {
    Object.assign(this, { fence, info: info.trim().split(" ")[0].toLowerCase(), lines: 0, added: 0, removed: 0, before: 0, after: 0, file: "", files: 0, gone: "" });
    this.diff = !fence || this.info === "diff" || this.info === "patch";
  }

  // takes reports whether a line belongs to a diff that has no fence.
  takes(line) {
    if (header.test(line) || fileMode.test(line)) return true;
    if (/^[-+\\]/.test(line)) return this.before + this.after > 0 || (this.lines < 5 && line[1] !== " ");
    return (line === "" || /^[ \t]/.test(line)) && this.before > 0 && this.after > 0;
  }

  // note notes the file that a line names by a path of plain letters; one that is not there any more has its name on the side before.
  note(line) {
    const of = /^(?:---|\+\+\+) (?:[ab]\/)?([\p{L}\p{N}_.\/@+-]{1,200})(?:\t.*)?$/u.exec(line)?.[1];
    if (!of) [this.file, this.files] = ["", 2];
    else if (line[0] === "-") this.gone = of === "/dev/null" ? this.gone : of;
    else [this.file, this.files] = [of === "/dev/null" ? this.gone : of, this.files + 1];
  }

  count(line) {
    if (line.trim()) this.lines++;
    this.diff ||= header.test(line);
    if (!this.diff) return;
    const of = hunk.exec(line), inHunk = this.before + this.after > 0;
    if (of) [this.before, this.after] = [Number(of[1] ?? 1), Number(of[2] ?? 1)];
    else if (!inHunk && /^(---|\+\+\+) /.test(line)) this.note(line);
    else {
      const added = line.startsWith("+"), removed = line.startsWith("-");
      this.added += added;
      this.removed += removed;
      if (!added) this.before = Math.max(this.before - 1, 0);
      if (!removed) this.after = Math.max(this.after - 1, 0);
    }
  }
}

// ofCode is what is said in place of a block, with its language.
export function ofCode(block, language) {
  const words = pageWords(tagOf(language)), { added, removed } = block;
  let heard = words("code", { n: block.lines }).replace(/^[^,،]*/, (code) => Object.hasOwn(names, block.info) ? names[block.info] : code);
  if (block.diff && added + removed) {
    const file = block.files === 1 && block.file.split("/").filter(Boolean).at(-1);
    heard = (file ? file + ": " : "") + [!file && words("diff"), added && words("linesAdded", { n: added }), removed && words(added ? "alsoRemoved" : "linesRemoved", { n: removed })].filter(Boolean).join(", ") + ".";
  }
  return { heard, language: words.language };
}

// isSigned reports whether a line begins with a sign that may be that of a diff, or the mark of a list; signs, whether lines are those of a
// diff; withSign is such a line with its sign in words. They agree with the terminal's.
export const isSigned = (line) => /^[-+][ \t]*\S/.test(line) && !/^(--|\+\+|[-+][0-9.])/.test(line) && !/^(?:-\s*){3,}$/.test(line);
export const signs = (lines) => lines.some((line) => line[0] === "+") && lines.some((line) => line[0] === "-");
export const withSign = (line, language) => pageWords(tagOf(language))(line[0] === "+" ? "lineAdded" : "lineRemoved") + " " + line.slice(1).trim();

function withSigns(text, language) {
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    let end = i;
    while (end < lines.length && isSigned(lines[end])) end++;
    if (end > i && !lines[end]?.startsWith("* ") && signs(lines.slice(i, end))) for (let j = i; j < end; j++) lines[j] = withSign(lines[j], language);
    i = Math.max(i, end - 1);
  }
  return lines.join("\n");
}

// cellsOf is the cells of a row of a table, or nothing for another line. A bar behind a backslash is one that the cell has.
export const cellsOf = (line) => row.exec(line)?.[1].replaceAll("\0", "").replaceAll("\\|", "\0").split("|").map((cell) => cell.replaceAll("\0", "|").trim());
// isBelowNames reports whether a row stands below the names of the columns.
export const isBelowNames = (line) => belowNames.test(line.replace(/[ \t]+/g, " "));

// withNames is text with each row of a table as a sentence: what it is about, then, of three columns or more, each cell behind the name of its
// column.
function withNames(text) {
  if (!text.includes("|")) return text;
  let names, last;
  return text.split("\n").map((line) => {
    const cells = !isBelowNames(line) && cellsOf(line);
    if (!cells) {
      names = isBelowNames(line) ? (last ?? undefined) : undefined;
      last = undefined;
      return line;
    }
    last = names ? undefined : cells;
    return sentence(cells.map((cell, i) => cell && i > 0 && names?.length > 2 && names[i] ? names[i] + ": " + cell : cell).filter(Boolean).join(", "));
  }).join("\n");
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const isWord = (c) => /[\p{L}\p{Nd}]/u.test(c ?? "") && !unspaced.test(c), isSign = (c) => /[\p{P}\p{S}]/u.test(c ?? ""), isSpace = (c) => c === undefined || /\s/.test(c);

// runOf is a run of marks of emphasis, and what it may be by what stands around it.
function runOf(chars, at, n) {
  const c = chars[at], before = chars[at - 1], after = chars[at + n], run = { at, n, all: n, c, begins: at === 0 || before === "\n", opens: false, ends: false };
  if ((c === "~" && n !== 2) || (isWord(before) && isWord(after))) return run;
  const left = !isSpace(after) && (!isSign(after) || isSpace(before) || isSign(before)), right = !isSpace(before) && (!isSign(before) || isSpace(after) || isSign(after));
  if (c === "_") [run.opens, run.ends] = [left && (!right || isSign(before)), right && (!left || isSign(after))];
  else if (unspaced.test(before ?? "") || unspaced.test(after ?? "")) [run.opens, run.ends] = [!isSpace(after), !isSpace(before)];
  else [run.opens, run.ends] = [left, right];
  return run;
}

// What stands for a character, of which there are more in HTML: the rest is said as it is written.
const named = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", copy: "©", reg: "®", trade: "™", deg: "°", hellip: "…", mdash: "—", ndash: "–", lsquo: "‘",
  rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«", raquo: "»", times: "×", larr: "←", rarr: "→", bull: "•", middot: "·", euro: "€", sect: "§", para: "¶" };

// decoded is text with the characters that such names and numbers stand for, and a space where a line is broken in HTML.
const decoded = (text) => text.replace(/<br ?\/?>/gi, " ").replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,6}));/g, (all, tens, hex, name) => {
  if (name) return Object.hasOwn(named, name) ? named[name] : all;
  const code = tens ? parseInt(tens) : parseInt(hex, 16);
  return code > 0 && code < 0x110000 && (code & 0x1ff800) !== 0xd800 ? safe(String.fromCodePoint(code)) : all;
});

// withoutMarks is text without the marks of emphasis and code, as the terminal's announcer finds them; of an answer also without those that
// another piece of it begins or ends, and without the backslash before what is none.
const withoutMarks = (text, answer) => inPieces(text, answer).map((piece) => (answer && !piece.tags.includes("code") ? decoded(piece.text) : piece.text)).join("");

// shownOf is a line of an answer as it is shown: pieces with the tags that they stand in, from the outside in. A link has its address behind
// its name.
export function shownOf(text) {
  const addresses = [], keep = (name, target) => {
    const address = target.trim().replace(/^<|>$/g, "").replace(/^(\S*)\s.*$/s, "$1");
    return name === address || !address ? name : `${name}\0${addresses.push(address) - 1}\0`;
  };
  text = text.replaceAll("\0", "").replace(shownLink, (_, name, target) => keep(name, target.slice(1, -1))).replace(/<(https?:\/\/[^\s<>]+)>/g, "$1").replace(reference, "$2");
  return inPieces(text, true).map(({ text, tags }) => ({ tags, text: (tags.includes("code") ? text : decoded(text)).replace(/\0(\d+)\0/g, (_, i) => ` (${addresses[i]})`) }));
}

// inPieces is text in pieces with the tags of what their marks mean, without those marks.
function inPieces(text, answer) {
  const chars = [...text], dropped = new Set(), within = [], odd = (a, b) => (a.ends || b.opens) && (a.all + b.all) % 3 === 0 && (a.all % 3 !== 0 || b.all % 3 !== 0);
  let runs = [];
  const match = () => {
    for (const [e, end] of runs.entries()) while (end.ends && end.n > 0) {
      let o = e - 1;
      while (o >= 0 && !(runs[o].c === end.c && runs[o].opens && runs[o].n > 0 && !odd(runs[o], end))) o--;
      if (o < 0) break;
      const begin = runs[o], n = begin.n > 1 && end.n > 1 ? 2 : 1;
      begin.n -= n;
      for (let k = 0; k < n; k++) dropped.add(begin.at + begin.n + k).add(end.at + k);
      within.push([begin.at + begin.n, end.at, end.c === "~" ? "del" : n === 2 ? "strong" : "em"]);
      [end.at, end.n] = [end.at + n, end.n - n];
      for (const between of runs.slice(o + 1, e)) between.opens = false;
    }
    if (answer) for (const r of runs) if (r.n === 2 && r.all === 2 && ((r.begins && r.opens) || (r.ends && !r.opens))) dropped.add(r.at).add(r.at + 1);
    runs = [];
  };
  for (let i = 0; i < chars.length;) {
    const c = chars[i], lengthAt = (j) => { let n = 0; while (chars[j + n] === chars[j]) n++; return n; }, n = lengthAt(i);
    if (c === "\\" && "*_`#[]~|>\n".includes(chars[i + 1] ?? " ")) {
      if (answer) dropped.add(i);
      i += 2;
    } else if (c === "`") {
      let j = i + n, m;
      for (; j < chars.length && !(chars[j] === "\n" && chars[j + 1] === "\n"); j += m) if ((m = chars[j] === "`" ? lengthAt(j) : 1) === n && chars[j] === "`") break;
      const ends = chars[j] === "`";
      if (ends) for (let k = 0; k < n; k++) dropped.add(i + k).add(j + k);
      if (ends) within.push([i, j, "code"]);
      i = ends ? j + n : i + n;
    } else if ("*_~".includes(c)) {
      const run = runOf(chars, i, n);
      if (run.opens || run.ends) runs.push(run);
      i += n;
    } else {
      if (c === "\n" && n > 1) match();
      i++;
    }
  }
  match();
  within.sort(([a, z], [b, y]) => a - b || y - z);
  const pieces = [];
  for (const [i, c] of chars.entries()) {
    if (dropped.has(i)) continue;
    const tags = within.filter(([from, to]) => i > from && i < to).map(([, , tag]) => tag);
    if (pieces.length && pieces.at(-1).tags.join() === tags.join()) pieces.at(-1).text += c;
    else pieces.push({ tags, text: c });
  }
  return pieces;
}

// plain is safe text as a voice can say it: in one line, without the marks of Markdown, and links by their names. What it puts in is
// in the text's language, where the page knows that.
export function plain(text, language, answer = false) {
  const tag = tagOf(language), english = tag === "en", ours = tables[tag];
  text = withNames(withSigns(text, language).replace(/[ \t]+/g, " ")).replace(alone, "")
    .replace(quote, "").replace(heading, (_, title) => sentence(title))
    .replace(bullet, (_, box) => box && ours ? (box === " " ? ours.unchecked : ours.checked) + " " : "")
    .replace(definition, answer ? "" : "$&").replace(image, (_, name) => name ? (english ? "image: " : "") + name : ours ? ours.image : "").replace(link, "$1").replace(reference, (all, mark, name) => (!answer ? all : mark && english ? "image: " + name : name))
    .replace(address, (all) => hostOf(all) ? (english ? "link to " : "") + hostOf(all) : all);
  return withoutMarks(text, answer).replace(/\s+/g, " ").trim();
}
