// One page: what comes over the link goes to the log, to the line that says what happens now, and to the questions.
import { Link } from "./link.js";
import { Block, isSigned, ofCode, signs, withSign } from "./ear.js";
import { Log } from "./log.js";
import { Questions } from "./questions.js";
import { Feel, notify } from "./feel.js";
import { load, possible, save, wanted, preferred } from "./settings.js";
import { directionOf, safe } from "./safe.js";
import { columns, quote, Structure } from "./structure.js";
import { named, sentences, setText, translated, writing } from "./text.js";
import { progressEvery } from "./times.js";
import { pageWords } from "./words.js";

const $ = (id) => document.getElementById(id);
const settings = load();
let words = pageWords(settings.language);
const say = (key, values) => words(key, values); // also after the language has changed
Object.defineProperty(say, "language", { get: () => words.language });

const log = new Log({ words: say, pace: () => Number(settings.pace), waits });
const feel = new Feel(() => settings.vibrate === "on");
const sessions = new Map(); // what each is doing, oldest first
const outputs = new Map();
let agent, linkState = "connecting", progress, progressTimer, progressAt = 0, trouble, lostTimer, recheck;

// Where nobody says where the endpoints are, they are beside the page, under whatever path the agent is mounted.
const endpoints = document.body.dataset.endpoints || (location.pathname.endsWith("/aaep/web/") ? location.pathname.replace(/web\/$/, "v1") : "/aaep/v1");

const link = new Link(endpoints, {
  capabilities: () => wanted(settings),
  hear,
  say: linkSays,
});
const questions = new Questions({ words: say, pace: () => Number(settings.pace), log, link, changed: title, time: () => wanted(settings).timing });

const summary = (e) => e["summary_" + settings.verbosity] || e.summary_normal || e.summary_terse || e.summary_detailed;

function hear(e) {
  if (typeof e?.type !== "string") return;
  e = translated(e, preferred(settings).languages);
  const kind = e.type.replace(/^aaep:agent\./, ""), id = e.session_id;
  const line = { text: summary(e), who: questions.who(e), language: e.localization_hints?.primary_language ?? "", writing: writing(e), session: id };
  feel.event(e, kind);
  const before = sessions.get(id)?.called; // the call that the event before announced
  if (before) sessions.get(id).called = undefined;
  if (kind === "output.streaming") return output(e, line);
  finish(id, /^session\.(completed|errored|cancelled)$/.test(kind)); // something else comes: what is held of an answer is said first
  const session = sessions.get(id) ?? {};
  sessions.delete(id);
  sessions.set(id, session);
  if (sessions.size > 50) sessions.delete(sessions.keys().next().value);
  switch (kind) {
    case "awaiting.confirmation":
    case "awaiting.clarification":
      session.text = say("awaiting");
      if (questions.ask(e, before) && document.hidden && settings.notify === "on") notify(waits(), say("notifyBody"));
      break;
    case "state.changed":
      session.state = e.to_state;
      session.text = line.text || say("state", { text: String(e.to_state).replaceAll("_", " ") });
      if (e.to_state === "awaiting_input") session.text = say("awaiting");
      // Its outcome is read with the question.
      // What it waits for is told by the question.
      if (!questions.moved(e, line.text) && e.urgency === "critical" && e.to_state !== "awaiting_input") log.urgent(line);
      break;
    case "progress.updated": {
      const asks = () => questions.open().some((q) => q.session === id && !q.mine);
      // How much time there is for a question is no news once that is answered.
      if (e.urgency === "critical") log.urgent(line, "", e.eta_ms >= 0 && asks() ? { obsolete: () => !asks() } : {});
      else if (session.state === "awaiting_input" && e.eta_ms !== undefined) log.say({ ...line, about: true });
      else move(line.text || e.progress?.description || "", e.progress);
      if (e.eta_ms >= 0 && questions.open().length) questions.timeTold(e);
      break;
    }
    case "session.completed":
    case "session.errored":
    case "session.cancelled":
      sessions.delete(id);
      questions.moved(e, line.text);
      move("");
      if (kind === "session.errored") {
        log.failed(id);
        log.urgent({ ...line, text: [line.text, e.remediation_hint].filter(Boolean).join(" ") });
      } else log.say(line);
      break;
    case "tool.invoked": {
      if (e.tool && e.tool_call_id) session.called = e;
      const asked = questions.does(e); // why it failed may be told first
      if (asked) Object.assign(line, { before: say("doing"), soon: true, over: () => asked.failed });
      line.passing = true;
    } // and it is told as anything else is
    default:
      if (kind === "tool.completed" && questions.moved(e, line.text)) break;
      if (kind === "tool.completed") questions.done(e, line.text);
      if (kind === "tool.completed" && e.status !== "success") {
        log.failed(id);
        line.soon = true;
      }
      if (e.urgency === "critical" || kind === "handoff.requested") log.urgent(line);
      else log.say(line);
  }
  now();
}

