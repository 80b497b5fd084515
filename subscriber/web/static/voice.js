// What a screen reader is given to read, and what a page can know of whether it was heard. A browser reports neither. The page knows how
// long a text takes to be heard, and what silences a voice: every key, and every move of the focus or of a reading cursor. This is the only
// code that fills the live regions alert and status; a line of the log is read out from where it stands, by show.
import { directionOf } from "./safe.js";
import { reading, readingBy } from "./text.js";
import { stillFor } from "./times.js";

export const later = 500; // until what was announced is shown
const apart = 1000; // between a line and an alert: Orca drops a polite text that it has not begun when an assertive one comes, and on a
// machine that is busy it begins late

const regions = "main, section, form, #log"; // parts of the page that have names

// An announcement has
//
//   region               alert or status, the live region that it goes into
//   before, text, after  the text, in its language and writing, and the page's own words around it
//   parts                the text in pieces that are announced one after the other, if it is long: after what was cut off only
//                        the piece that was cut is announced again. Text is then the piece that comes next
//   urgent               whether it comes before all else, and again and again until it was heard
//   atOnce               whether it need not wait until the voice is free, the first time
//   inTurn               whether it is a line, which comes after everything else
//   obsolete()           whether it need not be announced any more: of a question, once that is answered
//   prepare(it)          called right before the first time, for what it says by then
//   show()               called the first time: shows it, and reports whether a screen reader reads it out from there
//   keep()               called a moment after the first time: shows it where it is not read out. Orca 48 drops what is announced
//                        right before or after something is shown
//   heard()              called when it was announced in full, as far as a page can know
//   unheard()            called when it turns out that it was not: nobody was here
//   interrupted()        called when it was cut off, and waits to be announced again
//
// All but region and text may be missing. The other fields belong to Voice.
export class Voice {
  // words(key) are the page's own words; pace() is in words a minute; next(now) is what to announce when nothing waits here: an
  // announcement, or the time to ask again, or undefined.
  constructor({ words, pace, next }) {
    Object.assign(this, { words, pace, next });
    this.urgent = []; // what waits: first of all,
    this.prompt = []; // before lines,
    this.cut = []; // and lines that were cut off
    this.speaking = []; // what was given to the screen reader, until end
    this.unconfirmed = []; // urgent, and announced while nobody was here
    this.parts = []; // of the page that the screen reader is in, the innermost last
    this.keeping = []; // was announced, and is shown in a moment
    this.freeAt = 0; // when all of it should have been read
    this.stillAt = 0; // when the hands have been still for long enough
    this.newest = ""; // text in a live region: Orca takes the same text, right after it, for a repeat
    addEventListener("keydown", (e) => {
      this.controlAlone = e.key === "Control" && !e.repeat && !e.altKey && !e.shiftKey && !e.metaKey;
      this.interrupt();
    }, true);
    addEventListener("keyup", (e) => { // the key that silences a screen reader: the line that it cut is not wanted
      if (e.key === "Control" && this.controlAlone) this.cut = [];
    }, true);
    addEventListener("focusin", (e) => this.interrupt(this.reads(e.target, spoken(e.target))), true);
    addEventListener("focus", (e) => e.target === window && this.returned());
    addEventListener("blur", (e) => e.target === window && this.interrupt());
    document.addEventListener("visibilitychange", () => document.hidden ? this.interrupt() : this.returned());
    // A screen reader with a reading cursor keeps the keys for that from the page. It moves the selection.
    document.addEventListener("selectionchange", () => {
      const at = getSelection().focusNode;
      if (at) this.interrupt(this.reads(at, (at.nodeType === 3 ? at.data : "").slice(0, 300)));
    });
  }

