package coalesce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

var segCuts = []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion}

// segTexts are texts with their sentences, divided by |. A ¶ in front of | says that a paragraph ends
// there, everything else ends a sentence.
var segTexts = map[string]string{
	"english":          "Hello world. |Next one! |And is this the last?! |Yes.",
	"one sentence":     "No mark at all",
	"decimals":         "It is $3.14 now. |Was v1.2 or 1,000.50. |See example.com/a.b?c=d.e for more.",
	"file names":       "Open main.go first. |Then .env and ../x.y too.",
	"titles":           "Dr. Okafor met Mr. Lee and Prof. Ade. |They left.",
	"latin":            "Use a manager, e.g. Bitwarden, i.e. one key. |Pens, paper, etc. are here.",
	"etc before start": "Bring pens, etc. |Then take a seat. |They live in the U.S. |It is big. |The U.S. Senate voted.",
	"initials":         "J. R. R. Tolkien wrote it. |W. E. B. Du Bois did not.",
	"list":             "Steps:¶\n\n|1. Open it.\n|2. Choose \"Yes\".\n  |10. Done.",
	"letters":          "a. One\n|b. Two",
	"heading":          "# Title\n|Some text.¶\n\n|More.",
	"number words":     "See Fig. 2 and No. 5. |No. |That is all.",
	"months":           "It is on Jan. 5, at 10 a.m. sharp.",
	"ellipsis":         "Let me think... |Okay, wait… what? |It was, well... odd.",
	"quotes":           "\"Is it ready?\" she asked. |\"It works.\" |He said, \"Stop!\" |All left.",
	"brackets":         "It failed (see Fig. 2). |(The second did not.) |So (finally!) we went.",
	"emphasis":         "**Are you sure?** |*Answer yes or no.* |Thanks.",
	"references":       "It helps.[1] |So does this.[2][^3] |It ends.",
	"informal":         "i think it is done. |we can go now. |ok.",
	"crlf":             "One.\r\n|Two.¶\r\n\r\n|Three.¶\r\n \r\n|Four",
	"unicode lines":    "One\u2028|Two¶\u2029|Three\u0085|Four",
	"blank lines":      "\n\n One.¶\n\n \n |Two.",
	"french":           "Vraiment\u00a0? |Il a dit\u00a0: «\u00a0C’est prêt\u00a0!\u00a0» |Ensuite, il est parti.",
	"spanish":          "¿Lo envío ahora? |¡Perfecto! |Cuesta 3.500,75 euros.",
	"german":           "Er sagte: „Komm.“ |Dann ging er. |»Nein!« |Doch.",
	"arabic":           "تم حفظ الملف بنجاح. |هل تريد إرساله الآن؟ |نعم، أرسله إلى د. أحمد! |شكرا.",
	"arabic tight":     "هل هو جاهز؟|نعم۔|شكرا",
	"arabic marks":     "قال: «انتهى العمل.»\u200f |ثم غادر.",
	"hebrew":           "הקובץ נשמר. |האם לשלוח? |תודה!",
	"amharic":          "ፋይሉ ተቀምጧል። |አሁን ልላከው? |እባክዎ ይጠብቁ፤ ጊዜ ይወስዳል። |አመሰግናለሁ!",
	"amharic tight":    "ፋይሉ፡ተቀምጧል።|አሁን፡ልላከው፧|እሺ።",
	"hindi":            "फ़ाइल सहेज ली गई है। |क्या भेज दूँ? |डॉ. शर्मा ने 3.5 लाख दिए॥ |धन्यवाद!",
	"hindi tight":      "यह है।|वह है।",
	"japanese":         "保存しました。|今すぐ送信しますか？|はい、お願いします！|合計は3.5秒です。",
	"japanese quotes":  "「行きましょう。」と彼は言った。|「はい。」|外は雨。|「次」だ。",
	"japanese doto":    "「はい。」|と\u3099うして？|「そう。」と言う。|**太字。**|次。|**太字**です。",
	"long word":        "abcdefghijklmnopqrstuvwxyDr. |Bob.",
	"japanese ascii":   "本当?|はい!|行く。",
	"chinese":          "请打开 README.md。|访问 https://example.com/a.html，查看。|“走吧。”|他走了。",
	"korean":           "파일을 저장했습니다. |보낼까요? |네!",
	"yoruba":           "Mo ti fi fáìlì náà pamọ́. |Ṣé kí n fi ránṣẹ́? |Ọ̀gbẹ́ni Adé ní o. |Ẹ ṣé!",
	"yoruba NFD":       norm.NFD.String("Mo ti fi fáìlì náà pamọ́. |Ṣé ó dára? |Ẹ ṣéun o!"),
	"igbo":             "Ọ dị mma a. |Daalụ!",
	"khmer":            "រក្សាទុក។ |អរគុណ។",
	"thai":             "ฉันบันทึกไฟล์แล้ว คุณต้องการส่งไหม¶\n\n|ขอบคุณค่ะ",
	"emoji":            "Done 👩‍👩‍👧‍👦! |Next 🇳🇬🇪🇹 👍🏽. |It passed! |🎉 Go.",
	"keycaps":          "Press 1️⃣. |Then ‼️ |2️⃣.",
	"clusters":         "東。\u0e33x。|京؟|\u0600م؟|\u0600م",
	"mixed":            "The sign says 小心地滑。 |It is wet.",
}

