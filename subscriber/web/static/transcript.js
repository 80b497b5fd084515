// The log's elements for what an answer is made of: real headings, lists, tables, quotations and code, so that the keys of a screen reader
// walk them. Text of an agent's becomes text, and never anything else.
import { shownOf } from "./ear.js";
import { directionOf } from "./safe.js";

const sections = 2; // the level of the page's own heading above the log

export class Transcript {
  constructor() {
    this.level = sections; // of the newest heading: none is left out below it
    this.part();
  }

  // part has what follows begin anew: it stands apart from what was before it.
  part() {
    this.source = undefined;
    this.elements = new Map(); // by what a part of a path is, and what is shown of a part
  }

  // elementsOf returns new elements for the parts of a line that have no place in one that is there, and puts the others there.
  elementsOf(line, source) {
    if (source !== this.source) this.part();
    this.source = source;
    const found = [];
    for (const part of line.parts) {
      if (part.names) this.nameColumns(this.elements.get(part.names));
      else if (part.title) this.makeTitle(this.elements.get(part.title), part.level);
      else this.put(part, line, found);
    }
    return found;
  }

  // note has a line of nothing but text stand in an element that is read out.
  note(line, source, el) {
    if (source !== this.source) this.part();
    this.source = source;
    for (const part of line.parts) this.elements.set(part, el);
  }

  put(part, line, found) {
    let within;
    const append = (el) => (within ? within.append(el) : found.push(el));
    for (const key of part.path) {
      let el = this.elements.get(key);
      if (!el) {
        el = document.createElement(key.tag === "h" ? "h" + this.deepen(key.level) : key.tag);
        if (key.tag === "li" && within.tagName === "OL" && !within.firstChild) within.start = key.number;
        if (/^(ul|ol|table|blockquote)$/.test(key.tag)) el.dir = directionOf(part.text ?? part.cells.join(" "), line.writing);
        this.elements.set(key, el);
        append(el);
      }
      within = el;
    }
    const code = within?.tagName === "CODE", inLine = within && /^(LI|H\d|CODE)$/.test(within.tagName) && !(part.apart && within.firstChild);
    const el = document.createElement(part.rule ? "hr" : part.cells ? "tr" : inLine ? "span" : "p");
    el.className = "line";
    if (part.cells) el.append(...part.cells.map((cell) => this.say(document.createElement("td"), cell, line)));
    else if (!part.rule) this.say(el, code ? part.text + "\n" : part.text, line, code);
    if (inLine && !code && within.firstChild) within.append(" ");
    append(el);
    this.elements.set(part, el);
  }

  // say has an element show a text in its language and direction. Of an answer's text, but for code, marks become what they mean.
  say(el, text, line, code) {
    if (code) el.textContent = text;
    else for (const piece of shownOf(text)) {
      let within = el;
      for (const tag of piece.tags) within = within.appendChild(document.createElement(tag));
      within.append(piece.text);
    }
    el.dir = directionOf(text, line.writing);
    if (line.language !== undefined) el.lang = line.language;
    return el;
  }

  // nameColumns makes the cells of the first row of a table those that name the columns. An empty one names nothing.
  nameColumns(table) {
    for (const cell of table?.rows[0]?.cells ?? []) {
      if (!cell.textContent || cell.contains(getSelection().focusNode)) continue; // a reading cursor is there
      const th = document.createElement("th");
      th.scope = "col";
      th.append(...cell.childNodes);
      [th.dir, th.lang] = [cell.dir, cell.lang];
      cell.replaceWith(th);
    }
  }

  // makeTitle makes the line above an underline a heading where it stands.
  makeTitle(el, level) {
    el?.setAttribute("role", "heading");
    el?.setAttribute("aria-level", this.deepen(level));
  }

  // deepen returns the level on the page of a heading of an answer, at most one deeper than the heading before it.
  deepen(level) { return (this.level = Math.min(sections + level, this.level + 1, 6)); }
}
