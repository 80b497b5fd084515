// What is felt, and what is told beside the page, where the person chose that: never the only way to learn of something.
import { cueAgain, cuesApart } from "./times.js";

// The patterns by meaning, in milliseconds on and off. The agent is told their names; the first is for what is critical.
export const patterns = {
  needs_you: [200, 100, 200, 100, 400],
  failed: [600],
  done: [80, 80, 80],
  started: [60],
  working: [30],
};

export const canVibrate = typeof navigator.vibrate === "function";
export const canNotify = typeof Notification === "function";

// meaning is the pattern for an event, or undefined for one that has no more to it than its words.
function meaning(e, kind) {
  const chosen = e.extensions?.haptic?.pattern;
  if (Object.hasOwn(patterns, String(chosen))) return chosen;
  switch (kind) {
    case "awaiting.confirmation": case "awaiting.clarification": case "handoff.requested": return "needs_you";
    case "session.errored": return "failed";
    case "session.completed": case "session.cancelled": return "done";
    case "session.started": return "started";
    case "output.streaming": return undefined;
  }
  if (e.urgency === "critical") return "needs_you";
  if (kind === "tool.completed" && e.status !== "success") return "failed";
  if (kind === "state.changed" && ["idle", "awaiting_input"].includes(e.to_state)) return undefined;
  return "working";
}

export class Feel {
  // wanted() says whether the person wants it.
  constructor(wanted) {
    this.wanted = wanted;
    this.last = this.working = -cueAgain;
  }

  event(e, kind) {
    const pattern = canVibrate && this.wanted() && meaning(e, kind);
    if (pattern) this.play(pattern, e);
  }

  play(pattern, e) {
    const now = Date.now(), critical = e?.urgency === "critical";
    if (e && e.event_id === this.felt && now - this.last < cueAgain) return;
    if (pattern === "working" && (now - this.working < cueAgain || now - this.last < cuesApart)) return; // late it would mean nothing
    clearTimeout(this.timer);
    const wait = critical ? 0 : Math.max(0, this.last + cuesApart - now);
    this.last = now + wait;
    if (pattern === "working") this.working = this.last;
    this.felt = e?.event_id;
    if (wait) this.timer = setTimeout(() => navigator.vibrate(patterns[pattern]), wait);
    else navigator.vibrate(patterns[pattern]);
  }
}

// notify tells in the system's own way that something waits. It says nothing of what: it may stand on a locked screen.
export function notify(title, body) {
  if (!canNotify || Notification.permission !== "granted") return;
  try {
    const n = new Notification(title, { body, tag: "aaep" });
    n.onclick = () => {
      window.focus();
      n.close();
    };
  } catch { /* a browser that wants it otherwise */ }
}