  // reads is how long a screen reader takes for a text that it goes to. Before it come the names of all parts of the page that it is in, one in
  // another, and was not in before.
  reads(at, text) {
    const el = at instanceof Element ? at : at.parentElement, parts = [];
    for (let part = el?.closest(regions); part; part = part.parentElement?.closest(regions)) parts.unshift(part);
    const left = this.parts.filter((part) => !parts.includes(part)), entered = parts.filter((part) => !this.parts.includes(part));
    this.parts = parts;
    if (el?.closest("h1, h2, h3, h4, h5, h6")) text += " heading level 3";
    return reading([...left.map(() => "leaving region."), ...entered.map((part) => `region ${nameOf(part)}.`), text].join(" "), this.pace());
  }

  // announce announces something as soon as it may be, and returns it.
  announce(it) {
    it.times = 0;
    if (it.parts) this.turnTo(it, 0, it.said);
    (it.urgent ? this.urgent : this.prompt).push(it);
    this.step();
    return it;
  }

  // wait is how long it is until an announcement has been heard if nothing interrupts it, in milliseconds.
  wait(it) {
    const now = Date.now(), later = (it.parts ?? []).slice(it.at + 1).reduce((sum, text) => sum + this.takes(it, [it.before, text].join(" ")), 0);
    if (this.speaking.includes(it)) return Math.max(0, it.end - now) + later;
    return Math.max(0, this.freeAt - now, this.stillAt - now) + this.length(it) + later;
  }

  length(it) {
    return it.text.trim() ? this.takes(it, [it.before, it.text, this.after(it)].filter(Boolean).join(" ")) : 0;
  }

  // takes is how long a text of an announcement takes. A page does not learn which voice reads it. That of a screen reader is mostly
  // of the system's language: what decides when a question can be accepted has time for one that names letters of other scripts.
  takes(it, text) { return it.asks ? readingBy(text, this.pace(), navigator.language) : reading(text, this.pace()); }

  // after is what follows the text, which is behind the last piece of one in pieces.
  after(it) { return it.parts && it.at + 1 < it.parts.length ? "" : it.after; }

  // turnTo makes a piece of a text the one that comes next, which was said before or not.
  turnTo(it, at, said = false) {
    Object.assign(it, { at, text: it.parts[at], said, again: undefined });
  }

  // skip forgets the lines that are being read out or were cut off.
  skip() {
    this.cut = [];
    this.speaking = this.speaking.filter((it) => !it.inTurn);
  }

  // interrupt is for whatever silences a voice, which then reads something else for some milliseconds.
  interrupt(reads = 0) {
    const now = Date.now();
    this.confirm(now);
    const cut = this.speaking;
    this.speaking = [];
    this.freeAt = now + Math.min(reads, 20000);
    this.stillAt = now + stillFor;
    for (const it of cut.reverse()) (it.urgent ? this.urgent : it.inTurn ? this.cut : this.prompt).unshift(it);
    for (const it of cut) it.interrupted?.();
    this.step();
  }

  // returned announces what was urgent while nobody was here. A screen reader reads the title first.
  returned() {
    this.interrupt(reading(document.title, this.pace()));
    for (const it of this.unconfirmed.splice(0)) {
      if (it.obsolete?.()) continue;
      it.away = false;
      if (it.parts) this.turnTo(it, 0);
      this.urgent.push(it);
      it.unheard?.();
    }
    this.step();
  }

  // confirm takes what has had its time for heard. Of a text in pieces the next one then comes first.
  confirm(now) {
    const done = this.speaking.filter((it) => it.end <= now);
    this.speaking = this.speaking.filter((it) => it.end > now);
    for (const it of done) {
      if (it.at + 1 < it.parts?.length) {
        this.turnTo(it, it.at + 1);
        this.urgent.unshift(it);
        continue;
      }
      if (it.urgent && it.away) this.unconfirmed.push(it);
      it.heard?.();
    }
  }

  step() {
    if (this.stepping) return; // a callback has announced more: the loop finds it
    this.stepping = true;
    clearTimeout(this.timer);
    let wake;
    while ((wake = this.speakNext(Date.now())) === true);
    this.stepping = false;
    if (wake !== undefined) this.timer = setTimeout(() => this.step(), Math.max(0, wake - Date.now()));
  }