// segSplit returns the text and the pieces of a segTexts entry at cut sentence.
func segSplit(marked string) (text string, want []Piece) {
	parts := strings.Split(marked, "|")
	for i, p := range parts {
		b := aaep.BoundarySentence
		if strings.Contains(p, "¶") {
			b, p = aaep.BoundaryParagraph, strings.ReplaceAll(p, "¶", "")
		}
		if i == len(parts)-1 {
			b = aaep.BoundaryCompletion
		}
		want = append(want, Piece{Text: norm.NFC.String(p), Boundary: b, Source: len(p)})
		text += p
	}
	return text, want
}

// segment feeds tokens to a new Segmenter.
func segment(cut aaep.Boundary, limit int, tokens ...string) []Piece {
	s := NewSegmenter(cut, limit)
	var pieces []Piece
	for _, tok := range tokens {
		pieces = append(pieces, s.Write(tok)...)
	}
	return append(pieces, s.Flush(true)...)
}

// segEvery divides text into tokens of n runes, or of -n bytes where n is negative.
func segEvery(text string, n int) (tokens []string) {
	for len(text) > 0 {
		end := min(max(-n, 0), len(text))
		for range n {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		tokens = append(tokens, text[:end])
		text = text[end:]
	}
	return tokens
}

// segWays is text divided in many ways.
func segWays(text string) [][]string {
	ways := [][]string{{text}}
	for _, n := range []int{1, 2, 3, 5, 7, -1, -2, -3} {
		ways = append(ways, segEvery(text, n))
	}
	return ways
}

// D-52, HS-071: the sentences of texts in many languages, however they are divided.
func TestSegmenterSentences(t *testing.T) {
	for name, marked := range segTexts {
		t.Run(name, func(t *testing.T) {
			text, want := segSplit(marked)
			for _, tokens := range segWays(text) {
				if got := segment(aaep.BoundarySentence, 0, tokens...); !slices.Equal(got, want) {
					t.Fatalf("in %d tokens\ngot  %+v\nwant %+v", len(tokens), got, want)
				}
			}
			for i := range text { // every place one token could end
				if got := segment(aaep.BoundarySentence, 0, text[:i], text[i:]); !slices.Equal(got, want) {
					t.Fatalf("cut at %d\ngot  %+v\nwant %+v", i, got, want)
				}
			}
		})
	}
}

// EVT-060, D-28: where each cut cuts, and what each piece is called.
func TestSegmenterCuts(t *testing.T) {
	const text = "Hi, you there. How\nare you?\n\nBye now"
	for cut, want := range map[aaep.Boundary]string{
		aaep.BoundaryWord:       "Hi, /word|you /word|there. /sentence|How\n/sentence|are /word|you?\n\n/paragraph|Bye /word|now/completion",
		aaep.BoundarySentence:   "Hi, you there. /sentence|How\n/sentence|are you?\n\n/paragraph|Bye now/completion",
		aaep.BoundaryParagraph:  "Hi, you there. How\nare you?\n\n/paragraph|Bye now/completion",
		aaep.BoundaryCompletion: text + "/completion",
		"":                      "Hi, you there. /sentence|How\n/sentence|are you?\n\n/paragraph|Bye now/completion",
	} {
		for _, tokens := range segWays(text) {
			if got := segFormat(segment(cut, 0, tokens...)); got != want {
				t.Fatalf("%q\ngot  %q\nwant %q", cut, got, want)
			}
		}
	}
}

func segFormat(pieces []Piece) string {
	var parts []string
	for _, p := range pieces {
		parts = append(parts, p.Text+"/"+string(p.Boundary))
	}
	return strings.Join(parts, "|")
}

// I18N-013: words in scripts with and without spaces, never a mark without its base.
func TestSegmenterWords(t *testing.T) {
	for _, marked := range []string{
		"Well-known |“words”, |don't |split |(at |all).",
		"Ọ̀gbẹ́ni |Adé |ní |o.",
		"ሰላም፡|ለዓለም።|እሺ",
		"東|京に|行きます。|カタカナと|漢|字、|「はい」",
		"ok |小|心|地|滑",
		"👩‍👩‍👧‍👦 |👍🏽👍🏽 |x",
		"ภาษาไทย |ดี",
		"a \u0301b |c",
	} {
		want := strings.Split(marked, "|")
		text := strings.Join(want, "")
		for _, tokens := range segWays(text) {
			var got []string
			for _, p := range segment(aaep.BoundaryWord, 0, tokens...) {
				got = append(got, p.Text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
				break
			}
		}
	}
}

// Every cut between words is one of UAX #29's, an independent implementation says.
func TestSegmenterWordsAreUAX29(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := norm.NFC.String(segText(t))
		bounds := map[int]bool{}
		for w := words.FromString(text); w.Next(); {
			bounds[w.End()] = true
		}
		at := 0
		for _, p := range segment(aaep.BoundaryWord, 0, text) {
			at += len(p.Text)
			if r, _ := utf8.DecodeRuneInString(text[at:]); unicode.Is(unicode.Cf, r) {
				continue // WB4 leaves a direction mark with the space before it, we give it to its word
			}
			if p.Boundary == aaep.BoundaryWord && !bounds[at] {
				t.Fatalf("%q is cut at %d, inside a word", text, at)
			}
		}
	})
}

