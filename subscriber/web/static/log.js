// What is told, at a pace that a voice keeps up with: one node for each sentence, never changed once it is there.
import { clip, reading, safe } from "./text.js";

const most = 400; // nodes kept
const backlog = 60000; // of reading, before what waits is shown at once

export class Log {
  // words(key, values) says what the page says itself; pace() is in words a minute; waits() says how many questions do.
  constructor({ words, pace, waits }) {
    Object.assign(this, { words, pace, waits });
    this.el = document.getElementById("log");
    this.queue = [];
    this.free = 0; // when what was told last has been heard
    this.typed = 0;
    this.removed = 0;
    this.missed = [];
    document.addEventListener("keydown", (e) => { if (e.key.length === 1) this.typed = Date.now(); }, true);
    document.addEventListener("visibilitychange", () => this.turned());
    document.getElementById("all").addEventListener("click", () => this.flood());
    this.turned();
  }

  // say tells a line in its turn. Line has text, and may have language, who, kind and session.
  say(line) {
    const text = clip(safe(line.text), 4000, (n) => " … " + this.words("more", { n }));
    if (!text.trim()) return;
    const now = Date.now(), last = this.last;
    if (last && last.text === text && last.session === line.session && line.kind !== "output" && now - last.at < 3000) return;
    this.last = { text, session: line.session, at: now };
    this.queue.push({ ...line, text });
    if (document.hidden) this.flood();
    else if (this.queue.reduce((sum, l) => sum + reading(l.text, this.pace()), 0) > backlog) {
      const n = this.queue.length;
      this.flood();
      this.status(this.words("flood", { n }));
    }
    this.step();
  }

  // urgent tells what cannot wait, to whoever is there, and nothing else until that was heard. Before and after are the
  // page's own words around the agent's.
  urgent(line, before = "") {
    const cut = (most) => clip(safe(line.text), most, (n) => " … " + this.words("more", { n }));
    this.add({ ...line, text: cut(4000), kind: "urgent" }, true);
    const text = cut(1000);
    this.brief("alert", text, line.language, before, line.after);
    // A word beside the alert, never in its place: not every screen reader hears this.
    this.notify(this.words("attention"), "high");
    this.free = Date.now() + reading(text, this.pace());
    this.step();
  }

  // status tells what the page itself did. It is not kept.
  status(text) {
    if (!this.notify(text)) this.brief("status", text);
  }

  notify(text, priority = "normal") {
    if (typeof document.ariaNotify !== "function") return false;
    try {
      document.ariaNotify(text, { priority });
      return true;
    } catch {
      return false;
    }
  }

  brief(region, text, language, before = "", after = "") {
    const el = document.getElementById(region), p = document.createElement("p");
    p.append(before, " ", this.theirs(text, language), " ", after);
    el.append(p);
    setTimeout(() => p.remove(), Math.max(15000, 2 * reading(text, this.pace())));
  }

  // theirs is text of somebody else's, in its own language and direction.
  theirs(text, language) {
    const el = document.createElement("bdi");
    el.textContent = text;
    if (language) el.lang = language;
    return el;
  }

  step() {
    clearTimeout(this.timer);
    const line = this.queue[0];
    const waits = this.queue.length > 3;
    const note = document.getElementById("waiting");
    note.firstElementChild.textContent = waits ? this.words("lines", { n: this.queue.length }) : "";
    if (note.hidden === waits && !(note.contains(document.activeElement) && !waits)) note.hidden = !waits;
    if (!line) return;
    const now = Date.now();
    const ready = Math.max(this.free, this.typed + 1500); // each key cuts off what is being said
    if (now < ready) {
      this.timer = setTimeout(() => this.step(), ready - now);
      return;
    }
    this.queue.shift();
    this.add(line);
    this.free = Date.now() + reading(line.text, this.pace());
    this.step();
  }

  // flood shows all that waits, without reading it out.
  flood() {
    const live = this.el.getAttribute("aria-live");
    this.el.setAttribute("aria-live", "off");
    for (const line of this.queue.splice(0)) this.add(line);
    if (!document.hidden) setTimeout(() => live ? this.el.setAttribute("aria-live", live) : this.el.removeAttribute("aria-live"), 200);
    this.step();
  }

  add(line, quiet) {
    const atEnd = this.el.scrollHeight - this.el.scrollTop - this.el.clientHeight < 40;
    const p = document.createElement("p");
    if (line.who && line.who !== this.who) { // named when it changes
      const b = document.createElement("b");
      b.textContent = safe(line.who) + ": ";
      b.className = "who";
      p.append(b);
      this.who = line.who;
    }
    if (line.after) p.append(this.theirs(line.text, line.language), " ", line.after);
    else {
      p.append(line.text);
      p.dir = "auto";
      if (line.language) p.lang = line.language;
    }
    p.className = line.kind ?? "news";
    if (quiet) p.setAttribute("aria-live", "off"); // the alert says it
    this.el.append(p);
    if (document.hidden) this.missed.push(line.text);
    while (this.el.childElementCount > most) {
      this.el.firstElementChild.remove();
      this.removed++;
    }
    if (this.removed) {
      const note = document.getElementById("removed");
      note.hidden = false;
      note.textContent = this.words("removed", { n: this.removed });
    }
    if (atEnd) this.el.scrollTop = this.el.scrollHeight;
  }

  // turned tells in one line what came while another tab was in front, where nothing is read out.
  turned() {
    if (document.hidden) {
      this.el.setAttribute("aria-live", "off");
      return;
    }
    this.el.removeAttribute("aria-live");
    const n = this.missed.length;
    if (n) {
      const newest = clip(this.missed.at(-1), 300, (n) => " … " + this.words("more", { n }));
      this.missed = [];
      this.queue.unshift({ text: [this.words("missed", { n, newest }), this.waits()].filter(Boolean).join(" ") });
    }
    this.step();
  }
}