// output takes a piece of an answer: what a voice can say goes to the log, the rest waits for its end.
function output(e, line) {
  const key = e.session_id + " " + (e.output_id ?? "");
  const out = outputs.get(key) ?? { text: "", space: "\n\n", end: 0, session: e.session_id, structure: new Structure() };
  const points = Array.from(String(e.chunk ?? "")), skip = Math.max(0, out.end - (e.position ?? out.end));
  out.text += points.slice(skip).join("");
  out.end = Math.max(out.end, (e.position ?? out.end) + points.length);
  out.line = { ...line, kind: "output", structure: out.structure, output: e.output_id, language: e.language || line.language };
  outputs.set(key, out);
  if (outputs.size > 64) drop(...outputs.entries().next().value); // an agent that ends nothing
  const whole = e.complete || ["sentence", "paragraph", "completion"].includes(e.coalesce_hint);
  out.cut ||= e.coalesce_hint === "sentence"; // and is not cut again
  put(out, whole, e.complete);
  clearTimeout(out.timer);
  if (e.complete) outputs.delete(key);
  else if (out.text) {
    const words = e.coalesce_hint === "word"; // of a sentence whose end the agent waits for no longer
    out.timer = setTimeout(() => (words || /[.!?。！？؟…:]["'”»)]*\s*$/.test(out.text)) && put(out, true), words ? 1000 : 3000);
  }
}

const opening = /^((?:[ \t]*>)*)[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})(?![`~])([^`\n]*)\n|^(?:diff --git |@@ -\d|--- (?:a\/|\/dev\/null)|index [0-9a-f]{7,}\.\.)[^\n]*\n/m; // of a block
const codeLine = /^[^\n]*\n|^[^\n]{2000}|^[ \t]*(?:`{3,}|~{3,})[ \t]*$/;

// lines tells a text, before which stood white space. Lines that begin with a sign are held until it is known whether they are those of a
// list or of a diff.
function lines(out, text, force, space, paused) {
  const apart = text.split(/\n(?=[-+] )/); // lines that came with what stands before them
  if (apart.length > 1) {
    for (const [i, each] of apart.entries()) lines(out, each, force, i ? "\n" : space);
    return;
  }
  const { line } = out, held = (out.run ??= []), signed = isSigned(text);
  const tell = (text, space) => text && log.say({ ...line, text, space });
  const tellSign = (text) => log.say({ ...line, text, block: (out.signed ||= {}), heard: withSign(text, line.language) });
  clearTimeout(out.unheld);
  if (signed && (out.signed || (out.list && out.list !== text[0]))) {
    correctList(out);
    return tellSign(text);
  }
  if (signed && !out.list) {
    held.push({ text, space });
    out.signed = signs(held.map((each) => each.text)) && {};
    if (!out.signed && !force && held.length <= 3) {
      out.unheld = setTimeout(() => lines(out, "", true, "", true), 1000);
      return;
    }
    text = "";
  }
  if (!out.signed && (held.length || signed)) {
    const listed = held.length ? held.map((each) => each.text) : [text];
    out.list = listed[0][0];
    out.listed ??= { lines: [], all: 0 }; // the first lines, and how many there are
    for (const each of listed) if (++out.listed.all <= 4) out.listed.lines.push(each);
  }
  for (const each of held.splice(0)) out.signed ? tellSign(each.text) : tell(each.text, each.space);
  if (!signed && (text || !paused)) out.signed = out.list = out.listed = undefined; // what comes after a pause goes on with them
  tell(text, space);
}

// correctList tells lines once more with their signs, or how many they were, that were told as those of a list before another sign came.
function correctList(out) {
  const { lines: first, all } = out.listed ?? { lines: [], all: 0 }, { line } = out, block = new Block("");
  out.signed ||= {};
  out.listed = undefined;
  if (all) block[first[0][0] === "+" ? "added" : "removed"] = all;
  const told = all > first.length ? [ofCode(block, line.language)] : first.map((each) => ({ heard: withSign(each, line.language), language: line.language }));
  for (const { heard, language } of told) log.say({ ...line, structure: undefined, text: heard, heard, language });
}

// unheldDiff tells the diff that has no fence and is over, with its last line.
function unheldDiff(out) {
  if (out.last !== undefined) log.say({ ...out.line, text: out.last || "…", block: out.block, marks: !out.last, ...ofCode(out.block, out.line.language) });
  out.block = out.last = undefined;
}

// put tells what there is in sentences. Code is shown line by line, and told as how much there is of it.
function put(out, final, over) {
  const { line } = out;
  const tell = (text, final) => {
    const { found, rest } = sentences(text, line.language, final, out.cut);
    let at = 0;
    for (const each of found) {
      const from = text.indexOf(each, at), space = out.space + text.slice(at, from);
      at = from + each.length;
      out.space = "";
      lines(out, each, false, space);
    }
    out.space += text.slice(at, text.length - rest.length);
    return rest;
  };
  for (let m; (m = (out.block ? codeLine : opening).exec(out.text)); ) {
    const fence = out.block?.fence;
    if (out.block && !fence && !out.block.takes(m[0].trimEnd() && m[0].replace(/\r?\n$/, ""))) {
      unheldDiff(out);
      continue;
    }
    const quoted = out.block?.quoted && !out.block.partial && (quote.exec(m[0])?.[0] ?? "");
    if (quoted === "") { // the quotation is over, and the code with it
      endCode(out, "");
      continue;
    }
    const text = m[0].slice((quoted || "").length), marks = text.trim(), closes = fence && marks.length >= fence.length && marks === fence[0].repeat(marks.length);
    if (fence && !closes && marks === text.trimStart() && /^[`~]+$/.test(marks)) break; // maybe the rest of the closing marks has yet to come
    if (!out.block) {
      tell(out.text.slice(0, m.index), true);
      lines(out, "", true);
      out.block = Object.assign(new Block(m[2], m[3]), { quoted: !!m[1], before: columns(m[0]), indent: columns(m[0].slice(m[1]?.length).replace(/^ /, m[1] ? "" : "$&")) });
    }
    if (!out.block.fence || (fence && !closes)) out.block.count(text.replace(/\r?\n$/, ""));
    const { block } = out;
    block.partial = !m[0].endsWith("\n");
    if (!block.fence) { // its end is told with its last line
      if (out.last !== undefined) log.say({ ...line, text: out.last, block, heard: "" });
      out.last = m[0].trimEnd();
    } else log.say({ ...line, text: text.trimEnd(), block, marks: !fence || closes, heard: "", ...(closes && ofCode(block, line.language)) });
    out.text = out.text.slice(m.index + m[0].length);
    out.space = "\n";
    if (closes) out.block = undefined;
  }
  if (out.block && !out.block.fence && (over || (final && out.text.trim()))) unheldDiff(out);
  if (over && !out.block) {
    out.text = tell(out.text, true);
    lines(out, "", true);
  } else if (!out.block) out.text = tell(out.text, final && (over || !/^(?:[ \t]*>)*[ \t]*(`{3,}|~{3,})(?![`~])[^`\n]*$(?!\n)/m.test(out.text)));
  else if (over && out.block.fence) {
    const { fence, quoted, partial } = out.block, text = quoted && !partial ? out.text.replace(quote, "") : out.text, marks = text.trim();
    endCode(out, marks.length >= fence.length && marks === fence[0].repeat(marks.length) ? "" : text.trimEnd());
  }
}

// endCode tells how much there was of the code that is over, with its last line if that has not ended.
function endCode(out, text) {
  const { line, block } = out;
  if (text.trim()) block.count(text);
  log.say({ ...line, text: text || "…", block, marks: !text.trim(), ...ofCode(block, line.language) });
  out.block = undefined;
}

function finish(session, over) {
  for (const [key, out] of outputs) {
    if (out.session !== session) continue;
    if (over) drop(key, out);
    else {
      if (out.text) put(out, true);
      lines(out, "", true);
      if (out.last !== undefined) unheldDiff(out);
    }
  }
}

function drop(key, out) {
  clearTimeout(out.timer);
  if (out.text || out.block || out.run?.length) put(out, true, true);
  outputs.delete(key);
}

// now shows what the newest session does. It is there to be looked up, and is not read out.
function now() {
  const [id, s] = [...sessions].at(-1) ?? [];
  const asks = questions.open().some((q) => q.session === id && !q.mine); // what it overtook may say otherwise
  const text = id === undefined ? say("idle") : asks ? say("awaiting") : s.text || say("working");
  const more = sessions.size > 1 ? " " + say("others", { n: sessions.size - 1 }) : "";
  if ($("state").textContent !== safe(text) + more) setText($("state"), safe(text) + more);
}

// move changes the line of progress at most every five seconds; the last value always comes.
function move(text, p) {
  if (p && Number.isFinite(p.percent)) text = say("percent", { n: Math.round(p.percent) }) + " " + text;
  progress = safe(text).slice(0, 500);
  clearTimeout(progressTimer);
  progressTimer = setTimeout(() => {
    progressAt = Date.now();
    setText($("progress"), progress);
    $("progress").dir = directionOf(progress);
    $("progress").hidden = !progress;
  }, text ? Math.max(0, progressAt + progressEvery - Date.now()) : 0);
}

function linkSays(what, text) {
  if (what === "leftOut") return ["flood", "question", "message", "lost"].includes(text) && missing(say("leftOut." + text));
  const show = (key) => setText($("link"), say("link." + key, { text: safe(text).slice(0, 300) }));
  if (what === "subscribed") known();
  const was = linkState;
  linkState = what === "subscribed" ? "connecting" : what;
  $("again").hidden = what === "connected" || what === "connecting" || what === "subscribed";
  if (what === "connecting" && was !== "connecting") questions.gone();
  if (what === "connected") {
    clearTimeout(lostTimer);
    trouble = undefined;
    clearTimeout(recheck);
    recheck = setTimeout(() => questions.back(), 3000);
    show("connected");
    const open = waits(); // the person may have heard of it long ago
    if (linkSays.told) log.status(say("link.connected") + (open && ` ${open}.`), () => linkState !== "connected");
    linkSays.told = false;
  } else if (what === "connecting" && was === "connecting") show("connecting");
  else if (what !== "connecting" && what !== "subscribed") {
    show(what);
    if (trouble === what) return; // it is tried again and again, which is no news
    trouble = what;
    clearTimeout(lostTimer);
    lostTimer = setTimeout(() => { // what mends itself in a moment is not worth a word
      linkSays.told = true;
      log.status($("link").textContent, () => linkState === "connected"); // it may be told on return
    }, what === "refused" ? 0 : 4000);
  }
}

// missing says, and leaves in the log, that something of the agent's does not come.
function missing(text) {
  log.urgent({ text, language: say.language });
}

// known says whose page this is, and what is proved of that.
function known() {
  agent = link.agent;
  $("agent").textContent = agent ? named(agent) : say("heading");
  $("proof").hidden = !agent;
  $("proof").textContent = [say(link.proof?.verified ? "verified" : link.proof?.first ? "firstMet" : "unverified"), link.proof?.misleads ? say("misleads") : ""].join(" ").trim();
  title();
}

function waits() {
  const n = questions.open().length;
  return n ? say("titleWaits", { n }) : "";
}

function title() {
  $("proof").classList.toggle("elsewhere", questions.open().length > 0); // who asks says it
  document.title = [waits() || (log.missed ? say("titleNews", { n: log.missed }) : ""), agent ? named(agent) : say("heading")].filter(Boolean).join(" – ");
}
setInterval(() => document.hidden && title(), 2000);
document.addEventListener("visibilitychange", () => {
  title();
  if (!document.hidden) questions.returned();
});

function speak() {
  words = pageWords(settings.language);
  document.documentElement.lang = words.language;
  document.documentElement.dir = words.language === "ar" ? "rtl" : "ltr";
  for (const el of document.querySelectorAll("[data-say]")) el.textContent = say(el.dataset.say);
  $("link").textContent = say("link." + linkState, { text: "" });
  now();
  known();
  questions.reword();
}

let changing;
// apply uses a setting from now on; what the agent has to keep is agreed with it.
function apply(el) {
  if (el.id === "language") speak();
  clearTimeout(changing);
  changing = setTimeout(async () => {
    if (linkState !== "connected") return;
    const honored = await link.renegotiate(preferred(settings));
    log.status(say(honored ? "taken" : "notTaken"));
  }, 300);
}

for (const el of $("settings").elements) {
  el.closest("p").hidden = !possible(el.id);
  el.value = settings[el.id];
  el.addEventListener("change", async () => {
    if (el.id === "notify" && el.value === "on" && await Notification.requestPermission() !== "granted") {
      el.value = "off";
      log.status(say("notAllowed"));
    }
    settings[el.id] = el.value;
    save(settings);
    if (el.id === "vibrate" && el.value === "on") feel.play("needs_you"); // so that its feeling is known
    if (el.id === "notify") log.status(say(el.value));
    else apply(el);
  });
}
window.addEventListener("storage", () => { // another tab has changed them
  const now = load();
  for (const el of $("settings").elements) {
    if (settings[el.id] === now[el.id]) continue;
    settings[el.id] = el.value = now[el.id];
    if (el.id !== "notify") apply(el);
  }
});
$("settings").addEventListener("submit", (e) => e.preventDefault());
$("again").addEventListener("click", () => link.start());

speak();
link.start();