// segText draws text of mixed alphabets, rich in what is hard.
func segText(t *rapid.T) string {
	part := rapid.SampledFrom([]string{
		".", ". ", "...", "…", "!", "? ", "?", " ", " ", "  ", "\n", "\n\n", "\r\n", "\r", "\u2029", "\u00a0", "\u3000", "\u200b", "\u200f",
		"\"", "'", "”", "“", "«", "»", "(", ")", "[", "]", "*", "_", ",", ", ", ";", ":", "-", "—", "`", "$", "1", "3.14", "٣", "[1]",
		"a", "b", "The", "It ", "he ", "U.S.", "Dr.", "etc. ", "e.g. ", "No. ", "J.", "Bob", "x", "É", "e\u0301", "\u0301", "\u0323\u0301", "\u0316",
		"a\u0302\u0301", "Ọ̀", "ṣ", "。", "！", "？", "、", "「", "」", "東", "京", "か", "ka\u3099", "か\u3099", "カ", "ー", "ﾞ", "と", "と\u3099", "。」", "っ",
		"።", "፡", "፤", "ሰ", "ላ", "؟", "،", "م", "لا", "ُ", "।", "॥", "क", "क\u094d", "ष", "\u093c", "ि", "क़", "ไ", "ย", "ำ", "ខ", "។",
		"👩", "\u200d", "👧", "👍🏽", "🇳", "🇬", "️", "1️⃣", "‼️", "ᄀ", "ᅡ", "ᆨ", "한", "\u0600", "\u037e", "\u1100\u1161", "𝅗𝅥", "\u0344", "\u034f", "\u0e33",
	})
	return strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "")
}

