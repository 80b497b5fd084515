// The link to a producer: a subscription made by fetch, heard by an EventSource, answered by fetch (B.1).
import { clocksDiffer } from "./times.js";

const delivery = "https://github.com/aaep-go/aaep/extensions/delivery/v1";

export class Link {
  // base is the path of the endpoints. hear gets each event once; say is told what the link does; capabilities are
  // asked for with every new subscription.
  constructor(base, { capabilities, hear, say }) {
    Object.assign(this, { base, capabilities, hear, say });
    this.heard = new Set();
    this.wait = 500;
    this.skew = 0; // of the producer's clock before ours
    this.ahead = -Infinity; // the most that an event was before ours
    this.honored = {};
  }

  // wanted is what is asked for: with the place to go on from, if there was a subscription before. A relay has places of its own.
  wanted() {
    const c = this.capabilities();
    if ("relayed" in document.body.dataset) return c;
    return { ...c, supported_extensions: [...c.supported_extensions ?? [], delivery], ...this.place && { delivery: { resume_after: this.place } } };
  }

  async post(where, message) {
    const r = await fetch(this.base + where, { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message), cache: "no-store" });
    const there = Date.parse(r.headers.get("Date"));
    if (Number.isFinite(there) && !this.proof) this.skew = Math.abs(there - Date.now()) < clocksDiffer ? 0 : there - Date.now();
    return r;
  }

  async start() {
    clearTimeout(this.timer);
    this.source?.close();
    const turn = this.turn = {}; // what an older attempt finds out counts no more
    this.say("connecting");
    let r, answer;
    try {
      r = await this.post("/subscriptions", { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "web-page",
        subscriber_name: "Web page", capabilities: this.wanted() });
      answer = await r.json();
    } catch {
      if (turn === this.turn) this.later("unreachable");
      return;
    }
    if (turn !== this.turn) return;
    if (r.status !== 201) {
      if (this.place && answer.reason_code === "capabilities_incompatible") { // it is no place of this agent
        this.place = undefined;
        return this.start();
      }
      if (r.status === 429) return this.later("busy", answer.retry_after_seconds);
      if (r.status >= 500) return this.later("unreachable", answer.retry_after_seconds);
      return this.say("refused", answer.reason_message ?? answer.error ?? String(r.status));
    }
    this.id = answer.subscription_id;
    this.honored = answer.honored_capabilities ?? {};
    if (this.honored.delivery?.resume_after !== this.place) this.place = undefined;
    const lost = this.begun && !this.place;
    this.begun = true;
    this.agent = answer.producer?.agent_name || answer.producer?.agent_id;
    // What a relay on this machine found out of who the agent is. An agent cannot say that of itself.
    this.proof = "relayed" in document.body.dataset ? answer.relay : undefined;
    this.say("subscribed");
    if (lost) this.say("leftOut", "lost");
    const stream = new URL(r.headers.get("Location"), r.url);
    if (stream.origin !== location.origin) return this.say("refused", stream.origin);
    this.open(stream.href, turn);
  }

  open(url, turn) {
    const source = this.source = new EventSource(url);
    source.onopen = () => {
      this.wait = 500;
      this.opened = Date.now();
      this.say("connected");
    };
    source.addEventListener("aaep.event", (m) => {
      if (turn !== this.turn) return;
      this.place = m.lastEventId || this.place; // which a critical event that overtook others does not move
      let event;
      try {
        event = JSON.parse(m.data);
      } catch {
        return; // it is no event
      }
      if (event.type === "subscription.close" || event.type === "subscription.rejected") {
        source.close();
        return this.later("closed", undefined, event.reason_message);
      }
      if (event.type === "relay.left_out" && "relayed" in document.body.dataset) return this.say("leftOut", event.what);
      // A question that a new subscription is told again is one that is still open.
      if (event.event_id && this.heard.has(event.event_id) && !event.reply_token) return;
      if (event.extensions?.delivery?.lost === true && !this.heard.has(event.event_id) && !("relayed" in document.body.dataset)) this.say("leftOut", "lost");
      this.heard.add(event.event_id);
      if (this.heard.size > 5000) this.heard.delete(this.heard.values().next().value);
      if (this.proof) this.clock(Date.parse(event.timestamp) - Date.now());
      this.hear(event);
    });
    source.onerror = () => {
      if (turn !== this.turn) return;
      // The browser comes back by itself with the last id, until it is told that the subscription is gone.
      if (source.readyState === EventSource.CLOSED) this.later("lost");
      else this.say("lost");
    };
  }

  later(what, seconds, text) {
    this.turn = undefined;
    this.say(what, text);
    const ms = seconds ? seconds * 1000 : this.wait * (0.5 + Math.random());
    this.wait = Math.min(2 * this.wait, 60000);
    this.timer = setTimeout(() => this.start(), ms);
  }

  // clock takes the agent's clock from its events, where the clock of who answers here is another. What comes at the
  // beginning may be old, which shows only that the agent's clock is not behind that.
  clock(ahead) {
    const live = Date.now() - this.opened > 5000;
    if (!(ahead > this.ahead) || !(live || ahead > 0)) return;
    this.ahead = ahead;
    this.skew = Math.abs(ahead) < clocksDiffer ? 0 : ahead;
  }

  now() { return Date.now() + this.skew; }

  // reply reports whether the answer arrived. Whether it counted, events tell.
  async reply(message) {
    try {
      const r = await this.post("/replies", { ...message, subscription_id: this.id, timestamp: new Date(this.now()).toISOString() });
      return r.ok;
    } catch {
      return false;
    }
  }

  // renegotiate returns what is honored from now on, or null. A refusal ends the subscription (§5.7), so another is made.
  async renegotiate(capabilities) {
    try {
      const r = await this.post("/replies", { type: "subscription.renegotiate", subscription_id: this.id, capabilities });
      const answer = await r.json();
      if (r.ok && answer.type === "subscription.accepted") return (this.honored = answer.honored_capabilities ?? {});
      if (answer.type === "subscription.rejected" || r.status === 404) this.start();
    } catch { /* told as null */ }
    return null;
  }
}
