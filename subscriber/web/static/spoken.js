// How long a text takes to be heard, in every script. Package internal/spoken has the same table, and says what it means and where
// it comes from.

const table = [
  [0, "Mn Mc Me Cf 1F3FB-1F3FF", "attached"],
  [0, "Cc Zs Zl Zp", ""],
  [600, "Nl 24B6-24E9 2800-28FF 3200-33FF FB00-FB06 FDF0-FDFD", ""],
  [660, "1D00-1DBF 2C60-2C7F 1D400-1D7CB", ""],
  [460, "A9 AE 2100-214F", ""],
  [220, "Nd", ""],
  [300, "No", ""],
  [120, "2B0-2FF", ""],
  [120, "Han Yi Tangut Nushu", "script"],
  [40, "Hiragana Katakana", "script"],
  [25, "1100-11FF A960-A97F D7B0-D7FF", "script"],
  [56, "Hangul", "script"],
  [60, "Myanmar Khmer", "script"],
  [46, "Thai Lao Tibetan Tai_Le New_Tai_Lue Tai_Tham Tai_Viet Ethiopic", "script"],
  [46, "Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala", "script"],
  [38, "Arabic Hebrew Syriac Thaana Nko", "script"],
  [22, "Latin", "alphabet"],
  [25, "Cyrillic", "alphabet"],
  [22, "Greek", "alphabet"],
  [25, "Armenian Georgian", "alphabet"],
  [60, "Lu Ll Lt Lm Lo", "script"],
  [90, "21 2E 3F 61F 6D4 964-965 2026 3002 FF01 FF0E FF1F", ""],
  [60, "22 27-2A 2C 3A 3B 60C 61B 3001 FF0C FF1A FF1B Pc Pd Ps Pe Pi Pf", ""],
  [400, "1F000-1FAFF", ""],
  [150, "0-10FFFF", ""],
];
const spelled = 110;

const named = [
  [480, "1A0-1B0 300-36F 1E00-1EFF", "vi yo ig"],
  [260, "180-24F 250-2AF", "az ha ff ee ak bm fon ro hr zh se"],
  [470, "FF21-FF3A FF41-FF5A FF66-FFDC", "Jpan Hans Hant Kore"],
  [620, "460-481 48A-52F A640-A69F", "uk kk ky tt ba mn tg cv sah os ab ce"],
  [500, "400-40F 450-45F", "Cyrl"],
  [275, "Cyrillic", "Cyrl"],
  [530, "1F00-1FFF", "Grek"],
  [110, "Greek", "Grek"],
  [450, "FB50-FDCF FE70-FEFC", ""],
  [520, "66E-6D3 6EE-6FF 750-77F 8A0-8FF", "fa ur ug ps sd ku ckb pnb ks"],
  [330, "Arabic", "Arab Aran"],
  [390, "Hebrew", "Hebr"],
  [600, "Syriac Thaana Nko", "Syrc Thaa Nkoo"],
  [730, "Yi Tangut Nushu", "Yiii Tang Nshu"],
  [500, "F900-FAFF", "Hans Hant Hani Jpan Kore"],
  [310, "Han Bopomofo", "Hans Hant Hani Jpan Kore"],
  [450, "Hiragana Katakana", "Jpan"],
  [310, "1100-11FF A960-A97F D7B0-D7FF", "Kore"],
  [170, "3131-318E", "Kore"],
  [100, "Hangul", "Kore"],
  [510, "Thai", "Thai"],
  [600, "Lao Tibetan Tai_Le New_Tai_Lue Tai_Tham Tai_Viet", "Laoo Tibt"],
  [540, "Myanmar", "Mymr"],
  [620, "Khmer", "Khmr"],
  [810, "Ethiopic", "Ethi"],
  [540, "Oriya", "Orya"],
  [230, "Telugu", "Telu"],
  [550, "10A0-10C5", "Geor"],
  [100, "Georgian", "Geor"],
  [190, "Armenian", "Armn"],
  [0, "Latin Devanagari Bengali Gurmukhi Gujarati Tamil Kannada Malayalam Sinhala", ""],
  [660, "Mongolian Canadian_Aboriginal Cherokee Vai Tifinagh Ol_Chiki Balinese Javanese Sundanese Batak Lisu Adlam", "Mong Cans Cher Vaii Tfng Olck Bali Java Sund Batk Lisu Adlm"],
  [820, "Lu Ll Lt Lm Lo", ""],
  [440, "2F 5C", "!ka lt te bg lv ltg et sl nb no nn da sv id smj is af"],
];

const member = (name) => /^[CLMNPSZ][a-z]$/.test(name) ? `\\p{${name}}` : /[a-z]/.test(name) ? `\\p{Script=${name}}` :
  name.split("-").map((code) => `\\u{${code}}`).join("-");
const having = (of) => new RegExp(`[${of.split(" ").map(member).join("")}]`, "u");
const rows = table.map(([cost, of, kind]) => ({ cost, kind, has: having(of) }));
const foreign = named.map(([cost, of, by]) => ({ cost, has: having(of), by: by.replace("!", "").split(" "), slow: by.startsWith("!") }));

// spells reports whether a voice may spell a word: a letter alone, a short one in capitals, or one without a vowel.
const spells = (word) => word.length === 1 || (word.length > 0 && ((word.length <= 5 && word.every((c) => /\p{Lu}/u.test(c))) || !word.some((c) => /[^b-df-hj-np-tv-xz]/i.test(c))));

// hundredths is the time it takes, in hundredths of a word of a pace.
export function hundredths(text) {
  const letters = rows.map(() => 0), named = rows.map(() => 0);
  let at, word = [];
  const end = () => {
    if (spells(word)) named[at] += word.length;
    word = [];
  };
  for (const c of text) {
    const i = rows.findIndex((row) => row.has.test(c));
    if (rows[i].kind === "attached") continue;
    if (i !== at || (/\p{Lu}/u.test(c) && word.length && !/\p{Lu}/u.test(word.at(-1)))) end();
    at = i;
    if (rows[i].kind === "alphabet") word.push(c);
    letters[i]++;
  }
  end();
  const all = letters.reduce((sum, n, i) => sum + (rows[i].kind ? n : 0), 0);
  return rows.reduce((sum, { cost, kind }, i) => {
    if (kind === "alphabet" && 3 * letters[i] < 2 * all) named[i] = letters[i]; // foreign words; some voices spell them
    return sum + letters[i] * cost + named[i] * (spelled - cost);
  }, 0);
}

// extraBy is what a text costs more where the voice is known to speak one language alone.
export function extraBy(text, tag) {
  let extra = 0, language, script;
  try {
    ({ language, script } = new Intl.Locale(tag).maximize());
  } catch {} // it is no tag
  for (const c of text) {
    const row = foreign.find(({ has }) => has.test(c));
    if (row && (row.by.includes(language) || row.by.includes(script)) === row.slow) extra += Math.max(row.cost - rows.find(({ has }) => has.test(c)).cost, 0);
  }
  return extra;
}
