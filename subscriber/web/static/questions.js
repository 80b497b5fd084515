// Questions, in a line of their own. Nothing here takes the focus, listens for letters or answers by itself; an answer
// is a button that says what it does, and works only when the question was told to its end without a key or a move of the focus
// and the hands were still. A no need not wait for the end of it.
import { plain } from "./ear.js";
import { directionOf, safe } from "./safe.js";
import { inForeign } from "./settings.js";
import { clip, named, numberOf, setText, writing } from "./text.js";
import { bare } from "./states.js";
import { clocksDiffer, confirmWithin, repeatAfter, sentFirst, still } from "./times.js";

const pause = 1500; // until a button works again where something moved, or a person came back
const most = 64; // questions that wait: an agent that asks more than anybody answers gets its defaults
const longest = 16384; // of a text of a question, in the protocol
const longestChoices = 65536;

// isTooLong reports whether a question is longer than the protocol allows. Nothing of a question is shortened: what was left out may be
// what matters.
function isTooLong(event) {
  const labels = Array.isArray(event.choices) ? event.choices.map((c) => String(c?.label ?? c?.value)) : [];
  return [event.action, event.question, event.consequence, event.context, ...labels].some((text) => text?.length > longest) || labels.join("; ").length > longestChoices;
}

// shortly is what a question is about, where it was told in full before.
const shortly = (q) => clip(plain(q.what, q.lang) || q.what, 200, () => "…");

export class Questions {
  // changed is told how many are open; time() is what the settings say of it.
  constructor({ words, pace, log, link, changed, time }) {
    Object.assign(this, { words, pace, log, link, changed, time });
    this.all = [];
    this.count = 0;
    this.calls = new Map(); // that were asked about, and have yet to be made
    this.key = 0;
    addEventListener("keydown", () => { this.key = Date.now(); }, true);
  }

  open() { return this.all.filter((q) => !q.over); }

  // ask shows a question, and reports whether it is a new one. An agent that announced a call right before it asks about that, and does not
  // say so, never says that it waits either: the question is within the call.
  ask(event, before) {
    if (isTooLong(event)) {
      this.link.say("leftOut", "question");
      return;
    }
    const known = this.all.find((q) => q.token === event.reply_token);
    if (known) { // told again by a new subscription: it is still open; or in a language that was asked for meanwhile
      const translated = !known.over && event.localization_hints?.primary_language !== known.event.localization_hints?.primary_language;
      if (translated) {
        known.event = event;
        this.redo(known);
        this.tell(known);
      }
      if (!known.lost) return;
      known.lost = false;
      if (known.mine) this.log.status(this.words("notSent"), () => known.over || known.mine);
      known.mine = undefined;
      if (!known.heard) this.tell(known); // or it would wait for ever
      this.arm(known, 0);
      return;
    }
    const open = this.open().length;
    if (open >= most) return;
    // Nothing moves under a finger, unless what is settled would fill the page, and nobody is thrown out of what they read.
    if (!open || this.all.length >= 2 * most) {
      const stays = (q) => !q.over || q.el.contains(document.activeElement) || q.el.contains(getSelection().focusNode); // a reading cursor
      for (const q of this.all) if (!stays(q)) q.el.remove();
      this.all = this.all.filter((q) => q.el.isConnected);
    }
    const q = { token: event.reply_token, event, session: event.session_id, n: ++this.count, parts: [] };
    q.within = !event.extra_context && before && event.action?.includes(before.tool) ? before.tool_call_id : undefined;
    const call = event.extra_context?.tool_call_id;
    if (call) this.calls.set(q.session + " " + call, q);
    if (this.calls.size > most) this.calls.delete(this.calls.keys().next().value); // what was refused is never called
    const time = event.timeout_seconds > 0 ? event.timeout_seconds * 1000 : NaN;
    q.at = Date.parse(event.timestamp) || this.link.now();
    if (q.at + time < this.link.now()) q.at = this.link.now(); // the agent would not ask: its clock is another
    q.due = q.at + time;
    this.show(q);
    this.all.push(q);
    document.getElementById("queue").append(q.el);
    this.tell(q);
    this.watch(q);
    this.update();
    return true;
  }