// checkSegmenter checks what holds for any text, limit, cut and division into tokens.
func checkSegmenter(t interface{ Fatalf(string, ...any) }, cut aaep.Boundary, limit int, tokens []string) []Piece {
	text := strings.Join(tokens, "")
	s := NewSegmenter(cut, limit)
	var pieces []Piece
	fed, used := 0, 0
	for _, tok := range tokens {
		got := s.Write(tok)
		fed += len(tok)
		for _, p := range got {
			used += p.Source
		}
		if (s.Held() == 0) != (fed == used) || limit > 0 && s.Held() > max(limit, utf8.UTFMax)+200 {
			t.Fatalf("Held() = %d after %d of %d bytes", s.Held(), used, fed)
		}
		pieces = append(pieces, got...)
	}
	pieces = append(pieces, s.Flush(true)...)
	if s.Held() != 0 {
		t.Fatalf("Held() = %d after Flush", s.Held())
	}

	var joined strings.Builder
	source := 0
	for i, p := range pieces {
		joined.WriteString(p.Text)
		source += p.Source
		switch last := i == len(pieces)-1; {
		case p.Text == "" || p.Source < 0:
			t.Fatalf("piece %d of %q is %+v", i, text, p)
		case limit > 0 && len(p.Text) > max(limit, utf8.UTFMax):
			t.Fatalf("piece %d has %d bytes, limit %d", i, len(p.Text), limit)
		case last != (p.Boundary == aaep.BoundaryCompletion):
			t.Fatalf("piece %d of %d is labelled %q", i, len(pieces), p.Boundary)
		case p.Boundary == aaep.BoundaryNone && limit <= 0, p.Boundary != aaep.BoundaryNone && boundaryRank(p.Boundary) < boundaryRank(cut):
			t.Fatalf("piece %d is labelled %q at cut %q", i, p.Boundary, cut)
		case !last && limit <= 0 && strings.TrimSpace(p.Text) == "":
			t.Fatalf("piece %d of %q is blank", i, text)
		}
	}
	if joined.String() != norm.NFC.String(text) { // I18N-010, INV-28
		t.Fatalf("pieces of %+q are %+q, want %+q", text, joined.String(), norm.NFC.String(text))
	}
	if source != len(text) {
		t.Fatalf("sources of %q sum to %d, want %d", text, source, len(text))
	}
	edges, longest := map[int]bool{}, 0
	for g := graphemes.FromString(joined.String()); g.Next(); {
		edges[g.End()] = true
		longest = max(longest, len(g.Value()))
	}
	at, whole := 0, utf8.ValidString(text) && (limit <= 0 || longest <= limit)
	for _, p := range pieces { // INV-28, I18N-013
		if at += len(p.Text); whole && !edges[at] {
			t.Fatalf("%+q: a cluster is split at %d", joined.String(), at)
		}
	}
	return pieces
}

// segDivide draws a way to divide text into tokens, which may end inside a character.
func segDivide(t *rapid.T, text string) (tokens []string) {
	for len(text) > 0 {
		n := min(rapid.IntRange(1, 12).Draw(t, "token"), len(text))
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

// INV-28, HS-071: the division into tokens changes nothing, nothing is lost, no cluster is split.
func TestSegmenterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := segText(t)
		cut := rapid.SampledFrom(segCuts).Draw(t, "cut")
		limit := rapid.SampledFrom([]int{0, 0, 1, 4, 7, 16, 40, 100}).Draw(t, "limit")
		want := checkSegmenter(t, cut, limit, []string{text})
		for _, tokens := range append(segWays(text), segDivide(t, text)) {
			if got := checkSegmenter(t, cut, limit, tokens); !slices.Equal(got, want) {
				t.Fatalf("%+q by %d tokens %q\ngot  %+v\nwant %+v", text, len(tokens), tokens, got, want)
			}
		}
	})
}

// A pause may change the pieces, but loses nothing, splits no cluster, and says nothing unfinished.
func TestSegmenterPauseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := segText(t)
		s := NewSegmenter(rapid.SampledFrom(segCuts).Draw(t, "cut"), 0)
		var joined string
		source, edges := 0, []int(nil)
		add := func(pieces []Piece) {
			for _, p := range pieces {
				joined += p.Text
				source += p.Source
				edges = append(edges, len(joined))
			}
		}
		for _, tok := range segDivide(t, text) {
			add(s.Write(tok))
			if !rapid.Bool().Draw(t, "pause") {
				continue
			}
			pieces := s.Pause()
			if len(pieces) > 1 || len(pieces) == 1 && s.Held() > 0 {
				t.Fatalf("Pause() = %+v, and %d bytes held", pieces, s.Held())
			}
			add(pieces)
			if again := s.Pause(); len(again) > 0 {
				t.Fatalf("Pause again = %+v", again)
			}
		}
		add(s.Flush(true))
		// A mark that comes after a pause can no longer count towards an overflow of marks before it.
		if joined != norm.NFC.String(text) || source != len(text) {
			t.Fatalf("%+q became %+q, %d bytes of %d", text, joined, source, len(text))
		}
	})
}

// FuzzSegmenter is TestSegmenterProperties for arbitrary bytes.
func FuzzSegmenter(f *testing.F) {
	for _, marked := range segTexts {
		text, _ := segSplit(marked)
		f.Add(text, uint8(1), uint16(0), uint8(3))
	}
	f.Add("a\xff\x80. B", uint8(0), uint16(5), uint8(1))
	f.Add("a"+strings.Repeat("\u0301", 40)+" b", uint8(1), uint16(20), uint8(1))
	f.Add(strings.Repeat("\u1161", 70)+".", uint8(1), uint16(0), uint8(2))
	f.Add("\xf0\x9f\x91", uint8(1), uint16(0), uint8(1))
	f.Fuzz(func(t *testing.T, text string, cut uint8, limit uint16, step uint8) {
		b := segCuts[int(cut)%len(segCuts)]
		want := checkSegmenter(t, b, int(limit), []string{text})
		for _, n := range []int{1, int(step)%9 + 1, -1, -int(step)%5 - 1} {
			if got := checkSegmenter(t, b, int(limit), segEvery(text, n)); !slices.Equal(got, want) {
				t.Fatalf("%+q by %d\ngot  %+v\nwant %+v", text, n, got, want)
			}
		}
	})
}

