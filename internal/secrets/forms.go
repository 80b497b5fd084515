package secrets

import (
	"regexp"
	"strings"
	"unicode"
)

// foldForMatching returns s as it is compared with the forms of secrets: what shows nothing is left
// out, and so are accents; digits of any script, letters of full width, dashes and spaces are those
// of ASCII. A person reads them the same.
func foldForMatching(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector):
			return -1
		case r >= 0xff01 && r <= 0xff5e:
			return r - 0xff01 + '!'
		case unicode.Is(unicode.Nd, r):
			return '0' + digitValue(r)
		case unicode.Is(unicode.Pd, r) || r == 0x2212: // the sign of minus
			return '-'
		case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp) || r == 0x2800: // the empty braille cell
			return ' '
		}
		return r
	}, s)
}

// isASCII reports whether s has ASCII characters only; true for "".
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// digitValue returns the value of a decimal digit of any script, from 0 to 9: Unicode has those of
// a script together, from zero on. It returns 0 for any other character.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}

// A form is what a kind of secret looks like together with what stands around it.
type form struct {
	hint string              // what every text with this form has in it, in small letters: it is fast to look for
	re   *regexp.Regexp      // its only group is the secret
	kind string              // what Find returns
	real func(s string) bool // whether the group may be a secret, and is no placeholder; nil is always
}

// ends ends an expression where the secret does.
const ends = `(?:[^A-Za-z0-9_-]|$)`

// assigned begins an expression for what is given to a name that says what it is.
const assigned = `(?i)(?:^|[^a-z0-9_$])[a-z0-9_.-]*(?:password|passwd|secret|token|api[_-]?key|credential)`

