package aaep_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"pgregory.net/rapid"
)

// INV-57: text of twelve scripts and everything that spells in them stays as it is.
var mustStay = map[string]string{
	"Latin":              "Pay €12.50 to “Acme & Sons” <now>?\n\tNaïve café",
	"Yoruba":             "Ṣé o fẹ́ san owó náà?",
	"Vietnamese":         "Bạn có muốn trả tiền không?",
	"Cyrillic":           "Оплатить счёт?",
	"Greek":              "Να πληρωθεί;",
	"Arabic":             "ادفع 12 يورو\u200f إلى Acme",
	"Persian with ZWNJ":  "می\u200cخواهم بپردازم",
	"Hebrew":             "לשלם \u200e12\u200f ש״ח?",
	"Hindi with ZWJ":     "क्\u200dष और र्\u200dय",
	"Sinhala with ZWJ":   "ශ්\u200dරී ලංකාව",
	"Tamil":              "பணம் செலுத்தவா?",
	"Thai":               "ต้องการจ่ายเงินไหม",
	"Khmer":              "តើ\u200bអ្នក\u200bចង់\u200bបង់",
	"Chinese":            "要付款吗？𠮷",
	"Japanese, variant":  "支払いますか？ 葛\U000e0100城",
	"Korean":             "결제할까요?",
	"Amharic":            "መክፈል ይፈልጋሉ?",
	"Mongolian, variant": "ᠮᠣᠩᠭᠣᠯ\u180b",
	"emoji family":       "👨‍👩‍👧 and 👩🏽‍🚀",
	"emoji heart":        "❤️ ✈︎ 1️⃣",
	"flags":              "🇳🇬 🏳️‍🌈 🏴‍☠️",
	"flag of England":    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!",
	"balanced isolates":  "to \u2068שלום\u2069 and more",
	"replacement":        "\ufffd",
	"nothing":            "",
}

// What must be made visible, and how.
var mustGo = map[string][2]string{
	"NUL":                  {"a\x00b", "a<U+0000>b"},
	"escape":               {"\x1b[2K\rPay 1", "<U+001B>[2K<U+000D>Pay 1"},
	"backspace":            {"900\b\b\b1", "900<U+0008><U+0008><U+0008>1"},
	"bell and DEL":         {"\a\x7f", "<U+0007><U+007F>"},
	"8-bit CSI":            {"\u009b2J", "<U+009B>2J"},
	"next line":            {"a\u0085b", "a<U+0085>b"},
	"override":             {"to \u202eelpmaxe\u202c", "to <U+202E>elpmaxe<U+202C>"},
	"embedding":            {"\u202aa\u202bb\u202dc", "<U+202A>a<U+202B>b<U+202D>c"},
	"open isolate":         {"a\u2066b", "a<U+2066>b"},
	"isolate closed first": {"a\u2069b\u2067", "a<U+2069>b<U+2067>"},
	"line separators":      {"a\u2028b\u2029", "a<U+2028>b<U+2029>"},
	"annotations":          {"\ufff9a\ufffab\ufffb", "<U+FFF9>a<U+FFFA>b<U+FFFB>"},
	"private use":          {"\ue000\U000f0000\U0010fffd", "<U+E000><U+F0000><U+10FFFD>"},
	"tags":                 {"a\U000e0061\U000e0001", "a<U+E0061><U+E0001>"},
	"flag with a message": {"🏴" + strings.Repeat("\U000e0061", 8),
		"🏴" + strings.Repeat("\U000e0061", 6) + "<U+E0061><U+E0061>"},
	"flag with a blank tag":  {"🏴\U000e0061\U000e0020\U000e0062", "🏴\U000e0061<U+E0020><U+E0062>"},
	"flag ended at once":     {"🏴\U000e007f", "🏴<U+E007F>"},
	"tags after a flag":      {"🏴\U000e0067\U000e007f\U000e0067", "🏴\U000e0067\U000e007f<U+E0067>"},
	"isolate over a line":    {"\u2067Reject\nAccept\u2069", "<U+2067>Reject\nAccept<U+2069>"},
	"fillers":                {"P\u200bay\u00ad 9\u200b0.00 \ufeffE\u2060U\u2062R\u3164\u206a\ufff0", "Pay 90.00 EUR"},
	"marks of nothing":       {"\ufe0fa\ufe0f\ufe0f b \ufe0e\U000e0100c\U000e0101", "a b c"},
	"needless isolates":      {"\u2066a \u2067b\u2069\u2069", "a b"},
	"turned numbers":         {"Pay \u200f100 / 9000", "Pay 100 / 9000"},
	"fillers that hide":      {"a\u200b\u200b\u034f\u1160\u115f\u17b4b", "ab"},
	"word ends":              {"\u1780\u200b\u200bខ\u200b x", "\u1780\u200bខ x"},
	"broken byte":            {"a\xffb", "a<0xFF>b"},
	"overlong":               {"\xc0\xaf", "<0xC0><0xAF>"},
	"surrogate":              {"\xed\xa0\x80", "<0xED><0xA0><0x80>"},
	"broken before isolates": {"\xe2\x81\u2066", "<0xE2><0x81><U+2066>"},
}