  // tell reads a question out, again and again until that was heard to the end, or somebody has answered.
  tell(q) {
    const turn = q.turn = {}; // another, once the question is announced in other words
    q.heard = false;
    q.announcement = this.log.urgent({ text: q.said, after: q.facts, who: this.who(q.event), language: q.lang ?? "", writing: q.writing, session: q.session }, q.title, {
      asks: q,
      obsolete: () => q.over || q.mine || q.lost || q.turn !== turn,
      heard: () => {
        q.heard = true;
        if (!q.armed) this.arm(q, 0, q.refusable);
        this.repeat(q, turn, repeatAfter);
      },
      interrupted: () => this.able(q),
      unheard: () => {
        q.heard = false;
        this.arm(q, 0);
      },
    });
    this.arm(q, still);
  }

  // repeat tells a question once more that nobody has answered: a key that a screen reader keeps from the page may have silenced it.
  repeat(q, turn, after) {
    const { voice } = this.log, { stillAt } = voice;
    clearTimeout(q.repeating);
    q.repeating = setTimeout(() => {
      if (q.over || q.mine || q.lost || q.turn !== turn) return;
      if (q.due - this.link.now() < 2 * voice.wait(q.announcement)) return; // it would be over by then
      if (document.hidden || voice.stillAt !== stillAt) return this.repeat(q, turn, after);
      const { text, parts, language, writing, before, after: facts, asks, obsolete } = q.announcement;
      let cut = false; // by somebody who is there
      voice.announce({ urgent: true, region: "alert", said: true, text, parts, language, writing, before, after: facts, asks,
        obsolete: () => cut || obsolete(), interrupted: () => { cut = true; this.repeat(q, turn, after); }, heard: () => after === repeatAfter && this.repeat(q, turn, 2 * after) });
    }, after);
  }

  // redo shows a question anew, in the words of now: what was typed stays, and the focus where it was.
  redo(q) {
    const old = q.el, at = q.parts.indexOf(document.activeElement), inside = old.contains(document.activeElement);
    const typed = q.parts.find((el) => el.tagName === "INPUT")?.value;
    q.parts = [];
    this.show(q);
    old.replaceWith(q.el);
    const input = q.parts.find((el) => el.tagName === "INPUT");
    if (input && typed) input.value = typed;
    if (inside) (q.parts[at] ?? q.head).focus();
    if (q.lost) this.able(q, this.words("checking"));
    else if (q.mine) this.able(q, this.words(q.unheeded ? "unheeded" : "sent"));
    else this.arm(q, pause);
  }

  // reword shows what is open in the language that the page speaks now.
  reword() {
    for (const q of this.open()) this.redo(q);
  }

  who(event) { return event.producer?.agent_name || event.producer?.agent_id || "?"; }

  part(q, tag, name, text, ours) {
    const el = document.createElement(tag);
    if (name) el.className = name;
    if (ours === undefined) {
      el.lang = q.lang ?? "";
      el.dir = directionOf(text, q.writing);
    }
    el.textContent = text;
    return el;
  }

