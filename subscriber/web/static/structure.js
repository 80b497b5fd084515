// What the lines of an answer are: headings, items of lists, rows of tables, quotations, code. It agrees with the announcer's reader in
// Go. Nothing here touches the page.
import { cellsOf, isBelowNames } from "./ear.js";

const heading = /^[ \t]{0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;
const item = /^([-*+]|\d{1,9}[.)])([ \t]+)(\S.*)$/;
const rule = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const underline = /^ {0,3}(?:=+|-+)[ \t]*$/;
export const quote = /^[ \t]*(?:>[ \t]?)+/;
const deepest = 6; // lists in one another

// Structure reads one output, piece by piece. What is shown of a piece are its parts, in order. A part has text, or the cells of a row, and
// a path: what it stands in, from the outside in. Parts with an object of their paths in common stand in the same element of the page.
// Of a part without a path, which is text as it always was, prose holds.
export class Structure {
  constructor() { this.close(); }

  // close ends all that the next line could go on with.
  close() {
    this.quote = this.table = this.last = undefined;
    this.within = 0; // in how many of the lists the quotation stands; the others stand in it
    this.lists = []; // in one another: each with its key and that of its newest item, and the columns where its marks and its text begin
  }

  // read is the parts of a piece, before which stood white space.
  read(text, space = "\n\n") {
    const parts = [];
    let gap = space.split("\n").length - 1, indent = space.slice(space.lastIndexOf("\n") + 1);
    for (const line of text.split("\n")) {
      if (line.trim()) {
        this.readLine(gap ? indent + line : line, gap, parts);
        gap = 0;
      }
      gap++;
      indent = "";
    }
    return parts;
  }

  // code is the part that is a line of a block of code, which may be in an item.
  code(text, block) {
    if (!block.path && block.quoted) this.beginQuote(block.before ?? 0, 1);
    else if (!block.path && this.quote) this.endQuote();
    this.leave(block.indent ?? 0);
    this.table = this.last = undefined;
    return [{ path: (block.path ??= [...this.path(), { tag: "pre" }, { tag: "code" }]), text }];
  }

  // readLine adds the parts of a line that comes after so many ends of lines; after none it goes on with the one before.
  readLine(line, gap, parts) {
    const put = (path, text, more) => parts.push((this.last = { path, text, ...more }));
    if (gap === 0 && this.last) return put(this.last.path, line.trim(), { lazy: this.last.lazy, prose: this.last.prose });
    const marks = quote.exec(line), goesOn = gap === 1 && this.last?.lazy && !begins(line);
    if (gap > 1) this.table = this.last = this.last?.indented && this.last;
    if (marks) {
      this.beginQuote(columns(line), gap);
      line = line.slice(marks[0].length);
    } else if (this.quote && !goesOn) this.endQuote();
    const bare = line.trim(), indent = columns(line);
    // Indented lines are code where no item of a list goes on with them, and no paragraph.
    if (!this.lists.length && indent >= 4 && bare && (this.last?.indented || (gap > 1 && !marks))) {
      const path = this.last?.indented ? this.last.path : [...this.path(), { tag: "pre" }, { tag: "code" }];
      return put(path, line.replace(/^(?: {4}| {0,3}\t)/, "").trimEnd(), { indented: true });
    }
    if (!bare) return void (this.table = this.last = undefined); // it parts two paragraphs of a quotation
    const found = item.exec(bare), cells = cellsOf(bare), title = heading.exec(line), before = this.last;
    if (!cells) this.table = undefined;
    if (found && !rule.test(line) && !(before?.prose && gap === 1 && /^(?!1[.)])\d/.test(bare))) {
      this.enter(found, indent);
      return put(this.path(), found[3], { lazy: true });
    }
    if (!goesOn) this.leave(indent);
    const path = this.path();
    this.last = undefined;
    if (cells) {
      this.table ??= { tag: "table", rows: 0 };
      if (!isBelowNames(bare)) parts.push({ path: [...path, this.table], cells });
      else if (this.table.rows === 1) parts.push({ path: [], names: this.table });
      this.table.rows++;
    } else if (title) put([...path, { tag: "h", level: title[1].length }], title[2]);
    else if (underline.test(line) && gap === 1 && before?.prose) parts.push({ path: [], title: before, level: bare[0] === "=" ? 1 : 2 });
    else if (rule.test(line)) parts.push({ path, rule: true });
    else if (before?.prose && gap === 1 && parts.at(-1) === before) Object.assign((this.last = before), { text: before.text + "\n" + bare });
    else put(path, bare, { lazy: true, apart: gap > 1, prose: !path.length });
  }

  // beginQuote goes on with the quotation, or begins another: after an empty line, or in another item.
  beginQuote(indent, gap) {
    const depth = this.lists.slice(0, this.quote && this.within).filter(({ content }) => content <= indent).length;
    if (this.quote && gap === 1 && depth === this.within) return;
    this.endQuote();
    this.leave(indent);
    [this.quote, this.within] = [{ tag: "blockquote" }, this.lists.length];
  }

  // endQuote ends the quotation, with the lists in it.
  endQuote() {
    if (this.quote) this.lists.splice(this.within);
    this.quote = this.table = this.last = undefined;
    this.within = 0;
  }

  // leave ends the items that a line is not in which is indented so far, but for those that a quotation stands in.
  leave(indent) {
    while (this.lists.length > this.within && indent < this.lists.at(-1).content) this.lists.pop();
  }

  // enter begins an item, of a list that goes on or of another.
  enter([, mark, space], indent) {
    const tag = /\d/.test(mark) ? "ol" : "ul", kind = mark.at(-1);
    let list;
    while (this.lists.length > this.within && (indent < this.lists.at(-1).content || this.lists.length === deepest)) list = this.lists.pop();
    if (list?.kind !== kind) list = { kind, key: { tag } };
    this.lists.push({ ...list, content: indent + mark.length + (space.length > 4 ? 1 : space.length), item: { tag: "li", number: parseInt(mark) } });
  }

  path() {
    const path = this.lists.flatMap(({ key, item }) => [key, item]);
    if (this.quote) path.splice(2 * this.within, 0, this.quote);
    return path;
  }
}

// columns is how far a line is indented.
export const columns = (line) => /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ").length;

const begins = (line) => heading.test(line) || rule.test(line) || item.test(line.trim()) || cellsOf(line.trim());
