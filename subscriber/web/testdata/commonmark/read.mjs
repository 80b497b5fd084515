// What texts are made of, as commonmark.js reads them: the list of texts on standard input, and on standard output for each its outline and
// the words that are in it.
import { Parser } from "commonmark";

const one = (text) => text.replace(/\s+/g, " ").trim();

// inline is the text of what stands in a line: of a link the name and, where they differ, the address.
function inline(node, address) {
  let text = "";
  for (let child = node.firstChild; child; child = child.next) {
    const within = inline(child, address);
    if (child.type === "softbreak" || child.type === "linebreak") text += " ";
    else if (child.type === "link" || (child.type === "image" && address)) text += within + (address && within !== child.destination ? ` (${child.destination})` : "");
    else if (child.type === "image") text += "image: " + within;
    else if (child.type === "html_inline") text += /^<br ?\/?>$/i.test(child.literal) ? " " : child.literal;
    else text += child.literal ?? within;
  }
  return text;
}

// outline has each block that means something, with what is in it; paragraphs are but their text.
function outline(node) {
  const within = () => {
    const all = [];
    for (let child = node.firstChild; child; child = child.next) all.push(outline(child));
    return all.filter(Boolean).join(" ");
  };
  switch (node.type) {
    case "document": return within();
    case "paragraph": return one(inline(node, true));
    case "heading": return `h(${one(inline(node, true))})`;
    case "block_quote": return `blockquote(${within()})`;
    case "item": return `li(${within()})`;
    case "list": return (node.listType === "ordered" ? "ol" + (node.listStart > 1 ? node.listStart : "") : "ul") + `(${within()})`;
    case "code_block": return `pre(code(${one(node.literal)}))`;
    case "thematic_break": return "hr()";
    default: return one(node.literal ?? "");
  }
}

// spoken has the words of the text in order, without code.
function spoken(node) {
  switch (node.type) {
    case "paragraph": case "heading": return inline(node, false) + " ";
    case "code_block": return " (code) ";
    case "thematic_break": return "";
    case "html_block": return node.literal + " ";
  }
  let text = "";
  for (let child = node.firstChild; child; child = child.next) text += spoken(child);
  return text;
}

let input = "";
for await (const chunk of process.stdin) input += chunk;
const parser = new Parser();
console.log(JSON.stringify(JSON.parse(input).map((text) => {
  const tree = parser.parse(text);
  return { outline: outline(tree), spoken: one(spoken(tree)) };
})));
