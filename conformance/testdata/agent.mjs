// An agent of Level 3 in JavaScript, written from docs/wire.md and docs/drivers.md, with no package of anybody.
// node agent.mjs PORT; scenarios come as lines on standard input.
import http from "node:http"
import crypto from "node:crypto"
import readline from "node:readline"

const NAME = { agent_id: "node-agent", agent_name: "An agent in JavaScript" }
const ORDERLY = ["aaep:agent.session.", "aaep:agent.tool."] // never merged
const name = (kind) => kind + "_" + crypto.randomBytes(16).toString("hex")
const subscriptions = new Map()
const questions = new Map() // by token
const pause = (ms) => new Promise((done) => setTimeout(done, ms))

// strict reads JSON in which no name comes twice.
function strict(text) {
  const value = JSON.parse(text)
  const open = []
  let at = 0
  while (at < text.length) {
    const c = text[at]
    if (c === '"') {
      let end = at + 1
      while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1
      const top = open[open.length - 1]
      if (top && top.names && top.next) {
        const key = JSON.parse(text.slice(at, end + 1))
        if (top.names.has(key)) throw new Error("the name " + key + " comes twice")
        top.names.add(key)
        top.next = false
      }
      at = end
    } else if (c === "{") open.push({ names: new Set(), next: true })
    else if (c === "[") open.push({})
    else if (c === "}" || c === "]") open.pop()
    else if (c === "," && open.length) open[open.length - 1].next = true
    at++
  }
  return value
}

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v)
const isTag = (v) => typeof v === "string" && /^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$/.test(v)
const listOf = (v, is, most) => Array.isArray(v) && v.length >= 1 && v.length <= most && v.every(is) && new Set(v).size === v.length
const isPatterns = (v) => Array.isArray(v) && v.every((p) => typeof p === "string" && p.length >= 1 && p.length <= 256) && new Set(v).size === v.length
const within = (least, most) => (v) => Number.isInteger(v) && v >= least && v <= most
const isBool = (v) => typeof v === "boolean"
const oneOf = (...all) => (v) => all.includes(v)

const RULES = {
  max_events_per_second: within(1, 100000),
  preferred_verbosity: oneOf("terse", "normal", "detailed"),
  languages: (v) => listOf(v, isTag, 32),
  supports_confirmation_reply: isBool,
  supports_clarification_reply: isBool,
  coalesce_boundaries: (v) => listOf(v, oneOf("none", "word", "sentence", "paragraph", "completion"), 5),
  event_filters: (v) => isObject(v) && Object.keys(v).every((k) => k === "include" || k === "exclude") && Object.values(v).every(isPatterns),
  supported_conformance_levels: (v) => listOf(v, oneOf(1, 2, 3), 3),
  supported_extensions: (v) => Array.isArray(v) && v.length <= 64 && v.every((u) => typeof u === "string"),
  cognitive_load: oneOf("low", "medium", "high"),
  pace_wpm: within(50, 1000),
  accept_signed_manifests_only: isBool,
}
const DEFAULTS = {
  preferred_verbosity: "normal", languages: ["en-US"], supports_confirmation_reply: false, supports_clarification_reply: false,
  coalesce_boundaries: ["sentence", "completion"], supported_conformance_levels: [1], cognitive_load: "medium",
  event_filters: { include: ["aaep:agent.*"], exclude: [] },
}

class Rejection extends Error {
  constructor(code, message, status = 422) {
    super(message)
    Object.assign(this, { code, status })
  }
}

// agree returns the terms for what is asked: as asked, but for extensions, which there are none of.
function agree(base, asked) {
  if (!isObject(asked)) throw new Rejection("unknown", "capabilities is no object", 400)
  const terms = { ...base }
  for (const [key, value] of Object.entries(asked)) {
    if (!RULES[key]) {
      if (!isObject(value)) throw new Rejection("unknown", key + " is no object", 400)
    } else if (!RULES[key](value)) throw new Rejection("unknown", key + " is not valid", 400)
    else if (key !== "supported_extensions") terms[key] = value
  }
  if (terms.accept_signed_manifests_only) throw new Rejection("manifest_signature_required", "The manifest is not signed.")
  terms.languages = terms.languages.filter((tag) => tag.toLowerCase().split("-")[0] === "en")
  if (!terms.languages.length) throw new Rejection("capabilities_incompatible", "This agent speaks English.")
  return terms
}

function matches(filters, type) {
  const any = (list) => list.some((p) => (p.endsWith("*") ? type.startsWith(p.slice(0, -1)) : p === type))
  return any(filters.include ?? ["aaep:agent.*"]) && !any(filters.exclude ?? [])
}

