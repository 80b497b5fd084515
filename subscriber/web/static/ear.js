// What is written for the eye, as it is said. It agrees with the terminal's announcer.
import { scriptOf } from "./text.js";
import { pageWords, tables } from "./words.js";

// Each run of white space in a line is one space by then.
const alone = /^ ?([`~]{3,} ?[\w+#.-]*|={3,}|[|:*_#>~ -]+) ?$/gm; // marks with nothing that they are for
const row = /^ ?\|(.*)\| ?$/gm;
const heading = /^ ?#{1,6} (.*?) ?#* ?$/gm;
const quote = /^ ?(?:> ?)+/gm;
const bullet = /^ ?[-*+] (?:\[([ xX])\] )?/gm;
const image = /!\[([^\]\n]*)\]\([^)\s]*(?: "[^"\n]*")?\)/g;
const link = /\[([^\]\n]+)\]\([^)\s]*(?: "[^"\n]*")?\)/g;
const address = /<?\bhttps?:\/\/[^\s<>"]+>?/g;
const emphasis = /(^|[\s([{"'])(\*\*\*|\*\*|\*|___|__|_|~~)([^\s*_~](?:[^*_~\n]*[^\s*_~])?)\2(?=$|[\s)\]}"'.,;:!?])/g;
const code = /(`+)([^`\n]+)`+/g;

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

// ofCode is what is said in place of so many lines of code, with its language.
export function ofCode(n, language) {
  const words = pageWords(tagOf(language));
  return { heard: words("code", { n }), language: words.language };
}

// plain is safe text as a voice can say it: in one line, without the marks of Markdown, and links by their names. What it puts in is
// in the text's language, where the page knows that.
export function plain(text, language) {
  const tag = tagOf(language), english = tag === "en", ours = tables[tag];
  text = text.replace(/[ \t]+/g, " ").replace(alone, "")
    .replace(row, (_, cells) => sentence(cells.split("|").map((cell) => cell.trim()).filter(Boolean).join(", ")))
    .replace(heading, (_, title) => sentence(title)).replace(quote, "")
    .replace(bullet, (_, box) => box && ours ? (box === " " ? ours.unchecked : ours.checked) + " " : "")
    .replace(image, (_, name) => name ? (english ? "image: " : "") + name : ours ? ours.image : "").replace(link, "$1")
    .replace(address, (all) => hostOf(all) ? (english ? "link to " : "") + hostOf(all) : all);
  for (let i = 0; i < 2; i++) text = text.replace(emphasis, "$1$3"); // one inside the other
  return text.replace(code, "$2").replace(/\s+/g, " ").trim();
}