// Long runs of combining marks get the joiners of the Stream-Safe Text Format, as norm.NFC gives them.
func TestSegmenterStreamSafe(t *testing.T) {
	for _, text := range []string{
		"a" + strings.Repeat("\u0301", 100) + ". B",
		strings.Repeat("\u0323\u0301", 50),
		strings.Repeat("\u1161", 100) + "x",
		"e" + strings.Repeat("\u0305", 34) + "\u0316 b",
		"a" + strings.Repeat("\u0344", 15) + " b", // twice as long in NFC
	} {
		for _, tokens := range segWays(text) {
			checkSegmenter(t, aaep.BoundarySentence, 0, tokens)
			checkSegmenter(t, aaep.BoundarySentence, 50, tokens)
			checkSegmenter(t, aaep.BoundarySentence, 4, tokens)
		}
	}
}

func TestSegmenterMax(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cut   aaep.Boundary
		limit int
		text  string
		want  string
	}{
		{"word", aaep.BoundarySentence, 12, "one two three four", "one two /none|three four/completion"},
		{"word wanted", aaep.BoundaryWord, 6, "abcdefghij kl", "abcdef/none|ghij /word|kl/completion"},
		{"clause", aaep.BoundarySentence, 16, "one two, so three four", "one two, /none|so three four/completion"},
		{"clause too early", aaep.BoundarySentence, 16, "a, two three four five", "a, two three /none|four five/completion"},
		{"ideographic clause", aaep.BoundarySentence, 20, "春天来了，大家都很高兴", "春天来了，/none|大家都很高兴/completion"},
		{"sentence", aaep.BoundaryParagraph, 20, "One two. Three, four, five", "One two. /none|Three, four, five/completion"},
		{"sentence in completion", aaep.BoundaryCompletion, 12, "A b.\n\nC d. E f g", "A b.\n\n/none|C d. E f g/completion"},
		{"fits exactly", aaep.BoundarySentence, 6, "Hello. Bye. ", "Hello./none| Bye. /completion"},
		{"fits with space", aaep.BoundarySentence, 7, "Hello. Bye. ", "Hello. /sentence|Bye. /completion"},
		{"undecided", aaep.BoundarySentence, 12, "In the U.S. It is", "In the U.S. /none|It is/completion"},
		{"decided later", aaep.BoundarySentence, 13, "aaaaaa, U.S. It is", "aaaaaa, /none|U.S. /sentence|It is/completion"},
		{"cluster", aaep.BoundarySentence, 30, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦/none|👩‍👩‍👧‍👦/completion"},
		{"flags", aaep.BoundarySentence, 20, "🇳🇬🇪🇹🇳🇬🇪🇹", "🇳🇬🇪🇹/none|🇳🇬🇪🇹/completion"},
		{"NFC counts", aaep.BoundarySentence, 6, "e\u0301e\u0301e\u0301e\u0301", "ééé/none|é/completion"},
		{"huge cluster", aaep.BoundarySentence, 10, "👩‍👩‍👧‍👦", "👩‍/none|👩‍/none|👧‍/none|👦/completion"},
		{"spaces", aaep.BoundarySentence, 4, "a" + strings.Repeat(" ", 9) + "b", "a   /none|    /none|  b/completion"},
		{"tiny", aaep.BoundarySentence, 1, "a👍", "a/none|👍/completion"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, tokens := range segWays(tt.text) {
				if got := segFormat(segment(tt.cut, tt.limit, tokens...)); got != tt.want {
					t.Fatalf("%d tokens\ngot  %q\nwant %q", len(tokens), got, tt.want)
				}
			}
		})
	}
}

