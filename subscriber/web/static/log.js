// What is told, at a pace that a voice keeps up with: one node for each sentence, never changed once it is there.
import { plain } from "./ear.js";
import { clip, named, reading, safe } from "./text.js";

const most = 400; // nodes kept
const backlog = 60000; // of reading, before what waits is shown at once
const soonAgain = 30000; // that a question is called to mind

export class Log {
  // words(key, values) says what the page says itself; pace() is in words a minute; waits() says how many questions do.
  constructor({ words, pace, waits }) {
    Object.assign(this, { words, pace, waits });
    this.open = []; // questions
    this.el = document.getElementById("log");
    this.queue = [];
    this.free = 0; // when what was told last has been heard
    this.typed = 0;
    this.told = []; // what is being read out, with the time when that should be over
    this.cut = []; // what a key cut off
    this.removed = 0;
    this.missed = 0; // while another tab is in front
    document.addEventListener("keydown", (e) => {
      if (e.key.length !== 1 || e.ctrlKey || e.altKey || e.metaKey) return;
      this.typed = Date.now(); // and the screen reader is silent
      this.cut.push(...this.told.filter((t) => t.over > this.typed));
      this.told = [];
      this.free = Math.min(this.free, this.typed);
      this.step();
    }, true);
    document.addEventListener("visibilitychange", () => this.turned());
    document.getElementById("all").addEventListener("click", () => this.flood());
    this.turned();
  }

