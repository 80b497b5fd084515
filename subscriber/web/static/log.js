// What is told, at a pace that a voice keeps up with: one node for each sentence, never changed once it is there.
import { plain } from "./ear.js";
import { directionOf, safe } from "./safe.js";
import { inForeign } from "./settings.js";
import { clip, inParts, named, reading } from "./text.js";
import { behind, soonAgain } from "./times.js";
import { Transcript } from "./transcript.js";
import { later, Voice, theirs } from "./voice.js";

const most = 400; // lines kept
const mostNodes = 20; // in a part of the log
const mostParts = 60; // in a block of those
const settled = 500; // after something was shown that is not read out: Orca 48 drops what is announced sooner
const mostAlerts = 50; // that wait, besides questions

export class Log {
  // words(key, values) says what the page says itself; pace() is in words a minute; waits() says how many questions do.
  constructor({ words, pace, waits }) {
    Object.assign(this, { words, pace, waits });
    this.open = []; // questions
    this.el = document.getElementById("log");
    this.transcript = new Transcript();
    this.spare = []; // parts of the log that come after this.part, empty
    this.nextPart();
    this.queue = []; // lines that wait to be read out
    this.unread = []; // lines to be shown in a moment, all at once: a screen reader that gets too much of a page at a time gets nothing
    this.removed = 0;
    this.shownAt = 0;
    this.missed = 0; // while another tab is in front
    this.voice = new Voice({ words, pace, next: (now) => this.next(now) });
    document.addEventListener("visibilitychange", () => this.turned());
    document.addEventListener("keydown", (e) => {
      if (e.key === "Escape" && !e.isComposing && !e.ctrlKey && !e.altKey && !e.metaKey && !e.shiftKey) this.skip();
    });
    const on = (id, act) => document.getElementById(id).addEventListener("click", act);
    on("skip", () => this.skip());
    on("newest", () => this.toNewest());
    on("quiet", (e) => this.hush(e.currentTarget));
    this.turned();
  }

  // say tells a line in its turn, or before what waits where it says soon. Line has text, and may have language, writing, who, kind and
  // session, the page's own words before and after it, heard, what is read out in its place, and over(), that it need not be. A line of an
  // answer has the structure that reads it, with the white space before it, or the block of code that it is of, and marks where it is none.
  say(line) {
    const text = clip(safe(line.text, line.writing), 4000, (n) => " … " + this.words("more", { n }));
    if (!text.trim() && !line.block) return;
    const now = Date.now(), last = this.last;
    if (last && last.text === text && last.session === line.session && line.kind !== "output" && now - last.at < 3000) return;
    this.last = { text, session: line.session, at: now };
    line = { ...line, text, parts: line.structure && partsOf(line, text) };
    if (line.soon) this.voice.announce({ text, obsolete: line.over, prepare: (t) => Object.assign(t, this.telling(line)) });
    else if (document.hidden || this.quiet) this.leave([line]);
    else if (this.left?.of === sourceOf(line)) this.leaveOut([line]);
    else {
      this.queue.push(line);
      if (this.queue.length > 5 * most || this.queue.reduce((sum, l) => sum + (l.heard === "" ? 0 : reading(l.heard ?? l.text, this.pace())), 0) > behind) this.leaveOut(this.queue.splice(0));
    }
    this.step();
  }

  // urgent tells what cannot wait, again and again until it was given in full. Before is the page's own words in front of the agent's;
  // more is what else the telling has.
  urgent(line, before = "", more = {}) {
    const cut = (most) => clip(safe(line.text, line.writing), most, (n) => " … " + this.words("more", { n }));
    const whole = more.asks ? safe(line.text, line.writing) : cut(2000), text = plain(whole, line.language) || whole, parts = inParts(text, line.language);
    const waits = this.voice.urgent.filter((t) => !t.asks);
    if (!more.asks) before = (before + inForeign(line.language, this.words.language)).trim(); // else it stands there
    if (!more.asks && waits.length >= mostAlerts) {
      this.voice.urgent = this.voice.urgent.filter((t) => t !== waits[0]);
      this.leaveOut([], waits[0]);
    }
    const t = this.voice.announce({ urgent: true, region: "alert", text, parts, language: line.language, writing: line.writing, before, after: line.after, ...more });
    this.add({ ...line, text: cut(4000), kind: "urgent" }, true);
    return t;
  }