// A listener is not kept waiting: what is out after each character.
func TestSegmenterLookahead(t *testing.T) {
	for _, tt := range []struct{ held, ends string }{
		{"Hello. ", "W"},
		{"Hello! ", "W"},
		{"保存しました。", "今"},
		{"ተቀምጧል።", "አ"},
		{"He said \"Go.\" ", "T"},
		{"Yes. ", "(T"},
		{"In the U.S. ", "It "},
		{"Title\n", "S"},
		{"Wait… ", "É"},
	} {
		s := NewSegmenter(aaep.BoundarySentence, 0)
		if got := s.Write(tt.held); len(got) > 0 {
			t.Errorf("%q: out too early", tt.held)
		}
		var got []Piece
		for i, tok := range segEvery(tt.ends, 1) {
			if len(got) > 0 {
				t.Errorf("%q: out after %d of %q", tt.held, i, tt.ends)
			}
			got = append(got, s.Write(tok)...)
		}
		if len(got) != 1 || got[0].Text != tt.held {
			t.Errorf("%q + %q = %+v", tt.held, tt.ends, got)
		}
	}
}

func TestSegmenterPause(t *testing.T) {
	const none = ""
	for _, tt := range []struct {
		text string
		want aaep.Boundary
	}{
		{"Hello.", aaep.BoundarySentence},
		{"Hello. ", aaep.BoundarySentence},
		{"Hello.\n", aaep.BoundarySentence},
		{"Hello.\n\n", aaep.BoundaryParagraph},
		{"Title\n", aaep.BoundarySentence},
		{"Really?!", aaep.BoundarySentence},
		{"He said \"Go.\" ", aaep.BoundarySentence},
		{"(So.)", aaep.BoundarySentence},
		{"**So.**", aaep.BoundarySentence},
		{"It helps.[1]", aaep.BoundarySentence},
		{"Let me think...", aaep.BoundarySentence},
		{"No.", aaep.BoundarySentence},
		{"It is 3. ", aaep.BoundarySentence},
		{"هل هو جاهز؟", aaep.BoundarySentence},
		{"شكرا.\u200f", aaep.BoundarySentence},
		{"ተቀምጧል።", aaep.BoundarySentence},
		{"ልላከው፧ ", aaep.BoundarySentence},
		{"वह है।", aaep.BoundarySentence},
		{"はい。」", aaep.BoundarySentence},
		{"本当？", aaep.BoundarySentence},
		{"Ẹ ṣé!", aaep.BoundarySentence},
		{"", none},
		{" \n\n", none},
		{"Hello", none},
		{"Hello ", none},
		{"Hello, ", none},
		{"It is 3.", none},
		{"1.", none},
		{"1. ", none},
		{"a) ", none},
		{"Ask Dr.", none},
		{"Ask Dr. ", none},
		{"One, e.g. ", none},
		{"See Fig. ", none},
		{"In the U.S. ", none},
		{"In the U.S. I", none},
		{"by J.", none},
		{"Done. \"", none},
		{"It helps.[1", none},
		{"One\r", none},
		{"👩‍👩‍👧‍👦", none},
		{"Cafe\u0301", none},
	} {
		for _, cut := range []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence} {
			s := NewSegmenter(cut, 0)
			before := s.Write(tt.text)
			text := tt.text
			for _, p := range before {
				text = text[p.Source:]
			}
			got := s.Pause()
			switch {
			case tt.want == none && len(got) > 0, tt.want != none && (len(got) != 1 || got[0] != Piece{text, tt.want, len(text)}):
				t.Errorf("%q, cut %s: Pause() = %+v, want %q", tt.text, cut, got, tt.want)
			}
		}
		for _, cut := range []aaep.Boundary{aaep.BoundaryParagraph, aaep.BoundaryCompletion} {
			s := NewSegmenter(cut, 0)
			s.Write(tt.text)
			if got := s.Pause(); len(got) > 0 {
				t.Errorf("%q, cut %s: Pause() = %+v", tt.text, cut, got)
			}
		}
	}
}

// A pause without a complete sentence changes nothing, and one behind a sentence nothing after it.
func TestSegmenterAfterPause(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Pi is 3.⏸14. |Ok", "Pi is 3.14. |Ok"},
		{"Done.⏸\u0301 Ok", "Done.|\u0301 Ok"},
		{"Cafe⏸\u0301 is. ⏸Ok", "Café is. |Ok"},
		{"Ask Dr. ⏸Ade. ⏸|Ok", "Ask Dr. Ade. |Ok"},
		{"One.⏸ Two. Three", "One.| Two. |Three"},
		{"One.\n⏸\n1. Two", "One.\n|\n1. Two"},
		{"One.\r⏸\nTwo", "One.\r\n|Two"},
		{"They went to the U.S. ⏸I|t was. ", "They went to the U.S. |It was. "},
	} {
		s := NewSegmenter(aaep.BoundarySentence, 0)
		var got []string
		for part := range strings.SplitSeq(strings.ReplaceAll(tt.text, "|", ""), "⏸") {
			for _, p := range append(s.Write(part), s.Pause()...) {
				got = append(got, p.Text)
			}
		}
		for _, p := range s.Flush(true) {
			got = append(got, p.Text)
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q\ngot  %q\nwant %q", tt.text, s, tt.want)
		}
	}
}