  show(q) {
    const e = q.event, w = this.words, confirm = e.type.endsWith(".confirmation");
    q.lang = e.localization_hints?.primary_language;
    q.title = w("question", { n: q.n, language: inForeign(q.lang, w.language) });
    q.writing = writing(e);
    q.what = safe(confirm ? e.action : e.question, q.writing) || safe(e.summary_normal, q.writing).slice(0, longest);
    const meaning = safe(confirm ? e.consequence : e.context, q.writing);
    const irreversible = e.irreversible === true || e.reversibility === "irreversible";
    const facts = [];
    if (confirm) {
      facts.push(w("risk." + (["low", "medium", "high"].includes(e.risk_level) ? e.risk_level : "unknown")));
      facts.push(w(irreversible ? "irreversible" : e.reversibility === "reversible" || e.irreversible === false ? "reversible" :
        e.reversibility === "reversible_with_effort" ? "effort" : "undoUnknown"));
    }
    q.said = [q.what, meaning].filter(Boolean).join(" ");
    q.facts = facts.join(" ");
    const id = "q" + q.n;
    q.el = document.createElement("section");
    q.el.className = "question";
    q.el.lang = w.language; // also when the page speaks another
    q.el.id = id;
    q.el.setAttribute("aria-label", q.title + " " + shortly(q));
    q.head = this.part(q, "h3", "", q.title + " ", true);
    q.head.tabIndex = -1;
    q.head.append(this.part(q, "bdi", "", q.what));
    // The verdict comes first, and nothing of ours behind the name: what a name says stays a name.
    const proof = this.link.proof, like = proof?.looks_like;
    const verdict = this.part(q, "p", "verdict", w(proof?.verified ? "verified" : proof?.first ? "firstMet" : "unverified"), true);
    if (proof?.misleads) verdict.append(" ", this.part(q, "strong", "", w("misleads"), true));
    if (like) verdict.append(" ", this.part(q, "strong", "", w("looksLike", { text: named(like) }), true));
    const by = this.part(q, "p", "quiet", w("by") + " ", true);
    by.append("“", Object.assign(this.part(q, "bdi", "name", named(this.who(e)), true), { dir: directionOf(named(this.who(e))) }), "”");
    q.clock = this.part(q, "p", "time", "", true);
    q.hint = this.part(q, "p", "quiet hint", "", true);
    q.waits = false;
    q.hint.id = id + "-hint";
    q.result = this.part(q, "p", "outcome", "", true);
    q.form = this.part(q, "div", "choices", "", true);
    q.meaning = this.part(q, "p", "consequence", meaning);
    q.meaning.id = id + "-meaning";
    q.risk = this.part(q, "p", "risk", q.facts, true);
    q.risk.id = id + "-risk";
    q.el.append(q.head, verdict, by, q.meaning, q.risk, q.clock, q.form, q.hint, q.result);
    if (confirm) this.confirmation(q);
    else this.clarification(q);
    if (this.link.honored.timing && e.timeout_seconds < 86400) {
      const more = this.button(q, w("moreTime"), () => this.more(q));
      more.classList.add("more");
      more.removeAttribute("aria-describedby"); // it works at once
    }
    this.setClock(q);
  }

  button(q, label, act, text) {
    const b = this.part(q, "button", "", label, true);
    b.type = "button";
    if (text) b.append(" ", this.part(q, "bdi", "", text));
    b.setAttribute("aria-describedby", q.hint.id);
    b.addEventListener("click", (e) => {
      e.preventDefault();
      if (q.over) return;
      const works = b.classList.contains("more") ? !q.asking : b.classList.contains("no") ? q.refusable : q.armed;
      if (works) act();
      else this.log.status(q.waits ? this.hint(q) : q.hint.textContent, () => q.over || q.armed);
    });
    q.form.append(b);
    q.parts.push(b);
    return b;
  }

  confirmation(q) {
    const w = this.words, send = (decision, key) => this.send(q, { type: "confirmation.reply", reply_token: q.token, decision }, w(key));
    const allowed = Array.isArray(q.event.allowed_replies) && q.event.allowed_replies.length ? q.event.allowed_replies : ["accept", "reject"];
    if (allowed.includes("reject")) {
      const reject = this.button(q, w("reject"), () => send("reject", "saidReject"));
      reject.classList.add("no");
      reject.removeAttribute("aria-describedby"); // it need not wait for what the others do
    }
    if (!allowed.includes("accept")) return;
    const accept = this.button(q, w("accept"), () => send("accept", "saidAccept"), q.what);
    accept.classList.add("yes");
    accept.setAttribute("aria-describedby", [q.meaning, q.risk, q.hint].map((el) => el.id).join(" "));
    accept.setAttribute("aria-label", w("accept") + " " + shortly(q));
  }