  // status tells what the page itself did, until over says that it is no longer so. It is not kept.
  status(text, over) {
    this.voice.announce({ region: "status", text, obsolete: over, atOnce: true });
  }

  // step has the voice go on, and shows how much waits for it.
  step() {
    const n = this.queue.filter((l) => l.heard !== "").length, note = document.getElementById("waiting");
    note.textContent = n > 3 ? this.words("lines", { n }) : "";
    note.hidden = n <= 3;
    this.voice.step();
  }

  // next is what the voice tells when nothing else waits, or when to ask again.
  next(now) {
    const drowned = this.drowned(), again = (drowned?.reminded ?? 0) + soonAgain;
    if (drowned && now >= again) {
      drowned.drowned = drowned.led = false;
      drowned.reminded = now;
      return { region: "status", text: clip(plain(drowned.what, drowned.lang), 300, () => "…"), language: drowned.lang ?? "", writing: drowned.writing, obsolete: () => drowned.over || drowned.mine,
        before: this.words("awaiting") + " " + drowned.title };
    }
    const [waiting] = this.queue, apart = this.shownAt + settled;
    if (waiting && now < apart && waiting.heard !== "" && !isAsShown(waiting)) return apart;
    const line = this.queue.shift();
    if (!line) return drowned && again;
    setTimeout(() => this.step()); // what waits is less
    return this.telling(line);
  }

  // telling is a line as it is told now.
  telling(line) {
    const text = toldOf(line), who = line.who && line.who !== this.who ? named(line.who) + ":" : "";
    const asks = this.open.filter((q) => text && q.session === line.session && !line.about && !q.mine && !q.lost);
    if (asks.some((q) => !q.led)) line.before = [this.words("meanwhile"), line.before].filter(Boolean).join(" "); // it is not what the question leads to
    for (const q of asks) q.led = q.drowned = true;
    const asShown = isAsShown(line); // else the log keeps what was written
    return { region: "status", text, language: line.language, writing: line.writing, before: [who, line.before].filter(Boolean).join(" "),
      get after() { return line.after; }, obsolete: line.over, [asShown ? "show" : "keep"]: () => this.add(line, !asShown) };
  }

  // drowned is a question whose session said something else after it, and says nothing more: what was said before a question comes
  // after that, and what is heard last is to be what is answered.
  drowned() {
    return this.open.find((q) => q.drowned && !q.mine && !q.lost && !this.queue.some((line) => line.session === q.session));
  }

  // leave shows lines without reading them out.
  leave(lines) {
    for (const line of lines) {
      if (document.hidden) this.away(line);
      this.noteNewest(line);
    }
    this.unread.push(...lines);
    if (this.unread.length > most) this.removed += this.unread.splice(0, this.unread.length - most).length;
    clearTimeout(this.showing);
    this.showing = setTimeout(() => this.showUnread(), this.voice.keeping.length ? later : 100);
  }

  // leaveOut shows lines without reading them out, and has it told how many they were, and which was the last: with all that come
  // until then from where they came from.
  leaveOut(lines, alert) {
    const n = lines.filter((l) => l.heard !== "").length + (alert ? 1 : 0), last = lines.findLast((l) => heardOf(l));
    this.leave(lines);
    if (!n) return;
    const begins = !this.left, left = (this.left ??= { n: 0 });
    left.n += n;
    left.last = last ?? left.last ?? alert ?? lines.at(-1);
    left.of = lines.length ? sourceOf(lines.at(-1)) : left.of;
    if (begins) this.voice.announce({ region: "status", text: "…", prepare: (t) => {
      this.left = undefined;
      Object.assign(t, { before: this.words("leftOut", { n: left.n }), text: heardOf(left.last).slice(0, 1000), language: left.last.language, writing: left.last.writing });
    } });
  }