  // say tells a line in its turn. Line has text, and may have language, who, kind and session, the page's own words before it, and
  // heard, what is read out in its place.
  say(line) {
    const text = clip(safe(line.text), 4000, (n) => " … " + this.words("more", { n }));
    if (!text.trim()) return;
    const now = Date.now(), last = this.last;
    if (last && last.text === text && last.session === line.session && line.kind !== "output" && now - last.at < 3000) return;
    this.last = { text, session: line.session, at: now };
    this.queue.push({ ...line, text });
    if (document.hidden) this.flood();
    else if (this.queue.length > 5 * most || this.queue.reduce((sum, l) => sum + (l.heard === "" ? 0 : reading(l.heard ?? l.text, this.pace())), 0) > backlog) {
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
    const text = plain(cut(1000), line.language) || cut(1000);
    this.tell({ region: "alert", text, language: line.language, dir: line.dir, before, after: line.after });
    // A word beside the alert, never in its place: not every screen reader hears this.
    this.notify(this.words("attention"), "high");
    this.step();
  }

  // status tells what the page itself did. It is not kept.
  status(text) {
    if (!this.notify(text)) this.brief("status", { text });
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

  // reads notes that something is read out from now on.
  reads(what) {
    const now = Date.now();
    what.over = this.free = now + reading([what.before, what.text, what.after].join(" ").trim(), this.pace());
    this.told = [...this.told.filter((t) => t.over > now), what];
  }

  tell(what) {
    this.brief(what.region, what);
    this.reads(what);
  }

  brief(region, { text, language, dir, before = "", after = "" }) {
    const el = document.getElementById(region), p = document.createElement("p");
    p.append(before, " ", this.theirs(text, language, dir), " ", after);
    el.append(p);
    setTimeout(() => p.remove(), Math.max(15000, 2 * reading(text, this.pace())));
  }

  // theirs is text of somebody else's, in its own language and direction.
  theirs(text, language, dir = "auto") {
    const el = document.createElement("bdi");
    el.textContent = text;
    el.dir = dir;
    if (language !== undefined) el.lang = language;
    return el;
  }

  step() {
    clearTimeout(this.timer);
    const line = this.queue[0];
    const n = this.queue.filter((l) => l.heard !== "").length, waits = n > 3;
    const note = document.getElementById("waiting");
    note.firstElementChild.textContent = waits ? this.words("lines", { n }) : "";
    if (note.hidden === waits && !(note.contains(document.activeElement) && !waits)) note.hidden = !waits;
    this.cut = this.cut.filter((t) => !t.asks?.over);
    const drowned = document.hidden ? undefined : this.drowned();
    if (!line && !this.cut.length && !drowned) return;
    const now = Date.now(), alone = !line && !this.cut.length;
    const ready = Math.max(this.free, this.typed + 1500, alone ? (drowned.reminded ?? 0) + soonAgain : 0); // each key cuts off what is being said
    if (now < ready) {
      this.timer = setTimeout(() => this.step(), ready - now);
      return;
    }
    if (this.cut.length) { // what is urgent first
      const at = Math.max(0, this.cut.findIndex((t) => t.region === "alert"));
      this.tell(...this.cut.splice(at, 1));
    } else if (drowned && now >= (drowned.reminded ?? 0) + soonAgain) {
      drowned.drowned = drowned.led = false;
      drowned.reminded = now;
      this.tell({ region: "status", text: plain(drowned.what, drowned.lang), language: drowned.lang ?? "", dir: drowned.dir, asks: drowned, before: this.words("awaiting") + " " + this.words("question", { n: drowned.n }) });
    } else {
      this.queue.shift();
      const text = line.heard ?? plain(line.text, line.language), who = line.who && line.who !== this.who ? named(line.who) + ":" : "";
      const asks = this.open.filter((q) => text && q.session === line.session && !line.about && !q.mine && !q.lost);
      if (asks.some((q) => !q.led)) line.before = [this.words("meanwhile"), line.before].filter(Boolean).join(" "); // it is not what the question leads to
      for (const q of asks) q.led = q.drowned = true;
      const what = { region: "status", text, language: line.language, dir: line.dir, before: [who, line.before].filter(Boolean).join(" ") };
      const asShown = text === line.text.replace(/\s+/g, " ").trim(); // else the log keeps what was written
      this.add(line, !asShown);
      if (asShown) this.reads(what);
      else if (text) this.tell(what);
    }
    this.step();
  }

  // drowned is a question whose session said something else after it, and says nothing more: what was said before a question comes
  // after that, and what is heard last is to be what is answered.
  drowned() {
    return this.open.find((q) => q.drowned && !q.mine && !q.lost && !this.queue.some((line) => line.session === q.session));
  }

  // flood shows all that waits, without reading it out.
  flood() {
    for (const line of this.queue.splice(0)) this.add(line, true);
    this.step();
  }

  add(line, quiet) {
    const atEnd = this.el.scrollHeight - this.el.scrollTop - this.el.clientHeight < 40;
    const p = document.createElement("p");
    if (line.who && line.who !== this.who) { // named when it changes
      const b = document.createElement("b");
      b.textContent = named(line.who) + ": ";
      b.className = "who";
      p.append(b);
      this.who = line.who;
    }
    p.lang = this.words.language; // also when the page speaks another
    if (line.before || line.after) p.append(line.before ? line.before + " " : "", this.theirs(line.text, line.language, line.dir), line.after ? " " + line.after : "");
    else {
      p.append(line.text);
      p.dir = line.dir ?? "auto";
      if (line.language !== undefined) p.lang = line.language;
    }
    p.className = line.kind ?? "news";
    // The alert says it, or nobody shall: else a browser tells on return all that came in the background.
    if (quiet || document.hidden) p.setAttribute("aria-live", "off");
    this.el.append(p);
    if (document.hidden) {
      this.missed++;
      this.newest = (line.heard ?? plain(line.text, line.language)) || this.newest;
    }
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
    if (document.hidden) return;
    const n = this.missed;
    if (n) {
      const newest = clip(this.newest ?? "", 300, (n) => " … " + this.words("more", { n }));
      this.missed = 0;
      this.queue.unshift({ text: [this.words("missed", { n, newest }), this.waits()].filter(Boolean).join(" ") });
    }
    this.step();
  }
}
