package lookalike

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Misleads reports whether a name could mislead who hears or reads it (INV-59): it mixes scripts,
// has letters or digits of another width or style, or passes a verdict on itself, such as
// "verified", in words or by a sign. It is for a warning: an honest name may have it, and a
// deceiver may go without.
func Misleads(name string) bool {
	visible := strings.Map(dropInvisible, norm.NFC.String(name))
	plain := norm.NFKC.String(visible)
	return hasStyledLetters(visible) || mixesScripts(plain) || strings.ContainsAny(visible, signs) || claimsTrust(plain)
}

// hasStyledLetters reports whether a name has letters or digits that only look different from plain
// ones: full width, mathematical, in circles, small capitals. Forms that the scripts of Arabic and
// Hangul have for themselves are no style.
func hasStyledLetters(name string) bool {
	for _, r := range name {
		if r >= 0x1f150 && r <= 0x1f189 || r >= 0x1d00 && r <= 0x1d2b || strings.ContainsRune("ʙɢʜɪʟɴʀʏꜰꜱ", r) {
			return true // white on black, and small capitals, which have no plain form
		}
		enclosed := r >= 0x2460 && r <= 0x24ff || r >= 0x1f110 && r <= 0x1f14f
		if r < 0x100 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !enclosed { // ª, ², ™
			continue
		}
		if plain := norm.NFKC.String(string(r)); plain != string(r) && strings.ContainsFunc(plain, func(r rune) bool {
			return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
		}) {
			return true
		}
	}
	return false
}

// scriptSets are the scripts that one language is written in together (UTS 39, highly restrictive).
var scriptSets = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Hangul"},
	{"Latin", "Han", "Bopomofo"},
}

// mixesScripts reports whether the letters of a name are of several scripts that no language is
// written in together. Letters common to all scripts do not count.
func mixesScripts(name string) bool {
	scripts := map[string]bool{}
	var last *unicode.RangeTable // the script of the letter before
	for _, r := range name {
		sameScript := last != nil && unicode.Is(last, r)
		if sameScript || !unicode.IsLetter(r) || unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		for script, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				scripts[script], last = true, table
				break
			}
		}
	}
	if len(scripts) < 2 {
		return false
	}
	for _, set := range scriptSets {
		n := 0
		for _, script := range set {
			if scripts[script] {
				n++
			}
		}
		if n == len(scripts) {
			return false
		}
	}
	return true
}

// signs are those by which other services say that an account is verified.
const signs = "✓✔✅☑✪✯㊣㊞🔑🗝🛂🪪🗸🗹⍻√🛡🔒🔐🔏🏅🎖🥇🆗👌👍💯✪⭐🌟★🏆🎗🏵𐄂ꪜ"

// claims are words, and beginnings of words, by which a name is said to be verified, in small
// letters and without accents. Those of five letters or less, of an alphabet, are whole words, for
// other words have them within.
var claims = strings.Fields(`
	verified verificat trusted trustworthy official authentic genuine certified legit validated approved confirmed authorised authorized hasproved provedwho proveditself
	identityproven provenidentity isproven keyisknown whoitsaysitis
	identitychecked identityknown signaturevalid signaturechecked signaturegood signatureisgood validsignature goodsignature guaranteed endorsed metbefore notascam
	verfied verifid veryfied verrified vrfd
	verifiziert geprüft überprüft bestätigt vertrauenswürdig offiziell zertifiziert bewiesen beglaubigt
	geprueft ueberprueft bestaetigt vertrauenswuerdig garantiert
	verificad confiable oficial autentic comprobad certificad
	verifie officiel authentique certifie confiance
	موثق موثوق معتمد رسمي مؤكد مؤكدة محقق أصلي
	fidi-mule ijerisi otito
	проверен официальн доверенн доверия подтвержд верифиц сертифиц надёжн настоящ
	autenticad ufficiale verificat attendibil zweryfikowan oficjaln zaufan geverifieerd officieel doğrulan resmî resmi güvenilir
	verifierad verificeret verifisert vahvistettu ověřená ověřený ověřeno hitelesített terverifikasi επαληθευμέν επίσημ перевірен офіційн підтвердж xácminh chínhthức kiểmchứng ยืนยันแล้ว รับรอง যাচাইকৃত
	gewaarmerkt ellenőrzött patvirtint potwierdzon вэрыфік onaylı tasdikli doğrulandı tunnistettu varmennettu sertifioitu imethibitishwa உறுதிப்படுத்தப்பட்ட ధృవీకరించ
	已验证 已認證 已认证 认证 認証 検証済 確認済 官方 公式 可信 正規 确认 已核实 核实 驗證 验证 公认 認定 純正 正品 正宗 本物 확인됨 인증 검증 정품 공식 सत्यापित आधिकारिक प्रमाणित מאומת רשמי מהימן
`)

// Claims are compared as lettersOf writes a name.
func init() {
	for i, claim := range claims {
		claims[i] = lettersOf(claim)
	}
}

// claimsTrust reports whether a name has one of claims in it, also where its letters are
// written apart, with accents, as digits or with those of other scripts that look the same.
func claimsTrust(name string) bool {
	spellings := []string{name, Skeleton(name, true), lettersForDigits.Replace(name),
		lettersForDigits.Replace(strings.ReplaceAll(name, "1", "l"))}
	for _, text := range spellings {
		words, letters := " "+spacedLettersOf(text)+" ", lettersOf(text)
		for _, claim := range claims {
			isWord := len(claim) <= 5 // which counts only as a whole word
			if isWord && strings.Contains(words, " "+claim+" ") || !isWord && strings.Contains(letters, claim) {
				return true
			}
		}
	}
	return false
}

// lettersForDigits writes letters for the digits and signs that stand in their place.
var lettersForDigits = strings.NewReplacer("0", "o", "1", "i", "!", "i", "¡", "i", "|", "l", "3", "e", "4", "a",
	"@", "a", "5", "s", "$", "s", "7", "t")

// lettersOf returns a text in small letters, without accents and without all that is no letter.
func lettersOf(s string) string { return strings.ReplaceAll(spacedLettersOf(s), " ", "") }

// spacedLettersOf returns the letters of s, folded and without accents, with a blank for each other
// character, so that words stay apart.
func spacedLettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r):
			return r
		case unicode.Is(unicode.M, r):
			return -1
		}
		return ' '
	}, cases.Fold().String(norm.NFKD.String(s)))
}