  clarification(q) {
    const w = this.words, e = q.event, kinds = e.accepted_response_kinds ?? [];
    const send = (response, said) => this.send(q, { type: "clarification.reply", reply_token: q.token, response }, w("saidAnswer", { text: said }));
    const choices = Array.isArray(e.choices) ? e.choices : [];
    if (choices.length) q.said += " " + choices.map((c) => safe(c.label ?? c.value, q.writing)).join("; ");
    for (const c of choices) this.button(q, w("choose"), () => send(c.value, safe(c.label, q.writing)), safe(c.label ?? c.value, q.writing));
    if (kinds.includes("yes_no")) {
      this.button(q, w("yes"), () => send(true, w("yes")));
      this.button(q, w("no"), () => send(false, w("no")));
    }
    const numeric = kinds.includes("numeric");
    if (!numeric && !kinds.includes("freetext") && (choices.length || kinds.includes("yes_no"))) return;
    const label = this.part(q, "label", "", w(numeric ? "number" : "answer"), true), input = document.createElement("input");
    input.id = q.el.id + "-input";
    label.htmlFor = input.id;
    input.type = "text";
    input.dir = "auto";
    if (numeric) input.inputMode = "decimal";
    input.setAttribute("aria-describedby", q.hint.id);
    q.form.before(label, input);
    q.parts.push(input);
    const line = (text) => String(text ?? "").trim().replace(/\s+/g, " ").toLowerCase();
    this.button(q, w("send"), () => {
      const said = input.value.trim(), number = numberOf(said, w.language, q.lang), choice = choices.find((c) => said && line(c.label) === line(said));
      if (choice) return send(choice.value, said); // typed by its name
      if (!said || (numeric && !Number.isFinite(number))) return this.log.status(w(said ? "noNumber" : "empty"));
      send(numeric ? number : said, said);
    }).classList.add("yes");
  }

  // arm makes the buttons work after ms, once the hands were still: a no, unless that is refusable already, and when the question was heard, the
  // others.
  arm(q, ms, refusable = false) {
    clearTimeout(q.arming);
    q.armed = false;
    q.refusable = refusable;
    this.able(q);
    const look = () => {
      const left = this.key + still - Date.now();
      if (left > 0) {
        q.arming = setTimeout(look, left);
        return;
      }
      q.refusable = true;
      q.armed = q.heard;
      this.able(q);
      if (q.armed && q.el.contains(document.activeElement)) this.log.status(this.words("ready"), () => q.over || q.mine || !q.armed);
    };
    q.arming = setTimeout(look, ms);
  }

  // able shows which buttons work, and why not; what is said is said in place of that. Where the focus is on one it is not shown again by how
  // many seconds that has changed: Orca reads out all that describes a button when some of it changes.
  able(q, text) {
    for (const el of q.parts) {
      if (el.tagName !== "BUTTON" || el.classList.contains("more")) continue;
      el.setAttribute("aria-disabled", String(!(el.classList.contains("no") ? q.refusable : q.armed)));
    }
    const waits = text === undefined && !q.armed;
    if (!waits || !q.waits || !q.el.contains(document.activeElement)) setText(q.hint, text ?? this.hint(q));
    q.waits = waits;
  }

  // hint is when the buttons work.
  hint(q) {
    if (q.armed) return this.words("ready");
    const busy = q.heard || !q.announcement ? pause : this.log.voice?.wait(q.announcement);
    return this.words("wait", { n: Math.ceil(busy / 1000) });
  }