  // failed leaves out what a session has said and nobody has heard yet: why it failed comes first, and after that the end of it.
  failed(session) {
    const of = this.queue.filter((line) => line.session === session);
    if (of.length < 4) return;
    this.queue = this.queue.filter((line) => line.session !== session);
    this.leaveOut(of);
  }

  // skip leaves what waits to be read out.
  skip() {
    this.voice.skip();
    this.leave(this.queue.splice(0));
    this.step();
  }

  toNewest() {
    const lines = this.queue.splice(0);
    this.voice.skip();
    if (lines.length) this.leaveOut(lines);
    else if (this.newest) this.voice.announce({ region: "status", before: this.words("newestIs"), text: heardOf(this.newest).slice(0, 1000), language: this.newest.language, writing: this.newest.writing });
    this.step();
  }

  // hush has only what is urgent and what the page did read out, or all of it again.
  hush(button) {
    this.quiet = !this.quiet;
    button.setAttribute("aria-pressed", String(this.quiet));
    if (this.quiet) this.skip();
  }

  showUnread() {
    clearTimeout(this.showing);
    this.voice.keep();
    const lines = this.unread.splice(0);
    if (!lines.length) return;
    if (lines.length > 10) this.transcript.part();
    const nodes = lines.flatMap((line) => this.nodes(line));
    if (lines.length <= 10) return this.append(nodes);
    this.transcript.part();
    const all = document.createElement("details"), summary = document.createElement("summary"); // folded, they are one thing to a screen reader
    all.setAttribute("aria-live", "off");
    summary.textContent = this.words("folded", { n: lines.length });
    all.append(summary, ...nodes);
    this.append([all]);
  }

  // add shows a line, and reports whether it is read out there.
  add(line, quiet) {
    this.showUnread();
    if (document.hidden) this.away(line);
    this.noteNewest(line);
    if (line.parts && !isAsShown(line)) {
      this.append(this.nodes(line));
      return false;
    }
    const p = this.node(line, quiet || document.hidden), text = p.textContent.trim();
    // Of two equal texts Orca takes one for a repeat, maybe the alert: to it this one has a mark, from the style sheet.
    if (line.kind === "urgent") this.voice.newest = "! " + text;
    else if (text === this.voice.newest) p.setAttribute("aria-live", "off"); // it would not be read out: in other words it is
    else if (!document.hidden) this.voice.newest = text;
    this.append([p], p.getAttribute("aria-live") !== "off");
    return p.getAttribute("aria-live") !== "off";
  }

  // nodes is what is shown of a line that is not read out, and has no place yet.
  nodes(line) {
    if (!line.parts) return [this.node(line, true)];
    const who = this.speaker(line), nodes = this.transcript.elementsOf(line, sourceOf(line));
    if (who.length) {
      const p = document.createElement("p");
      p.append(...who);
      nodes.unshift(p);
    }
    for (const node of nodes) node.setAttribute("aria-live", "off");
    return nodes;
  }

  // speaker names who says a line, when that changes.
  speaker(line) {
    if (!line.who || line.who === this.who) return [];
    const b = document.createElement("b");
    b.textContent = named(line.who) + ": ";
    b.className = "who";
    this.who = line.who;
    this.transcript.part();
    return [b];
  }

  node(line, quiet) {
    const p = document.createElement("p");
    p.append(...this.speaker(line));
    if (line.parts?.length) this.transcript.note(line, sourceOf(line), p);
    else this.transcript.part();
    p.lang = this.words.language; // also when the page speaks another
    if (line.before || line.after) p.append(line.before ? line.before + " " : "", theirs(line.text, line.language, line.writing), line.after ? " " + line.after : "");
    else {
      p.append(line.text);
      p.dir = directionOf(line.text, line.writing);
      if (line.language !== undefined) p.lang = line.language;
    }
    p.className = "line " + (line.kind ?? "news");
    // The alert says it, or nobody shall: else a browser tells on return all that came in the background.
    if (quiet) p.setAttribute("aria-live", "off");
    return p;
  }