// SafeText shows what could deceive or disturb, and leaves everything that people write.
func TestSafeText(t *testing.T) {
	for name, s := range mustStay {
		if got := aaep.SafeText(s); got != s {
			t.Errorf("%s: SafeText(%+q) = %+q, want it unchanged", name, s, got)
		}
	}
	for name, c := range mustGo {
		if got := aaep.SafeText(c[0]); got != c[1] {
			t.Errorf("%s: SafeText(%+q) = %+q, want %+q", name, c[0], got, c[1])
		}
	}
}

var dangerous = rapid.StringOf(rapid.OneOf(
	rapid.SampledFrom([]rune("ab \n\t\x00\x1b\u009b\u202a\u202e\u2066\u2067\u2068\u2069\u2028\ue000🏴\U000e0061\U000e0062\U000e007f\u200c\u200dषश👍🏽\u200b\u00ad\ufe0f\U000e0100\u1160\u1100\u180bកខ漢ᠠ")), rapid.Rune()))

// INV-57: safe(safe(x)) = safe(x), nothing dangerous is left, and no visible character is lost.
func TestSafeTextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSafe(t, dangerous.Draw(t, "text")) })
	rapid.Check(t, func(t *rapid.T) { checkSafe(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))) })
}

// checkSafe checks what SafeText promises of its result for s.
func checkSafe(t interface{ Fatalf(string, ...any) }, s string) {
	safe := aaep.SafeText(s)
	if again := aaep.SafeText(safe); again != safe {
		t.Fatalf("SafeText(%+q) = %+q, and that becomes %+q", s, safe, again)
	}
	depth := 0
	for _, r := range safe {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t', r >= 0x202a && r <= 0x202e, unicode.Is(unicode.Co, r),
			r == 0x2028, r == 0x2029:
			t.Fatalf("SafeText(%+q) = %+q has %U", s, safe, r)
		case r >= 0x2066 && r <= 0x2068:
			depth++
		case r == 0x2069:
			depth--
		}
	}
	if !utf8.ValidString(safe) || depth != 0 {
		t.Fatalf("SafeText(%+q) = %+q is not UTF-8, or leaves isolates open", s, safe)
	}
	if foreignLetters(s) != foreignLetters(safe) && !strings.Contains(safe, "<") {
		t.Fatalf("SafeText(%+q) = %+q lost a letter", s, safe)
	}
}

// foreignLetters returns the letters of s that are not in ASCII.
func foreignLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && r > 0x7f && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return r
		}
		return -1
	}, s)
}

// INV-32: eight times the text takes about eight times as long, not 64 times.
func TestSafeTextIsLinear(t *testing.T) {
	for _, unit := range []string{"\u2066", "\u2066\u2069", "🏴\U000e0061", "\xe2\x81", "e\u0301", "\u202e",
		"\u2067א 1\u2069", "א1,\u200f"} {
		small, large := strings.Repeat(unit, 8000), strings.Repeat(unit, 64000)
		checkLinear(t, fmt.Sprintf("%+q", unit), func() {
			for range 8 {
				aaep.SafeText(small)
			}
		}, func() { aaep.SafeText(large) })
	}
}

// checkLinear fails if the large work takes far longer than as much of it in small pieces. A
// machine that is busy with something else gets more tries: work that grows as a square fails all
// of them.
func checkLinear(t *testing.T, what string, small, large func()) {
	t.Helper()
	took := func(work func()) time.Duration {
		start := time.Now()
		work()
		return time.Since(start)
	}
	pieces, whole := time.Duration(math.MaxInt64/10), time.Duration(math.MaxInt64)
	for range 30 {
		pieces, whole = min(pieces, took(small)), min(whole, took(large))
		if whole <= 5*pieces+20*time.Millisecond { // for a clock that ticks every 16 ms
			return
		}
	}
	t.Errorf("%s: %v in pieces, and %v as a whole", what, pieces, whole)
}

// A text is said in the verbosity that was asked for, or in the nearest it has.
func TestTextAt(t *testing.T) {
	const terse, normal, detailed = "t", "n", "d"
	for _, c := range []struct {
		text aaep.Text
		want [3]string // at terse, normal, detailed
	}{
		{aaep.Text{Terse: terse, Normal: normal, Detailed: detailed}, [3]string{terse, normal, detailed}},
		{aaep.Text{Terse: terse, Detailed: detailed}, [3]string{terse, detailed, detailed}},
		{aaep.Text{Normal: normal}, [3]string{normal, normal, normal}},
		{aaep.Text{Terse: terse}, [3]string{terse, terse, terse}},
		{aaep.Text{Detailed: detailed}, [3]string{detailed, detailed, detailed}},
		{aaep.Text{}, [3]string{}},
	} {
		got := [3]string{c.text.At(aaep.VerbosityTerse), c.text.At(aaep.VerbosityNormal),
			c.text.At(aaep.VerbosityDetailed)}
		if got != c.want {
			t.Errorf("%+v: %v, want %v", c.text, got, c.want)
		}
		if c.text.At("loud") != c.want[1] || c.text.At("") != c.want[1] {
			t.Errorf("%+v: an unknown verbosity is not normal", c.text)
		}
		if c.text.IsZero() != (c.want == [3]string{}) {
			t.Errorf("%+v: IsZero = %v", c.text, c.text.IsZero())
		}
	}
	if aaep.Say("x") != (aaep.Text{Normal: "x"}) {
		t.Error("Say is not of normal length")
	}
}