class Subscription {
  constructor(terms) {
    Object.assign(this, { id: name("sub"), terms, sent: [], queue: [], times: [], stream: null, held: new Map(), stamps: new Map() })
    subscriptions.set(this.id, this)
  }

  offer(event) {
    const { type, urgency } = event
    if (type.includes("awaiting.") && !this.terms[type.endsWith("confirmation") ? "supports_confirmation_reply" : "supports_clarification_reply"]) return
    if (urgency !== "critical" && !matches(this.terms.event_filters, type)) return
    if (type.endsWith("output.streaming")) return this.text(event)
    if (urgency === "critical") { // it overtakes; what must not come after it goes with it
      const own = this.queue.filter((e) => e.session_id === event.session_id)
      this.queue = this.queue.filter((e) => e.session_id !== event.session_id)
      const last = own.filter((e) => e.type.endsWith("state.changed")).slice(-1)
      for (const e of own) {
        if (e.chunk !== undefined || ORDERLY.some((p) => e.type.startsWith(p)) || (type.includes("awaiting.") && e === last[0])) this.write({ ...e, urgency: "critical" })
        else if (!type.endsWith("session.errored")) this.queue.push(e)
      }
      return this.write(event)
    }
    this.add(event)
  }

  add(event) {
    const last = this.queue[this.queue.length - 1]
    if (last && last.session_id === event.session_id && last.type === event.type) {
      if (event.type.endsWith("progress.updated")) this.queue.pop()
      else if (event.type.endsWith("state.changed")) {
        this.queue.pop()
        if (last.from_state === event.to_state) return
        event = { ...event, from_state: last.from_state }
      } else if (event.output_id && event.output_id === last.output_id && [...(last.chunk + event.chunk)].length <= 16000) {
        this.queue.pop()
        event = { ...event, chunk: last.chunk + event.chunk, position: last.position }
      }
    }
    this.queue.push(event)
    this.drain()
  }

  text(event) { // a chunk is a sentence; who wants only whole outputs gets them whole, as far as an event holds them
    const boundaries = this.terms.coalesce_boundaries
    if (boundaries.includes("sentence") || boundaries.includes("word") || boundaries.includes("none")) return this.add(event)
    const before = this.held.get(event.output_id)
    if (before && [...(before.chunk + event.chunk)].length > 16000) {
      this.add({ ...before, coalesce_hint: "none" })
      this.held.delete(event.output_id)
      return this.text(event)
    }
    const whole = before ? { ...event, chunk: before.chunk + event.chunk, position: before.position } : event
    if (!whole.complete) return this.held.set(event.output_id, whole)
    this.held.delete(event.output_id)
    this.add({ ...whole, coalesce_hint: "completion" })
  }

  drain() {
    clearTimeout(this.timer)
    while (this.queue.length) {
      const now = Date.now(), rate = this.terms.max_events_per_second ?? Infinity
      this.times = this.times.filter((at) => now - at < 1050)
      if (this.times.length >= rate) {
        this.timer = setTimeout(() => this.drain(), this.times[0] + 1051 - now)
        return
      }
      if (rate !== Infinity) this.times.push(now)
      this.write(this.queue.shift())
    }
  }

  write(event) {
    const stamp = this.stamps.get(event.session_id) ?? ""
    if (event.timestamp < stamp) event = { ...event, timestamp: stamp }
    this.stamps.set(event.session_id, event.timestamp)
    this.sent.push(event)
    this.frame(event)
  }

  frame(event) {
    if (this.stream) this.stream.write("event: aaep.event\nid: " + event.event_id + "\ndata: " + JSON.stringify(event) + "\n\n")
  }

  attach(stream, last) {
    if (this.stream) this.stream.end()
    this.stream = stream
    const at = this.sent.findIndex((e) => e.event_id === last)
    for (const event of this.sent.slice(at + 1)) this.frame(event)
  }

  close(message) {
    subscriptions.delete(this.id)
    clearTimeout(this.timer)
    if (this.stream) {
      if (message) this.stream.write("event: aaep.event\ndata: " + JSON.stringify(message) + "\n\n")
      this.stream.end()
    }
    recheck()
  }
}

class Session {
  constructor() {
    this.id = name("sess")
    this.state = "idle"
    this.stamp = ""
    this.tell("session.started", { summary_normal: "Doing what the suite says." })
  }

  tell(kind, more, urgency = "normal") {
    if (this.over) return
    this.over = ["session.completed", "session.errored", "session.cancelled"].includes(kind)
    const event = {
      "@context": "https://aaep-protocol.org/context/v1", aaep_version: "1.0.0", type: "aaep:agent." + kind, event_id: name("evt"),
      session_id: this.id, timestamp: new Date().toISOString(), producer: NAME, urgency, verbosity: "normal",
      localization_hints: { primary_language: "en-US", text_direction: "auto" }, ...more,
    }
    for (const s of [...subscriptions.values()]) s.offer(event)
    if (this.over) for (const q of [...questions.values()]) if (q.session === this) q.settle(null)
    return event
  }