  // speakNext announces what comes next and returns true; else it returns when to look again, or undefined for when something happens.
  speakNext(now) {
    this.confirm(now);
    for (const list of ["urgent", "prompt", "cut", "unconfirmed"]) this[list] = this[list].filter((it) => !it.obsolete?.());
    const ready = Math.max(this.freeAt, this.stillAt), ends = this.speaking.map((it) => it.end);
    const soonest = Math.max(now, ...this.speaking.map((it) => it.urgent ? now : it.from + apart)), urgentNow = this.speaking.some((it) => it.urgent && !it.obsolete?.());
    const atOnce = (it) => !it.times && !urgentNow && (it.urgent || it.atOnce);
    const waiting = document.hidden ? this.urgent : [...this.urgent, ...this.prompt, ...this.cut];
    const it = waiting.find(atOnce) ?? waiting[0], from = it && atOnce(it) ? soonest : ready;
    if (it && now >= from) {
      for (const list of ["urgent", "prompt", "cut"]) this[list] = this[list].filter((other) => other !== it);
      this.speak(it);
      return true;
    }
    if (it || now < ready) return Math.min(from, ...ends);
    const next = document.hidden ? undefined : this.next(now);
    if (typeof next === "object") {
      this.speak(Object.assign(next, { times: 0, inTurn: true }));
      return true;
    }
    return next === undefined && !ends.length ? undefined : Math.min(next ?? Infinity, ...ends);
  }

  speak(it) {
    if (!it.times) it.prepare?.(it);
    const shown = !it.times && it.show?.();
    // A text that is put in while the page is hidden might be read on return, a second time.
    if (shown) it.said = true;
    else if (it.text.trim() && !document.hidden) this.insert(it);
    if (!it.times++ && it.keep) {
      this.keeping.push(it);
      if (it.text.trim()) setTimeout(() => this.keeping.includes(it) && this.keep(), later);
      else this.keep();
    }
    it.from = Date.now();
    it.away = (it.at > 0 && it.away) || document.hidden || !document.hasFocus();
    it.end = this.freeAt = Math.max(it.from, this.freeAt) + this.length(it);
    this.speaking.push(it);
  }

  // keep shows what was announced and is not shown yet, in that order.
  keep() {
    for (const it of this.keeping.splice(0)) it.keep();
  }

  insert(it) {
    if (it.atOnce && !it.said && it.text !== this.newest && this.notify(it.text)) {
      it.said = true;
      return;
    }
    const p = document.createElement("p");
    p.append(it.before ? it.before + " " : "", theirs(it.text, it.language, it.writing), this.after(it) ? " " + this.after(it) : "");
    const text = p.textContent.trim();
    if (it.said || text === this.newest) { // in other words than before
      const said = (key) => this.words(key) + " " + text;
      it.again = it.again === "again" || said("again") === this.newest ? "onceMore" : "again";
      p.prepend(this.words(it.again) + " ");
    }
    it.said = true;
    this.newest = p.textContent.trim();
    document.getElementById(it.region).append(p);
    setTimeout(() => p.remove(), Math.max(15000, 2 * this.length(it)));
  }

  // notify reports whether the browser hands a text to the screen reader itself.
  notify(text) {
    if (typeof document.ariaNotify !== "function") return false;
    try {
      document.ariaNotify(text);
    } catch {
      return false;
    }
    this.newest = text;
    return true;
  }
}

// theirs is text of somebody else's, in its own language and direction.
export function theirs(text, language, writing) {
  const el = document.createElement("bdi");
  el.textContent = text;
  el.dir = directionOf(text, writing);
  if (language !== undefined) el.lang = language;
  return el;
}

// nameOf is the name of a part of the page.
const nameOf = (part) => part.getAttribute("aria-label") ?? document.getElementById(part.getAttribute("aria-labelledby"))?.textContent ?? "content";

// spoken is roughly what a screen reader says of an element that gets the focus, behind the key.
function spoken(el) {
  if (!(el instanceof Element)) return "";
  const ids = (el.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent);
  return ["tab.", el.getAttribute("aria-label") ?? el.textContent.slice(0, 1000), ...ids, "button"].join(" ");
}