  async send(q, message, said) {
    if (q.due < this.link.now()) return this.settle(q, this.words("timeOver"));
    clearTimeout(q.arming);
    q.armed = q.refusable = false;
    q.mine = said;
    q.unheeded = false;
    const unknown = () => q.over || q.lost || q.mine !== said;
    const pressed = document.activeElement, by = pressed.getAttribute("aria-describedby");
    pressed.removeAttribute("aria-describedby"); // that changes now, and Orca would read it out
    this.able(q, "");
    let arrived;
    const waited = new Promise((done) => setTimeout(done, sentFirst)).then(() => unknown() || arrived || this.able(q, this.words("sending")));
    arrived = await this.link.reply(message);
    if (q.over) return;
    if (!arrived) {
      if (by) pressed.setAttribute("aria-describedby", by);
      q.mine = undefined;
      this.log.status(this.words("notSent"), () => q.over || q.mine);
      if (q.heard) this.arm(q, pause);
      else this.tell(q);
      return;
    }
    waited.then(() => {
      if (unknown()) return;
      this.able(q, said + " " + this.words("sent"));
      this.log.status(said + " " + this.words("sent"), unknown);
    });
    clearTimeout(q.doubting);
    q.doubting = setTimeout(() => { // whoever takes an answer never says whether it counts (D-36)
      if (unknown()) return;
      q.unheeded = true;
      this.able(q, said + " " + this.words("unheeded"));
      this.log.status([plain(q.what, q.lang), said, this.words("unheeded")].join(" "), unknown);
    }, confirmWithin);
  }

  async more(q) {
    q.asking = true;
    const honored = await this.link.renegotiate({ timing: { ...this.time(), more_time_for: q.token } });
    q.asking = false;
    if (q.over) return;
    const given = honored?.timing?.more_time_for === q.token;
    this.log.status(this.words(given ? "moreGiven" : "moreNot"), () => q.over);
    if (!given) return;
    q.longer = true;
    if (!q.told) { // an event says exactly how long, before or after this
      q.due += q.event.timeout_seconds * 1000;
      this.setClock(q);
      this.watch(q);
    }
    q.told = false;
  }

  // timeTold takes the time that is left from a notice of it, where there is one question it can be about.
  timeTold(event) {
    const open = this.open().filter((q) => q.session === event.session_id);
    const due = Date.parse(event.timestamp) + event.eta_ms;
    if (open.length !== 1 || !(due > open[0].due + clocksDiffer || (open[0].longer && due > this.link.now()))) return;
    open[0].due = due;
    open[0].told = open[0].asking;
    this.setClock(open[0]);
    this.watch(open[0]);
  }

  setClock(q) {
    const w = this.words, e = q.event;
    if (!Number.isFinite(q.due)) setText(q.clock, w("noLimit"));
    else {
      const at = new Date(q.due - this.link.skew), day = at.toDateString() !== new Date().toDateString();
      const time = at.toLocaleTimeString(w.language, { hour: "numeric", minute: "2-digit", second: "2-digit" });
      const fixed = e.type.endsWith(".confirmation") ? e.default_decision : e.default_response !== undefined && "default";
      q.clock.textContent = w("until", { time: day ? at.toLocaleDateString(w.language) + " " + time : time, length: this.span(q.due - q.at) }) + " " +
        w(fixed === "accept" ? "elseAccept" : fixed === "reject" ? "elseReject" : fixed ? "elseDefault" : "elseUnknown");
    }
  }

  span(ms) {
    const s = Math.round(ms / 1000);
    return s < 120 ? this.words("seconds", { n: s }) : s < 7200 ? this.words("minutes", { n: Math.round(s / 60) }) : this.words("hours", { n: Math.round(s / 3600) });
  }

  watch(q) {
    clearTimeout(q.timer);
    const left = q.due - this.link.now();
    if (Number.isFinite(left)) q.timer = setTimeout(() => this.settle(q, this.words("timeOver")), Math.min(Math.max(left, 0) + 1500, 2 ** 31 - 1));
  }