  become(state) {
    if (this.state === state) return
    this.tell("state.changed", { summary_normal: "Now " + state + ".", from_state: this.state, to_state: state }, "background")
    this.state = state
  }

  async tool(tool, more, work) {
    const call = name("call")
    this.become("calling_tool")
    this.tell("tool.invoked", { summary_normal: "Using the tool " + tool + ".", tool, tool_call_id: call, ...more })
    const status = await work()
    this.tell("tool.completed", { summary_normal: "The tool ended: " + status + ".", tool, tool_call_id: call, status })
    this.become("thinking")
  }

  // ask returns the valid answer of a subscriber, or null.
  ask(kind, right, members, seconds, accepts) {
    return new Promise((resolve) => {
      if (![...subscriptions.values()].some((s) => s.terms[right])) return resolve(null)
      this.become("awaiting_input")
      const token = name("rpl")
      const q = { session: this, right, accepts, kind, settle: (answer) => {
        if (!questions.delete(token)) return
        clearTimeout(q.timer)
        if (!this.over) this.become("thinking")
        resolve(answer)
      } }
      questions.set(token, q)
      const event = this.tell("awaiting." + (right.includes("confirmation") ? "confirmation" : "clarification"),
        { ...members, reply_token: token, timeout_seconds: seconds }, "critical")
      q.until = Date.parse(event.timestamp) + 1000 * seconds
      q.timer = setTimeout(() => q.settle(null), 1000 * seconds)
    })
  }
}

function recheck() { // a question that nobody can answer any more has its default
  for (const q of [...questions.values()]) if (![...subscriptions.values()].some((s) => s.terms[q.right])) q.settle(null)
}

const REPLY = {
  "confirmation.reply": { needs: ["type", "reply_token", "decision", "subscription_id", "timestamp"],
    may: ["modified_action", "decided_by", "decision_rationale", "correlation_id"] },
  "clarification.reply": { needs: ["type", "reply_token", "response", "subscription_id", "timestamp"],
    may: ["decided_by", "confidence", "correlation_id"] },
}

function reply(m) {
  const { needs, may } = REPLY[m.type]
  const q = typeof m.reply_token === "string" ? questions.get(m.reply_token) : undefined
  const from = subscriptions.get(m.subscription_id)
  const at = typeof m.timestamp === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(m.timestamp) ? Date.parse(m.timestamp) : NaN
  if (!q || q.kind !== m.type || !from || !from.terms[q.right]) return
  if (needs.some((k) => !(k in m)) || Object.keys(m).some((k) => !needs.includes(k) && !may.includes(k))) return
  if (!(at < q.until) || Date.now() >= q.until) return
  if (q.accepts(m)) q.settle(m)
}

const SCENARIOS = {
  stream(s, { sentences }) {
    const output = name("out")
    let position = 0
    s.become("writing_output")
    sentences.forEach((chunk, i) => {
      const complete = i === sentences.length - 1
      s.tell("output.streaming", { output_id: output, chunk, position, complete, coalesce_hint: complete ? "completion" : "sentence", content_type: "text/plain" })
      position += [...chunk].length
    })
    s.become("thinking")
  },
  tools: (s) => s.tool("look", { risk_level: "low" }, async () => "success"),
  async ask(s, { timeout_seconds }) {
    s.become("thinking")
    const answer = await s.ask("confirmation.reply", "supports_confirmation_reply", { summary_normal: "May I pay 5 dollars?",
      action: "Pay 5 dollars.", consequence: "The money is gone.", default_decision: "reject", risk_level: "high", irreversible: true },
    timeout_seconds, (m) => m.decision === "accept" || m.decision === "reject")
    if (answer && answer.decision === "accept" && !("modified_action" in answer) && !s.over)
      await s.tool("pay", { risk_level: "high", irreversible: true }, async () => "success")
  },
  async fail(s) {
    for (let step = 1; step <= 20; step++) s.tell("progress.updated", { summary_normal: "Step " + step + ".", progress: { step, total_steps: 20 } })
    s.tell("session.errored", { summary_normal: "The disk is full.", error_category: "permanent" }, "critical")
  },
  handoff(s) {
    s.tell("handoff.requested", { summary_normal: "A person takes over.", reason: "A person must decide.", target_kind: "human" }, "critical")
  },
  async clarify(s, { timeout_seconds }) {
    s.become("thinking")
    await s.ask("clarification.reply", "supports_clarification_reply", { summary_normal: "Shall it be green?", question: "Shall it be green?",
      accepted_response_kinds: ["yes_no"] }, timeout_seconds, (m) => typeof m.response === "boolean")
  },
  async idle(s) {
    s.become("thinking")
    await pause(50)
    s.tell("session.cancelled", { summary_normal: "Cancelled.", cancelled_by: "system" })
  },
  hang: (s, { timeout_seconds }) => s.tool("wait", { risk_level: "low" }, async () => { await pause(1000 * timeout_seconds); return "timeout" }),
  async withdraw(s, scenario) {
    setTimeout(() => s.tell("session.cancelled", { summary_normal: "Cancelled.", cancelled_by: "user" }), 500)
    await SCENARIOS.ask(s, scenario)
  },
}

