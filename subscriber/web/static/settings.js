// What the user wants. It is kept where the browser lets the page keep it, and works where it does not.

import { canNotify, canVibrate, patterns } from "./feel.js";

const timing = "https://github.com/aaep-go/aaep/extensions/timing/v1";
const haptic = "https://github.com/aaep-go/aaep/extensions/haptic/v1";
const allowed = {
  language: ["en", "ar", "de", "es", "fr", "yo"],
  verbosity: ["terse", "normal", "detailed"],
  rate: ["1", "2", "5", "10"],
  pace: ["100", "170", "250", "350", "450"],
  time: ["1", "2", "10", "none"],
  load: ["medium", "low", "high"],
  vibrate: ["off", "on"],
  notify: ["off", "on"],
};
const primary = (tag) => tag.toLowerCase().split("-")[0];

export function load() {
  const s = { language: "en", verbosity: "normal", rate: "2", pace: "170", time: "1", load: "medium", vibrate: "off", notify: "off" };
  for (const tag of [...navigator.languages].reverse()) if (allowed.language.includes(primary(tag))) s.language = primary(tag);
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem("aaep-web")) ?? {};
  } catch { /* there is no storage */ }
  const asked = new URLSearchParams(location.search).get("lang");
  if (asked) kept.language = primary(asked);
  for (const name in allowed) if (allowed[name].includes(kept[name])) s[name] = kept[name];
  return s;
}

// inForeign is the name of a language in that of the page, in brackets behind a space; "" where the page or the browser is set to it, or it has
// no name. A voice that has not learnt it makes noise of the text.
export function inForeign(tag, own) {
  const language = primary(tag ?? "und");
  if (language === "und" || [own, navigator.language, ...navigator.languages].some((known) => primary(known) === language)) return "";
  try {
    const name = new Intl.DisplayNames([own], { type: "language", fallback: "none" }).of(language);
    return name ? ` (${name})` : "";
  } catch {
    return "";
  }
}

export function save(s) {
  try {
    localStorage.setItem("aaep-web", JSON.stringify(s));
  } catch { /* it lasts as long as the page */ }
}

// possible says which settings this browser can keep.
export const possible = (name) => name === "vibrate" ? canVibrate : name === "notify" ? canNotify : true;

const vibrates = (s) => canVibrate && s.vibrate === "on";

// preferred is what a renegotiation asks for.
export function preferred(s) {
  const own = navigator.languages.filter((tag) => primary(tag) === s.language);
  const others = [...navigator.languages, ...allowed.language].filter((tag) => primary(tag) !== s.language);
  return {
    languages: [...new Set([...own, s.language, ...others])].slice(0, 16), // the first that the agent has
    preferred_verbosity: s.verbosity,
    max_events_per_second: Number(s.rate),
    pace_wpm: Number(s.pace),
    cognitive_load: s.load,
    supported_extensions: vibrates(s) ? [timing, haptic] : [timing],
    ...vibrates(s) && { haptic: { patterns_supported: Object.keys(patterns) } },
    timing: s.time === "none" ? { no_limit: true } : { timeout_multiplier: Number(s.time) },
  };
}

// wanted is what a subscription asks for.
export function wanted(s) {
  return {
    ...preferred(s),
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_conformance_levels: [1, 2],
    coalesce_boundaries: ["sentence", "completion"],
  };
}
