package coalesce

import (
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/aaep-go/aaep"
)

// benchTexts are answers of about 2 kB, as agents give them.
var benchTexts = map[string]string{
	"english": strings.Repeat("I compared the three quotations you sent me with the one from last year, and Dr. Ade has seen them too. "+
		"The cheapest costs $1,249.50, e.g. for version 1.2, but it leaves out the support that your team asked for in March. "+
		"Shall I write to the second company and ask whether the price still holds, or would you rather wait until Monday?\n\n", 6),
	"mixed": strings.Repeat("Ich habe die drei Angebote verglichen, die Sie mir am 3. Oktober geschickt haben, und z. B. das zweite ist günstiger geworden. "+
		"Я проверил все три предложения, которые вы прислали мне на прошлой неделе, и второе из них оказалось дешевле остальных. "+
		"Mo ti fi àwọn fáìlì mẹ́ta tí ẹ fi ránṣẹ́ sí mi ní ọ̀sẹ̀ tó kọjá wé ara wọn, èyí kejì ló sì dára jù lọ nínú gbogbo wọn. "+
		"我已经比较了您上周发给我的三份报价，其中第二份比去年便宜，而且包含了您的团队在三月份要求的支持服务。"+
		"قارنت عروض الأسعار الثلاثة التي أرسلتها إلي الأسبوع الماضي، ووجدت أن العرض الثاني أرخص من غيره. "+
		"मैंने पिछले हफ़्ते आपके भेजे हुए तीनों प्रस्तावों की तुलना की है, और दूसरा प्रस्ताव सबसे सस्ता निकला है।\n", 2),
}

func BenchmarkSegmenter(b *testing.B) {
	for name, text := range benchTexts {
		tokens := splitEvery(text, -4)
		for _, cut := range []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence} {
			b.Run(name+"/"+string(cut)+"/4 bytes", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				s := NewSegmenter(cut, 16384)
				for b.Loop() {
					for _, tok := range tokens {
						s.Write(tok)
					}
					s.Flush(true)
				}
			})
		}
		b.Run(name+"/sentence/whole", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			s := NewSegmenter(aaep.BoundarySentence, 16384)
			for b.Loop() {
				s.Write(text)
				s.Flush(true)
			}
		})
		// What a listener would get without this package: the split function of UAX #29, asked
		// again with every token, as its documentation advises for streams.
		b.Run(name+"/uax29/4 bytes", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = buf[:0]
				for _, tok := range tokens {
					buf = append(buf, tok...)
					for {
						n, piece, err := sentences.SplitFunc(buf, false)
						if err != nil || n == 0 {
							break
						}
						_ = string(piece)
						buf = buf[:copy(buf, buf[n:])]
					}
				}
			}
		})
	}
}

// BenchmarkLanguages measures what the first Segmenter of a program pays.
func BenchmarkLanguages(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newRuleSet(builtinLanguages())
	}
}

// A token that completes nothing costs no allocation.
func TestSegmenterAllocations(t *testing.T) {
	s := NewSegmenter(aaep.BoundarySentence, 16384)
	tokens := splitEvery(strings.Repeat("and so on, with `code` and [1] é, ", 100), -4)
	for _, tok := range tokens {
		s.Write(tok)
	}
	s.Flush(true)
	i := 0
	if n := testing.AllocsPerRun(500, func() { s.Write(tokens[i]); i++ }); n > 0 {
		t.Errorf("%.1f allocations for each token", n)
	}
}