func TestSegmenterFlush(t *testing.T) {
	for _, tt := range []struct {
		text       string
		cut        aaep.Boundary
		more, last string // not final, final
	}{
		{"", aaep.BoundarySentence, "", ""},
		{"Hello", aaep.BoundaryWord, "Hello/none", "Hello/completion"},
		{"Hello ", aaep.BoundaryWord, "Hello /word", "Hello /completion"},
		{"Hello ", aaep.BoundarySentence, "Hello /none", "Hello /completion"},
		{"Hello.", aaep.BoundarySentence, "Hello./sentence", "Hello./completion"},
		{"Hello. ", aaep.BoundaryParagraph, "Hello. /none", "Hello. /completion"},
		{"Hello.\n\n", aaep.BoundarySentence, "Hello.\n\n/paragraph", "Hello.\n\n/completion"},
		{"Hello.\n\n", aaep.BoundaryCompletion, "Hello.\n\n/none", "Hello.\n\n/completion"},
		{"Ask Dr.", aaep.BoundarySentence, "Ask Dr./none", "Ask Dr./completion"},
		{"In the U.S. It", aaep.BoundarySentence, "In the U.S. /sentence|It/none", "In the U.S. /sentence|It/completion"},
		{"In the U.S. I", aaep.BoundaryWord, "U.S. /sentence|I/none", "U.S. /sentence|I/completion"},
		{"In the U.S. Sen", aaep.BoundaryWord, "U.S. /word|Sen/none", "U.S. /word|Sen/completion"},
		{"Done. \"", aaep.BoundarySentence, "Done. /sentence|\"/none", "Done. /sentence|\"/completion"},
		{"はい。", aaep.BoundarySentence, "はい。/sentence", "はい。/completion"},
		{" \n", aaep.BoundarySentence, " \n/sentence", " \n/completion"},
		{"Cafe\u0301", aaep.BoundarySentence, "Café/none", "Café/completion"},
		{"x\xe2\x80", aaep.BoundarySentence, "x\xe2\x80/none", "x\xe2\x80/completion"},
	} {
		for _, final := range []bool{false, true} {
			s := NewSegmenter(tt.cut, 0)
			s.Write(tt.text)
			want := tt.more
			if final {
				want = tt.last
			}
			if got := segFormat(s.Flush(final)); got != want || s.Held() != 0 {
				t.Errorf("%q, cut %s: Flush(%t) = %q, want %q; %d held", tt.text, tt.cut, final, got, want, s.Held())
			}
			if got := s.Flush(final); len(got) > 0 {
				t.Errorf("%q: Flush(%t) again = %+v", tt.text, final, got)
			}
		}
	}
}

// After a final Flush nothing is left of the text before.
func TestSegmenterReuse(t *testing.T) {
	s := NewSegmenter(aaep.BoundarySentence, 30)
	for range 3 {
		for _, text := range []string{"Ask Dr.", "1. One", "\u0301x. Y", "e.g. so"} {
			got := append(s.Write(text), s.Flush(true)...)
			if want := segment(aaep.BoundarySentence, 30, text); !slices.Equal(got, want) {
				t.Errorf("%q = %+v, want %+v", text, got, want)
			}
		}
	}
}

// Text split by a Flush in between goes on as one text: marks and sentence starts are remembered.
func TestSegmenterGoesOnAfterFlush(t *testing.T) {
	s := NewSegmenter(aaep.BoundarySentence, 0)
	got := append(s.Write("Ask Dr"), s.Flush(false)...)
	got = append(got, s.Write(". Ade. Then")...)
	got = append(got, s.Flush(true)...)
	if want := "Ask Dr/none|. Ade. /sentence|Then/completion"; segFormat(got) != want {
		t.Errorf("got %q, want %q", segFormat(got), want)
	}
}

