package producer_test

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
)

// EVT-064, EVT-065, D-20: language and media type are those of the text they were said before, whole
// characters and accents stay together, and a chunk holds one of each.
func TestOutputLanguages(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(everything()), st.session("Translating.")
		out := s.Output()
		steps := []struct{ lang, media, text string }{
			{"", "", "Good morning. "},
			{"yo-NG", "", "Ẹ káàárọ\u0323"},
			{"fr", "text/markdown; charset=utf-8", "*Bonjour*."},
			{"", "no type at all", " Fin"},
		}
		for _, step := range steps {
			if step.lang != "" {
				if err := out.SetLanguage(step.lang); err != nil {
					t.Error(err)
				}
			}
			if step.media != "" {
				if err := out.SetContentType(step.media); err != nil {
					t.Error(err)
				}
			}
			io.WriteString(out, step.text)
		}
		if err := out.SetLanguage("en_US"); err == nil {
			t.Error("en_US was taken for a language tag")
		}
		out.Close()
		s.Complete(aaep.Say("Done."))
		synctest.Wait()
		type piece struct{ text, lang, hint, media string }
		var got []piece
		for _, ev := range l.events() {
			if p, ok := ev.Payload.(*aaep.OutputStreaming); ok && p.Chunk != "" {
				if n := len(got); n > 0 && got[n-1].lang == p.Language && got[n-1].media == p.ContentType {
					got[n-1].text += p.Chunk
					continue
				}
				got = append(got, piece{p.Chunk, p.Language, ev.LocalizationHints.PrimaryLanguage, p.ContentType})
			}
		}
		want := []piece{
			{"Good morning. ", "en-US", "en-US", "text/plain"},
			{"Ẹ káàárọ\u0323", "yo-NG", "yo-NG", "text/plain"},
			{"*Bonjour*.", "fr", "fr", "text/markdown"},
			{" Fin", "fr", "fr", ""},
		}
		if len(got) != len(want) {
			t.Fatalf("%d pieces: %q", len(got), got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("piece %d is %q, want %q", i, got[i], want[i])
			}
		}
		if err := out.SetLanguage("de"); err == nil {
			t.Error("a closed output took a language")
		}
	})
}