async function play(scenario) {
  if (scenario.name === "shutdown") {
    for (const s of [...subscriptions.values()])
      s.close({ type: "subscription.close", subscription_id: s.id, reason_code: "producer_shutdown", reason_message: "The agent ends." })
    return
  }
  const s = new Session()
  await SCENARIOS[scenario.name](s, scenario)
  s.tell("session.completed", { summary_normal: "Done." })
}

const MANIFEST = {
  "@context": "https://aaep-protocol.org/context/v1", type: "aaep:producer.manifest", ...NAME, aaep_versions_supported: ["1.0.0"],
  conformance_levels_supported: [1, 2, 3], transports_supported: ["sse"], languages_supported: ["en-US"],
  event_types_emitted: ["aaep:agent.*"], extensions_supported: [], default_verbosity: "normal", max_concurrent_subscriptions: 100,
}

const REQUEST = ["type", "aaep_version", "subscriber_id", "capabilities", "extensions", "subscriber_name", "subscriber_version",
  "subscriber_manifest_uri", "correlation_id"]

function request(m) {
  const is = isObject(m) && m.type === "subscription.request" && Object.keys(m).every((k) => REQUEST.includes(k)) &&
    typeof m.aaep_version === "string" && /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(m.aaep_version) &&
    typeof m.subscriber_id === "string" && m.subscriber_id.length >= 1 && m.subscriber_id.length <= 256
  if (!is) throw new Rejection("unknown", "The request is not valid.", 400)
  if (!m.aaep_version.startsWith("1.")) throw new Rejection("version_unsupported", "This agent speaks 1.0.0.")
  return new Subscription(agree(DEFAULTS, m.capabilities))
}

const accepted = (s) => ({ type: "subscription.accepted", subscription_id: s.id, aaep_version: "1.0.0", producer: NAME, honored_capabilities: s.terms })

function send(response, status, body, headers = {}) {
  response.writeHead(status, body ? { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers } : headers)
  response.end(body && JSON.stringify(body))
}

http.createServer((q, response) => {
  const url = new URL(q.url, "http://agent")
  if (q.method === "GET" && url.pathname === "/.well-known/aaep-manifest.json") return send(response, 200, MANIFEST)
  if (q.method === "GET" && url.pathname === "/aaep/v1/events") {
    const s = subscriptions.get(url.searchParams.get("subscription_id"))
    if (!s) return send(response, 404)
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" })
    response.write(": hello\n\n")
    s.attach(response, q.headers["last-event-id"])
    q.on("close", () => { if (s.stream === response) s.stream = null })
    return
  }
  if (q.method !== "POST") return send(response, 405)
  const parts = []
  q.on("data", (part) => parts.push(part))
  q.on("end", () => {
    try {
      let m
      try {
        m = strict(Buffer.concat(parts).toString())
      } catch {
        m = null
      }
      if (url.pathname === "/aaep/v1/subscriptions") {
        const s = request(m)
        return send(response, 201, accepted(s), { Location: "/aaep/v1/events?subscription_id=" + s.id })
      }
      if (url.pathname !== "/aaep/v1/replies") return send(response, 404)
      const s = isObject(m) ? subscriptions.get(m.subscription_id) : undefined
      if (isObject(m) && REPLY[m.type]) reply(m)
      else if (s && m.type === "subscription.close") s.close()
      else if (s && m.type === "subscription.renegotiate") {
        try {
          s.terms = agree(s.terms, m.capabilities)
        } catch (no) {
          s.close()
          throw no
        }
        recheck()
        s.drain()
        return send(response, 200, accepted(s))
      }
      send(response, 204)
    } catch (no) {
      send(response, no.status ?? 500, { type: "subscription.rejected", reason_code: no.code ?? "unknown", reason_message: no.message })
    }
  })
}).listen(Number(process.argv[2]), "127.0.0.1", () => console.log("{}"))

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const scenario = JSON.parse(line)
  if (scenario.name !== "shutdown" && !SCENARIOS[scenario.name]) return console.log('{"error": "not here"}')
  play(scenario)
  console.log("{}")
}).on("close", () => process.exit(0))