var forms = []form{
	{"://", regexp.MustCompile(
		"[A-Za-z][A-Za-z0-9+.-]*://[^\\s/?#@:\"'<>`\\\\]*:([^\\s/?#\"'<>`\\\\]+)@[^\\s/?#@\"'<>]"),
		"password in a URL", isPassword},
	{"ecret", regexp.MustCompile(
		`(?i)secret[_ .-]?(?:access[_ .-]?)?key["']?\s*(?:[:=]>?|>|is)\s*["']?([A-Za-z0-9/+]{40})(?:` +
			`[^A-Za-z0-9/+=]|$)`), "AWS key", isMixed},
	{"gocspx-", regexp.MustCompile(`\bGOCSPX-([A-Za-z0-9_-]{28})` + ends), "Google key", isMixed},
	{"ya29.", regexp.MustCompile(`\bya29\.([A-Za-z0-9_-]{20,})`), "Google key", isMixed},
	{"ccount", regexp.MustCompile(`(?i)\baccountkey=([A-Za-z0-9+/]{86})==`), "Azure key", isMixed},
	{"ccess", regexp.MustCompile(`(?i)\bsharedaccesskey=([A-Za-z0-9+/]{43})=`), "Azure key", isMixed},
	{"sig=", regexp.MustCompile(`[?&]sig=([A-Za-z0-9%+/]{43,})`), "Azure key", isMixed},
	{"q~", regexp.MustCompile(
		`(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~-]|$)`),
		"Azure key", isMixed},
	{"xapp-", regexp.MustCompile(`\bxapp-[0-9]+-[A-Z0-9]{9,}-[0-9]+-([a-f0-9]{32,})`), "Slack token", isMixed},
	{"xox", regexp.MustCompile(`\bxox[cd]-([A-Za-z0-9%+/=-]{20,})`), "Slack token", hasLongPart},
	{"hooks.slack.com/", regexp.MustCompile(
		`hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]+/[AB][A-Z0-9]+/(?:[0-9]+/)?([A-Za-z0-9]{20,})`),
		"Slack token", isMixed},
	{":", regexp.MustCompile(
		`(?:^|bot|[^A-Za-z0-9_:.-])[0-9]{6,12}:([A-Za-z0-9_-]{34,36})` + ends), "Telegram token", isMixed},
	{".", regexp.MustCompile(
		`(?:^|[^A-Za-z0-9_.-])([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})` + ends),
		"Discord token", isRandom},
	{"/api/webhooks/", regexp.MustCompile(
		`discord(?:app)?\.com/api/webhooks/[0-9]{15,20}/([A-Za-z0-9_-]{60,})`), "Discord token", isMixed},
	{"sg.", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{22}\.([A-Za-z0-9_-]{43})` + ends), "SendGrid key", isMixed},
	{"dop_v1_", regexp.MustCompile(`\bdo[opr]_v1_([a-f0-9]{64})` + ends), "DigitalOcean token", isMixed},
	{"pypi-", regexp.MustCompile(`\bpypi-(AgE[A-Za-z0-9_-]{40,})`), "PyPI token", isMixed},
	{"dckr_pat_", regexp.MustCompile(`\bdckr_pat_([A-Za-z0-9_-]{27})` + ends), "Docker token", isMixed},
	{"hv", regexp.MustCompile(`\bhv[sbr]\.([A-Za-z0-9_-]{24,})`), "Vault token", isMixed},
	{"uthorization", regexp.MustCompile(
		`(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token|apikey)\s+([A-Za-z0-9._~+/-]{8,}=*)`),
		"credential", isMixed},
	{"earer ", regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/-]{20,}=*)`), "credential", hasLongPart},
	{"pass", regexp.MustCompile(
		`(?:^|[^A-Za-z0-9_$])[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE)=["']?([^\s"'` + "`" + `,;]+)`),
		"password", isValue},
	{"=", regexp.MustCompile(
		`(?:^|[^A-Za-z0-9_$])[A-Z0-9_]*(?:SECRET|TOKEN|CREDENTIALS?|SECRET_KEY|API_?KEY|ACCESS_KEY|PRIVATE_KEY)` +
			`=["']?([^\s"'` + "`" + `,;]{6,})`), "credential", isWordlessValue},
	{"=", regexp.MustCompile(
		`(?i)(?:^|[^a-z0-9_$])[a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|credential)=["']?(` +
			`[^\s"'` + "`" + `,;&]{6,})`), "credential", isRandomWord},
	{":", regexp.MustCompile(
		`(?i)["'][a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|credential)["']\s*:\s*["']([^\s"']{6,})["']`),
		"credential", isRandomWord},
	{": ", regexp.MustCompile(assigned + `["']?\s*:\s+["']?([^\s"'` + "`" + `,;&]{10,})`), "credential", isMixedWord},
	{" = ", regexp.MustCompile(assigned + `\s+=\s+["']?([^\s"'` + "`" + `,;&]{10,})`), "credential", isMixedWord},
	{"</", regexp.MustCompile(assigned + `>([^<\s]{6,})</`), "credential", isRandomWord},
	{"ookie", regexp.MustCompile(
		`(?i)\bcookie["']?\s*:\s*["']?(?:[^=;\s]+=[^;\s]*;\s*)*?[^=;\s]+=([A-Za-z0-9%._~+/-]{16,})`),
		"credential", hasLongPart},
	{"login", regexp.MustCompile(`\blogin\s+\S+\s+password\s+([^\s"'` + "`" + `;]+)`), "password", isValue}, // of .netrc
	{" -p", regexp.MustCompile(
		`\bdocker\s+login\b[^\n|;&,]*?\s-p\s*["']?([^\s"'` + "`" + `;]+)`), "password", isValue},
	{"redis-cli", regexp.MustCompile(
		`\bredis-cli\b[^\n|;&]*?\s-a\s+["']?([^\s"'` + "`" + `;]+)`), "password", isValue},
	{"-key", regexp.MustCompile(`(?i)\b(?:x-)?api-key["']?\s*:\s*["']?([A-Za-z0-9_-]{16,})` + ends),
		"credential", isMixed},
	{"--", regexp.MustCompile(
		`--(?:[a-z]+-)*(?:password|passwd|passphrase|secret|token|api-key)(?:=|\s+)["']?([^\s"'` + "`" + `,;]{6,})`),
		"credential", isRandomWord},
	{" -p", regexp.MustCompile(
		`\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump|-admin)?)\b[^\n|;&]*?\s-p["']?([^\s"'` + "`" + `;]+)`),
		"password", isValue},
	{"sshpass", regexp.MustCompile(`\bsshpass\s+-p\s*["']?([^\s"'` + "`" + `;]+)`), "password", isValue},
	{"curl", regexp.MustCompile(
		`\bcurl\b[^\n|;&]*?\s(?:-u\s*|--user[\s=]+)["']?[^\s:"'$<]+:([^\s"'` + "`" + `;]+)`), "password", isValue},
}