  // moved follows the session: a question is settled when the agent no longer waits. The text is its outcome.
  moved(event, text) {
    const at = Date.parse(event.timestamp);
    const open = this.all.filter((q) => q.session === event.session_id && !q.known && !(at < q.at));
    const live = open.filter((q) => !q.over);
    const end = /:agent\.session\.(completed|errored|cancelled)$/.test(event.type);
    if (end) {
      for (const q of open) this.settle(q, text, true);
      for (const [call, q] of this.calls) if (q.session === event.session_id) this.ended(call, text, !event.type.endsWith("completed"));
    }
    else if (event.type.endsWith(".tool.completed")) {
      const one = open.find((q) => event.tool_call_id && (q.event.extra_context?.tool_call_id ?? q.within) === event.tool_call_id);
      if (one) this.settle(one, text, true);
      return Boolean(one);
    }
    else if (event.from_state === "awaiting_input" && event.to_state !== "awaiting_input") {
      const one = live.find((q) => q.mine) ?? (live.length === 1 ? live[0] : live.length ? live.find((q) => this.link.now() > q.due - 1000) : open.at(-1));
      // What is done is told by the call.
      if (one) this.settle(one, one.mine && event.to_state === "calling_tool" && one.event.extra_context?.tool_call_id ? "" : text, true);
      return Boolean(one);
    } else if (event.to_state !== "awaiting_input") {
      // The change that said so was merged into this one, or the agent never says that it waits.
      // A question within a call is not settled by what other calls do.
      const before = live.filter((q) => at > q.at && !q.within);
      for (const q of before) this.settle(q, text, true);
      return before.length > 0;
    }
    return false;
  }

  // does returns the question that a call is about, or undefined: the bare name of the call would sound as if its user had to do it. It is
  // failed once it is known that the call was in vain.
  does(event) {
    const q = this.calls.get(event.session_id + " " + event.tool_call_id);
    if (!q) return;
    q.called = true;
    q.result.textContent = [q.mine, this.words("doing"), plain(q.what, q.lang)].filter(Boolean).join(" ");
    return q;
  }

  // done shows what came of a call that a question was about.
  done(event, text) { this.ended(event.session_id + " " + event.tool_call_id, text, event.status !== "success"); }

  ended(call, text, failed) {
    const q = this.calls.get(call);
    this.calls.delete(call);
    if (!q?.called || !text) return;
    q.failed = failed;
    q.result.textContent = [q.mine, this.agentSays(q, text)].filter(Boolean).join(" ");
  }

  // agentSays is what an agent says of a question, in the page's words that it is the agent who does.
  agentSays(q, text) { return this.words("outcome", { text: plain(clip(safe(text, q.writing), 1000, () => "…"), q.lang) }); }

  // returned lets a moment pass for who comes back to the page. What they have not heard is told to them again.
  returned() {
    for (const q of this.open()) if (!q.lost && !q.mine) this.arm(q, pause);
  }

  // gone marks what was open when the subscription was lost, until it is told again.
  gone() {
    for (const q of this.open()) {
      q.lost = true;
      q.armed = q.refusable = false;
      clearTimeout(q.arming);
      this.able(q, this.words("checking"));
    }
  }

  // back settles what nobody told again.
  back() {
    for (const q of this.open()) if (q.lost) this.settle(q, this.words("vanished"));
  }

  // settle says what came of a question, once where that is known; where it is not, that, and once more when it is.
  settle(q, text, known) {
    if (q.known) return;
    const first = !q.over;
    q.over = true;
    q.known = Boolean(known);
    clearTimeout(q.timer);
    clearTimeout(q.arming);
    const outcome = known && (!text || bare(text) ? !q.mine && this.words("vanished") : this.words("outcome", { text: plain(clip(safe(text, q.writing), 1000, () => "…"), q.lang) }));
    const said = [q.mine, known ? outcome : text].filter(Boolean).join(" ");
    q.result.textContent = said;
    q.result.dir = "auto";
    setText(q.hint, "");
    q.el.classList.add("settled");
    for (const el of q.parts) { // what has the focus stays until that leaves: what is read out where it goes would be one word too many
      if (el !== document.activeElement) {
        el.remove();
        continue;
      }
      el.setAttribute("aria-disabled", "true");
      el.readOnly = true;
      el.addEventListener("blur", () => setTimeout(() => el === document.activeElement || el.remove()));
    }
    q.el.querySelector("label")?.remove();
    q.clock.remove();
    this.update();
    this.log.say({ text: this.words("about", { n: q.n, text: said }), session: q.session, soon: true, over: () => q.known !== Boolean(known) });
    if (first) for (const other of this.open()) if (other.armed) this.arm(other, pause); // it may have moved
  }

  update() {
    const n = (this.log.open = this.open()).length;
    document.getElementById("none").hidden = n > 0;
    this.changed(n);
  }
}