  // append puts nodes at the end. Those that are not read out go into a part of their own, for Orca 48 heeds what the part says of that
  // into which something is put, and not what the node says; and it says the name of that first, so that no line stands in the log itself.
  append(nodes, live) {
    this.shownAt = Date.now();
    const atEnd = this.el.scrollHeight - this.el.scrollTop - this.el.clientHeight < 40;
    while (this.part.live !== Boolean(live) || this.part.el.childElementCount >= mostNodes) this.nextPart();
    this.part.el.append(...nodes);
    this.forget();
    if (this.removed) {
      const note = document.getElementById("removed");
      note.hidden = false;
      note.textContent = this.words("removed", { n: this.removed });
    }
    if (atEnd) this.el.scrollTop = this.el.scrollHeight;
  }

  // nextPart goes on with the next part of the log, which is read out where the one before is not. Two stand there empty: where something
  // goes into a part that comes at the same time, Orca reads the part.
  nextPart() {
    this.part = this.spare.shift();
    while (!this.part || this.spare.length < 2) {
      if (!this.block || this.block.childElementCount >= mostParts) {
        this.block = document.createElement("div");
        this.block.setAttribute("aria-live", "polite");
        this.el.append(this.block);
      }
      const el = document.createElement("div"), live = (this.lives = !this.lives);
      el.setAttribute("aria-live", live ? "polite" : "off");
      this.block.append(el);
      if (this.part) this.spare.push({ el, live });
      else this.part = { el, live };
    }
  }

  // forget removes the oldest lines, if there are too many. Where the first of what an element has goes when another comes, Orca takes all
  // of it for new, and reads it out: so what goes is never of a part that grows, nor a block when there has just come one.
  forget() {
    const all = this.el.getElementsByClassName("line"), [first] = this.el.children;
    for (const line of Array.from(all).slice(0, Math.max(0, all.length - most))) {
      if (line.contains(getSelection().focusNode)) continue; // a reading cursor is there
      let within = line;
      do {
        const { parentElement } = within;
        within.remove();
        within = parentElement;
      } while (!within.matches("#log > div > div") && !within.querySelector(".line"));
      this.removed++;
    }
    if (first !== this.block && !first.querySelector(".line") && this.block.childElementCount >= mostParts / 2) first.remove();
  }

  away(line) {
    this.missed++;
    if (line.kind !== "urgent" && heardOf(line) && (!line.passing || !this.awayNewest || this.awayNewest.passing)) this.awayNewest = line;
  }

  noteNewest(line) {
    if (line.kind !== "urgent" && heardOf(line) && (!line.passing || !this.newest)) this.newest = line;
  }

  // turned tells in one line what came while another tab was in front, where nothing is read out.
  turned() {
    if (document.hidden) {
      this.leave(this.queue.splice(0));
      return;
    }
    const n = this.missed, newest = this.awayNewest;
    this.missed = 0;
    this.awayNewest = undefined;
    const { waits } = this;
    if (newest) this.queue.unshift({ before: this.words("missed", { n }), text: clip(heardOf(newest), 300, (n) => " … " + this.words("more", { n })),
      get after() { return waits(); }, // by the time that it is told: a question may be answered first
      language: newest.language, writing: newest.writing });
    this.step();
  }
}

const toldOf = (line) => line.heard ?? plain(line.text, line.language, line.kind === "output");

// isAsShown reports whether a line is read out as it stands in the log.
const isAsShown = (line) => toldOf(line) === line.text.replace(/\s+/g, " ").trim() && !line.parts?.some((part) => !part.prose);

// partsOf is what is shown of a line of an answer.
const partsOf = ({ structure, space, block, marks }, text) => marks ? [] : block ? structure.code(text, block) : structure.read(text, space);

const heardOf = (line) => (line && toldOf(line)) || "";

// sourceOf is where a line comes from.
const sourceOf = (line) => [line.session, line.kind, line.output].join(" ");