// formIn returns the kind of the first form of forms that s has, or "". A form's own check may
// refuse what its pattern finds.
func formIn(s string) string {
	small := strings.ToLower(s)
	for _, f := range forms {
		if !strings.Contains(small, f.hint) {
			continue
		}
		for _, m := range f.re.FindAllStringSubmatch(s, -1) {
			if f.real == nil || f.real(m[1]) {
				return f.kind
			}
		}
	}
	return ""
}

// omitted is all of what stands in the place of a password that is left out, as in ***,
// ${PASSWORD}, $password or %s.
var omitted = regexp.MustCompile(`^(?:[*xX.•…_-]+|\$(?:[A-Z0-9_]+|[a-z_]+)|\$?[{].*[}]|\[.*\]|%[a-z]|%[A-Z_]+%|(?:YOUR_)?PASSWORD)$`)

// isPassword reports whether what stands in the place of a password may be one.
func isPassword(s string) bool { return !omitted.MatchString(s) }

// placeholder is all of what stands in the place of a value that is given elsewhere, or that is
// none.
var placeholder = regexp.MustCompile(`(?i)^(?:true|false|null|none|nil|required|optional|string|changeme|change_me|` +
	`redacted|example|placeholder|value|your.*|my.*|(?:new|old)?_?(?:password|passwd|passphrase|secret|token|key))$`)

// isValue reports whether what is given as a password, such as in an assignment, may be one: no
// variable, call, path or placeholder.
func isValue(s string) bool {
	s = strings.TrimRight(s, ".)")
	return len(s) >= 4 && !strings.ContainsRune("$<{[(%/~.*-", rune(s[0])) && !strings.ContainsAny(s, "(<") &&
		!omitted.MatchString(s) && !placeholder.MatchString(s)
}

// isWordlessValue is isValue for names that numbers are given to, too, such as MAX_TOKEN.
func isWordlessValue(s string) bool { return isValue(s) && strings.Trim(s, "0123456789.") != "" }

// isRandomWord is isValue for names that stand in programs and in prose: it has digits and letters,
// and is no member of anything.
func isRandomWord(s string) bool {
	return isWordlessValue(s) && strings.ContainsAny(s, "0123456789") &&
		!strings.Contains(strings.TrimRight(s, "."), ".")
}

// isMixedWord is isRandomWord for what may stand in prose behind a colon: it has a letter, and does
// not begin as a date does.
func isMixedWord(s string) bool {
	return isRandomWord(s) && strings.ToLower(s) != strings.ToUpper(s) && !beginsAsDate.MatchString(s)
}

var beginsAsDate = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// isMixed reports whether a value is one that a machine made: letters and digits together, or
// capitals within small letters.
func isMixed(s string) bool {
	hasDigit := strings.ContainsAny(s, "0123456789")
	hasSmall, hasCapital := s != strings.ToUpper(s), s[1:] != strings.ToLower(s[1:]) // a capital may begin a word
	return hasDigit && (hasSmall || hasCapital) || hasSmall && hasCapital
}

// isRandom is isMixed for what is never made of words alone.
func isRandom(s string) bool { return isMixed(s) && strings.ContainsAny(s, "0123456789") }

// hasLongPart reports whether a part between hyphens and the like is long and has digits and
// letters, as no word does.
func hasLongPart(s string) bool {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("-_.~+/=", r) }) {
		if len(part) >= 16 && strings.ContainsAny(part, "0123456789") && strings.Trim(part, "0123456789") != "" {
			return true
		}
	}
	return false
}

// isLetter reports whether b is an ASCII letter.
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// isDigit reports whether b is an ASCII digit.
func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// madeOf reports whether every byte of s is a letter, a digit, or one of others.
func madeOf(s, others string) bool {
	for i := range len(s) {
		if b := s[i]; !isLetter(b) && !isDigit(b) && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}
