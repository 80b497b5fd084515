// What the page says itself, in each language it can say it in: one file for each, with the same lines. No native speaker
// has read Arabic, French, German, Spanish and Yoruba yet. Where a number decides the form, a line holds one for each of the language's
// plural categories, as Intl.PluralRules names them.
import ar from "./words.ar.js";
import de from "./words.de.js";
import en from "./words.en.js";
import es from "./words.es.js";
import fr from "./words.fr.js";
import yo from "./words.yo.js";

export const tables = { en, ar, de, es, fr, yo };

export function pageWords(language) {
  const table = tables[language] ?? en, tag = tables[language] ? language : "en";
  const plural = new Intl.PluralRules(tag), number = new Intl.NumberFormat(tag);
  const say = (key, values = {}) => {
    let line = table[key] ?? en[key] ?? key;
    if (typeof line === "object") line = line[plural.select(values.n)] ?? line.other;
    return line.replace(/\{(\w+)\}/g, (_, name) => typeof values[name] === "number" ? number.format(values[name]) : values[name] ?? "").trim();
  };
  say.language = tag;
  return say;
}
