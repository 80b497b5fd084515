package coalesce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
)

var boundaryCuts = []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion}

// sentenceTexts are texts with their sentences, divided by |. A ¶ in front of | says that a
// paragraph ends there, everything else ends a sentence.
var sentenceTexts = map[string]string{
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
	"emoji":            "Done 👩‍👩‍👧‍👦! |Next 🇳🇬🇪🇹 👍🏽. |It passed! 🎉 |Go. |🎉Now.",
	"keycaps":          "Press 1️⃣. |Then ‼️ |2️⃣.",
	"clusters":         "東。\u0e33x。|京؟|\u0600م؟|\u0600م",
	"mixed":            "The sign says 小心地滑。 |It is wet.",
}

// splitMarked returns the text and the pieces of an entry of sentenceTexts at the cut sentence.
func splitMarked(marked string) (text string, want []Piece) {
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

// splitEvery divides text into tokens of n runes, or of -n bytes where n is negative.
func splitEvery(text string, n int) (tokens []string) {
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

// splitWays returns text divided into tokens in many ways.
func splitWays(text string) [][]string {
	ways := [][]string{{text}}
	for _, n := range []int{1, 2, 3, 5, 7, -1, -2, -3} {
		ways = append(ways, splitEvery(text, n))
	}
	return ways
}

// D-52, HS-071: the sentences of texts in many languages, however they are divided.
func TestSegmenterSentences(t *testing.T) {
	for name, marked := range sentenceTexts {
		t.Run(name, func(t *testing.T) {
			text, want := splitMarked(marked)
			for _, tokens := range splitWays(text) {
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
	const text = "Hi, you there. How\nAre you?\n\nBye now"
	for cut, want := range map[aaep.Boundary]string{
		aaep.BoundaryWord:       "Hi, /word|you /word|there. /sentence|How\n/sentence|Are /word|you?\n\n/paragraph|Bye /word|now/completion",
		aaep.BoundarySentence:   "Hi, you there. /sentence|How\n/sentence|Are you?\n\n/paragraph|Bye now/completion",
		aaep.BoundaryParagraph:  "Hi, you there. How\nAre you?\n\n/paragraph|Bye now/completion",
		aaep.BoundaryCompletion: text + "/completion",
		"":                      "Hi, you there. /sentence|How\n/sentence|Are you?\n\n/paragraph|Bye now/completion",
	} {
		for _, tokens := range splitWays(text) {
			if got := formatPieces(segment(cut, 0, tokens...)); got != want {
				t.Fatalf("%q\ngot  %q\nwant %q", cut, got, want)
			}
		}
	}
}

// formatPieces writes pieces with their boundaries, for comparison.
func formatPieces(pieces []Piece) string {
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
		for _, tokens := range splitWays(text) {
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

// A piece that would be too long ends at the best boundary that fits, and within a character only
// if that alone is too long.
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
		{"undecided", aaep.BoundarySentence, 12, "In the U.S. It is", "In the U.S. /sentence|It is/completion"},
		{"decided later", aaep.BoundarySentence, 13, "aaaaaa, U.S. It is", "aaaaaa, U.S. /sentence|It is/completion"},
		{"cluster", aaep.BoundarySentence, 30, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦/none|👩‍👩‍👧‍👦/completion"},
		{"flags", aaep.BoundarySentence, 20, "🇳🇬🇪🇹🇳🇬🇪🇹", "🇳🇬🇪🇹/none|🇳🇬🇪🇹/completion"},
		{"NFC counts", aaep.BoundarySentence, 6, "e\u0301e\u0301e\u0301e\u0301", "ééé/none|é/completion"},
		{"huge cluster", aaep.BoundarySentence, 10, "👩‍👩‍👧‍👦", "👩‍/none|👩‍/none|👧‍/none|👦/completion"},
		{"spaces", aaep.BoundarySentence, 4, "a" + strings.Repeat(" ", 9) + "b", "a   /none|    /none|  b/completion"},
		{"tiny", aaep.BoundarySentence, 1, "a👍", "a/none|👍/completion"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, tokens := range splitWays(tt.text) {
				if got := formatPieces(segment(tt.cut, tt.limit, tokens...)); got != tt.want {
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
		for i, tok := range splitEvery(tt.ends, 1) {
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