// Deciding in front of a character before its marks are there needs that marks change no class, and
// ending a pause there needs that nothing composes with what stands last.
func TestClassesSurviveComposition(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		nfd, nfc := []rune(norm.NFD.String(string(r))), []rune(norm.NFC.String(string(r)))
		if a, b := classOf(r), classOf(nfc[0]); a != b || wideScript(r) != wideScript(nfc[0]) {
			t.Errorf("%U is of class %d, %U of class %d", r, a, nfc[0], b)
		}
		if len(nfd) < 2 || len(nfc) > 1 {
			continue
		}
		base := nfd[0]
		if a, b := classOf(base), classOf(r); a != b || wideScript(base) != wideScript(r) {
			t.Errorf("%U is of class %d, %U of class %d", base, a, r, b)
		}
		if closing[classOf(base)] {
			t.Errorf("%U ends a sentence and composes to %U", base, r)
		}
	}
}

// segHard repeats what a rescan would make quadratic.
var segHard = map[string]string{
	"letters": "a", "spaces": " ", "dots": ".", "quotes": "\"", "lines": "\n", "crlf": "\r\n", "marks": "\u0301", "jamo": "\u1161",
	"ideographs": "漢", "joiners": "👩\u200d", "flags": "🇳", "words": "ab ", "commas": "a, ", "openers": ". (", "cites": ".[1", "invalid": "\x80",
	"nukta": "\u0958", "kana": "か\u3099", "zwsp": "\u200b", "waits": "U.S. Aaa",
}

// segBytes feeds text byte by byte and returns how many bytes came out.
func segBytes(t *testing.T, cut aaep.Boundary, limit int, text string) (n int) {
	s := NewSegmenter(cut, limit)
	for i := range len(text) {
		for _, p := range s.Write(text[i : i+1]) {
			n += p.Source
		}
		if limit > 0 && s.Held() > limit+200 {
			t.Fatalf("holds %d bytes at limit %d", s.Held(), limit)
		}
	}
	for _, p := range s.Flush(true) {
		n += p.Source
	}
	return n
}

// Time is linear and memory bounded: 1 MiB byte by byte ends soon, and four times the text takes about
// four times as long (a rescan of all that is held would take 16 times).
func TestSegmenterLinear(t *testing.T) {
	for name, unit := range segHard {
		t.Run(name, func(t *testing.T) {
			size := 1 << 17
			if name == "letters" {
				size = 1 << 20
			}
			text := strings.Repeat(unit, size/len(unit))
			if n := segBytes(t, aaep.BoundarySentence, 1<<16, text); n != len(text) {
				t.Errorf("%d of %d bytes", n, len(text))
			}
			for _, cut := range segCuts[:2] {
				ratio := 0.0
				for range 5 { // a busy machine may spoil one measurement, not all
					const small = 1 << 12
					one, four := segTime(t, cut, text[:small]), segTime(t, cut, text[:4*small])
					if ratio = float64(four) / float64(one); ratio < 9 {
						break
					}
				}
				if ratio >= 9 {
					t.Errorf("cut %s: four times the text takes %.1f times as long", cut, ratio)
				}
			}
		})
	}
}

// segTime is the shortest of three runs.
func segTime(t *testing.T, cut aaep.Boundary, text string) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		segBytes(t, cut, 0, text)
		best = min(best, time.Since(start))
	}
	return best
}

func ExampleSegmenter() {
	s := NewSegmenter(aaep.BoundarySentence, 16384)
	show := func(pieces []Piece) {
		for _, p := range pieces {
			fmt.Printf("%-8s %q\n", p.Boundary, p.Text)
		}
	}
	for _, token := range []string{"Dr", ". Okafor is", " in. Pi is 3", ".", "14", ". ", "Anything", " else?"} {
		show(s.Write(token))
	}
	show(s.Flush(true))
	// Output:
	// sentence "Dr. Okafor is in. "
	// sentence "Pi is 3.14. "
	// completion "Anything else?"
}

func BenchmarkSegmenter(b *testing.B) {
	var mixed strings.Builder
	for _, marked := range segTexts {
		text, _ := segSplit(marked)
		mixed.WriteString(text + "\n")
	}
	for _, bb := range []struct{ name, text string }{
		{"english", strings.Repeat("The build passed, and Dr. Ade has seen it. Shall I deploy version 1.2 now? ", 25)},
		{"mixed", mixed.String()},
	} {
		for _, cut := range []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence} {
			for _, n := range []int{4, len(bb.text)} {
				b.Run(fmt.Sprintf("%s/%s/%d", bb.name, cut, n), func(b *testing.B) {
					b.SetBytes(int64(len(bb.text)))
					b.ReportAllocs()
					tokens := segEvery(bb.text, -n)
					for b.Loop() {
						s := NewSegmenter(cut, 16384)
						for _, tok := range tokens {
							s.Write(tok)
						}
						s.Flush(true)
					}
				})
			}
		}
	}
}