// D-17: an event without a summary still speaks.
func TestEventTextFallback(t *testing.T) {
	want := map[aaep.Type]string{
		aaep.TypeSessionStarted:        "The agent started.",
		aaep.TypeSessionCompleted:      "The agent finished.",
		aaep.TypeSessionErrored:        "The agent failed: transient.",
		aaep.TypeSessionCancelled:      "Cancelled by user.",
		aaep.TypeStateChanged:          "The agent is now: reading mail.",
		aaep.TypeProgressUpdated:       "Reading.",
		aaep.TypeToolInvoked:           "Using the tool pay.",
		aaep.TypeToolCompleted:         "pay: error. No.",
		aaep.TypeOutputStreaming:       "Done.",
		aaep.TypeAwaitingConfirmation:  "Pay 12 euros. The money is gone.",
		aaep.TypeAwaitingClarification: "Which?",
		aaep.TypeHandoffRequested:      "Handing over to human: Sign.",
	}
	for _, p := range allPayloads() {
		if got := (&aaep.Event{Payload: p}).Text(aaep.VerbosityNormal); got != want[p.EventType()] {
			t.Errorf("%s without summary says %q, want %q", p.EventType(), got, want[p.EventType()])
		}
		if got := (&aaep.Event{Payload: p, Summary: aaep.Text{Detailed: "long"}}).Text(aaep.VerbosityTerse); got != "long" {
			t.Errorf("%s says %q, not its summary", p.EventType(), got)
		}
	}
	for said, g := range map[string]aaep.Progress{
		"37.5 percent.": {Percent: pointerTo(37.5), Step: 3, TotalSteps: 8}, "Step 3 of 8.": {Step: 3, TotalSteps: 8},
		"The agent made progress.": {Step: 3}, "33.3 percent.": {Percent: pointerTo(100.0 / 3)},
	} {
		if got := (&aaep.Event{Payload: &aaep.ProgressUpdated{Progress: g}}).Text(""); got != said {
			t.Errorf("%+v says %q, want %q", g, got, said)
		}
	}
	for said, p := range map[string]aaep.HandoffRequested{
		"Handing over to Billing team: Sign.": {Reason: "Sign.", Target: "Billing team",
			TargetKind: aaep.TargetSpecialistAgent},
		"Handing over to somebody else: Sign.": {Reason: "Sign."},
	} {
		if got := (&aaep.Event{Payload: &p}).Text(""); got != said { // D-25
			t.Errorf("%+v says %q, want %q", p, got, said)
		}
	}
	if got := (&aaep.Event{Payload: &aaep.SessionErrored{ErrorCategory: aaep.ErrorRequiresUser}}).Text(""); got != "The agent failed: requires user." {
		t.Errorf("a failure says %q", got)
	}
	if got := (&aaep.Event{Payload: &aaep.ExtensionPayload{Type: "medai:vitals"}}).Text(""); got != "medai:vitals" {
		t.Errorf("an unknown event says %q", got)
	}
}

// The language of an output's chunk comes before that of its event.
func TestEventLanguage(t *testing.T) {
	hints := &aaep.LocalizationHints{PrimaryLanguage: "yo"}
	for want, e := range map[string]*aaep.Event{
		"":   {Payload: &aaep.OutputStreaming{}},
		"yo": {Payload: &aaep.OutputStreaming{}, LocalizationHints: hints},
		"en": {Payload: &aaep.OutputStreaming{Language: "en"}, LocalizationHints: hints},
	} {
		if got := e.Language(); got != want {
			t.Errorf("Language() = %q, want %q", got, want)
		}
	}
}

// I18N-002: the form of BCP 47.
func TestValidLanguageTag(t *testing.T) {
	for s, want := range map[string]bool{
		"en": true, "en-US": true, "zh-Hant-TW": true, "i-klingon": true, "x": true, "EN-us": true, "es-419": true,
		"": false, "-": false, "en-": false, "-en": false, "en_US": false, "e1": false, "12": false, "abcdefghi": false,
		"en-abcdefghi": false, "én": false, "en US": false, "en\n": false, "en--US": false,
	} {
		if got := aaep.ValidLanguageTag(s); got != want {
			t.Errorf("ValidLanguageTag(%q) = %v", s, got)
		}
	}
}
