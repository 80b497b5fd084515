package producer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/producer"
)

var _ io.WriteCloser = (*producer.Output)(nil)

// What is written before a tool or a question is told before it, to the last letter.
func TestOutputBeforeSomethingElse(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Working.")
		out := s.Output()
		out.WriteString("Searching")
		s.Tool(t.Context(), producer.Tool{Name: "look"}, func(context.Context) (string, error) { return "", nil })
		out.WriteString("Found. Paying")
		paid := callLater(func() (string, error) { return s.Tool(t.Context(), pay, (&action{}).do) })
		l.reply(l.question(), aaep.Reject)
		<-paid
		out.Close()
		s.Close()
		text := ""
		var before []string
		for _, ev := range l.events() {
			switch p := ev.Payload.(type) {
			case *aaep.OutputStreaming:
				text += p.Chunk
			case *aaep.ToolInvoked, *aaep.AwaitingConfirmation:
				before, text = append(before, text), ""
			}
		}
		if want := []string{"Searching", "Found. Paying"}; !slices.Equal(before, want) {
			t.Errorf("before what else was done stands %q, want %q", before, want)
		}
	})
}

// Text is told in one form, however it is cut into writes.
func TestOutputText(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"halves of characters", []string{"caf\xc3", "\xa9 \xf0", "\x9f", "\x91\xa9", "."}, "café 👩."},
		{"half a character in the end", []string{"caf\xc3"}, "caf\ufffd"},
		{"accents in the next token", []string{"Oj", "o", "\u0323", "\u0301", " de", "\u0300"}, "Ojọ́ dè"},
		{"Hangul", []string{"\u1112", "\u1161", "\u11ab"}, "한"},
		{"line ends", []string{"a\r\nb\rc\nd", "\r", "\ne\r"}, "a\nb\nc\nd\ne\n"},
		{"separators", []string{"a\u2028b\u2029c"}, "a\nb\n\nc"},
		{"bidi", []string{"a\u202eb\u202c", "\u2066c\u2069"}, "a<U+202E>b<U+202C><U+2066>c<U+2069>"},
		{"escapes", []string{"\x1b[2J\x00\x7f"}, "<U+001B>[2J<U+0000><U+007F>"},
		{"what is made visible composes", []string{"\u202e\u0338."}, "<U+202E≯."},
		{"what was made visible composes", []string{"\u202e", "\u0338"}, "<U+202E≯"},
		{"a flag", []string{"🏴", "\U000e0067\U000e0062", "\U000e0065\U000e006e\U000e0067", "\U000e007f!"}, "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!"},
		{"a flag with an accent", []string{"🏴", "\U000e0067", "\u0301"}, "🏴\U000e0067\u0301"},
		{"a whole flag with an accent", []string{"🏴\U000e0067\U000e007f", "\u0301"}, "🏴\U000e0067\U000e007f\u0301"},
		{"tags alone", []string{"a\U000e0067"}, "a<U+E0067>"},
		{"family", []string{"👩", "\u200d", "👩🏽", "\u200d👧"}, "👩\u200d👩🏽\u200d👧"},
		{"many accents", []string{"a" + strings.Repeat("\u0301", 5000), "b"}, plainOutput("a" + strings.Repeat("\u0301", 5000) + "b")},
		{"many zero width joiners", []string{strings.Repeat("\u200d", 5000)}, strings.Repeat("\u200d", 5000)},
		{"nothing", []string{"", "a", ""}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, sentences := st.addRecorder(), st.listen(termsWith(1, aaep.BoundarySentence))
				out := st.startSession("Talking.").Output()
				for _, w := range c.writes {
					if n, err := out.Write([]byte(w)); n != len(w) || err != nil {
						t.Errorf("Write(%q) = %d, %v", w, n, err)
					}
				}
				out.Close()
				time.Sleep(time.Minute)
				for name, l := range map[string]*listener{"none": l, "sentence": sentences} {
					if err := onlyText(l.events(), c.want); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		})
	}
}

// Bytes that are no text are refused; what came before and what comes after is told (INV-39).
func TestInvalidBytes(t *testing.T) {
	for _, c := range []struct {
		held, bad string
		n         int
	}{{"", "ab\xffcd", 2}, {"", "\xff", 0}, {"", "ab\xe2\x28", 2}, {"\xe2", "(ab", 0}, {"\xe2\x82", "\xac\xff", 1}, {"", "ab\xed\xa0\x80", 2}} {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.addRecorder()
			out := st.startSession("Talking.").Output()
			out.WriteString("One. ")
			out.WriteString(c.held)
			n, err := out.WriteString(c.bad)
			if _, invalid := errors.AsType[*aaep.InvalidError](err); !invalid || n != c.n {
				t.Errorf("after %q, Write(%q) = %d, %v; want %d", c.held, c.bad, n, err, c.n)
			}
			out.WriteString(" Two.")
			out.Close()
			want := "One. " + strings.ToValidUTF8(c.held+c.bad[:c.n], "") + " Two."
			if err := onlyText(l.events(), want); err != nil {
				t.Error(err)
			}
		})
	}
}

// One write of a megabyte is told in events of legal size (§3.7, TR-022), and never splits a
// character.
func TestLongWrite(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, slow := st.addRecorder(), st.listen(termsWith(1, aaep.BoundaryParagraph))
		text := strings.Repeat("A farmer 👩🏽‍🌾 speaks. ", 1<<20/30)
		out := st.startSession("Talking.").Output()
		if n, err := out.WriteString(text); n != len(text) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		out.Close()
		time.Sleep(time.Hour)
		for name, l := range map[string]*listener{"none": l, "paragraph": slow} {
			if err := onlyText(l.events(), text); err != nil {
				t.Errorf("%s: %.300v", name, err)
			}
			for _, p := range payloadsOf[*aaep.OutputStreaming](l.events()) {
				if strings.HasPrefix(p.Chunk, "\u200d") || strings.HasPrefix(p.Chunk, "🏽") { // INV-28
					t.Errorf("%s: a chunk begins in a cluster", name)
				}
				if len(p.Chunk) > 16384 {
					t.Errorf("%s: a chunk of %d bytes", name, len(p.Chunk))
				}
			}
		}
	})
}

// Close tells the end of what was said, once; a Write after it fails.
func TestOutputClose(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		s := st.startSession("Talking.")
		silent, out := s.Output(), s.Output()
		if err := silent.Close(); err != nil { // nothing was said, so nothing is told
			t.Errorf("Close = %v", err)
		}
		out.WriteString("Done.")
		for range 2 {
			if err := out.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		}
		if _, err := out.WriteString("more"); err == nil {
			t.Error("a Write after Close is taken")
		}
		wantStory(t, l.events(), `session.started idle>thinking thinking>writing_output "Done." ""! writing_output>thinking`)
	})
}

// Several outputs at once are told apart, and the agent writes until the last is whole.
func TestOutputsInterleaved(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		ls := []*listener{st.addRecorder(), st.listen(termsWith(1, aaep.BoundarySentence)), st.listen(termsWith(0, aaep.BoundaryCompletion))}
		s := st.startSession("Talking.")
		var outs []*producer.Output
		for range 5 {
			outs = append(outs, s.Output())
		}
		for i := range 20 {
			for j, out := range outs {
				fmt.Fprintf(out, "This is %d of output %d. And", i, j)
			}
		}
		for _, out := range outs {
			out.Close()
		}
		time.Sleep(5 * time.Minute)
		for _, l := range ls {
			ids := outputIDs(l.events())
			if len(ids) != 5 {
				t.Fatalf("%d outputs, want 5", len(ids))
			}
			for j, id := range ids {
				var want strings.Builder
				for i := range 20 {
					fmt.Fprintf(&want, "This is %d of output %d. And", i, j)
				}
				if err := checkText(l.events(), id, want.String()); err != nil {
					t.Error(err)
				}
			}
		}
		if n := len(payloadsOf[*aaep.StateChanged](ls[0].events())); n != 3 {
			t.Errorf("%d state changes, want 3", n)
		}
	})
}

// EVT-064, EVT-065, D-20: language and media type are those of the text they were said before,
// whole characters and accents stay together, and a chunk holds one of each.
func TestOutputLanguages(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(allEvents()), st.startSession("Translating.")
		out := s.Output()
		steps := []struct{ lang, media, text string }{
			{"", "", "Good morning. "},
			{"yo-NG", "", "Ẹ káàárọ\u0323"},
			{"fr", "text/markdown; charset=utf-8", "*Bonjour*."},
			{"", "", " Fin"},
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
			{"*Bonjour*. Fin", "fr", "fr", "text/markdown"},
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

// Data of an extension goes with the text that it was written with, and with no other. Text with
// other data is an event of its own for subscribers that named the extension, and is merged for the
// rest. What is not served is refused at once. (EXT-002)
func TestOutputWith(t *testing.T) {
	caption := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "caption", URI: "https://captions.example/v1"}}
	bubbleWith(t, producer.Config{Extensions: []handshake.Extension{caption}}, func(t *testing.T, st *stage) {
		named := termsWith(1, aaep.BoundarySentence)
		named.SupportedExtensions = []string{caption.URI}
		l, plain := st.listen(named), st.listen(termsWith(1, aaep.BoundarySentence))
		s := st.startSession("Captioning.")
		out := s.Output()
		if err := out.With(aaep.Vocabulary{Prefix: "lamp", URI: "https://lamp.example/v1"}, struct{}{}); err == nil {
			t.Error("an extension that is not served is taken")
		}
		out.WriteString("Nobody speaks. ")
		for i, text := range []string{"Ada speaks. ", "Ben speaks. ", "Ben goes on. "} {
			if err := out.With(caption.Vocabulary, map[string]int{"line": min(i, 1)}); err != nil {
				t.Fatal(err)
			}
			out.WriteString(text)
		}
		out.With(caption.Vocabulary, nil)
		out.WriteString("Silence.")
		out.Close()
		s.Complete(aaep.Text{})
		time.Sleep(time.Minute)
		chunks := func(l *listener) (all []string) {
			for _, ev := range l.events() {
				if p, ok := ev.Payload.(*aaep.OutputStreaming); ok && p.Chunk != "" {
					all = append(all, strings.TrimSpace(p.Chunk)+string(ev.Extensions["caption"]))
				}
			}
			return all
		}
		if got, want := chunks(l), []string{"Nobody speaks.", `Ada speaks.{"line":0}`, `Ben speaks. Ben goes on.{"line":1}`, "Silence."}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := strings.Join(chunks(plain), " "); got != "Nobody speaks. Ada speaks. Ben speaks. Ben goes on. Silence." || len(chunks(plain)) > 3 {
			t.Errorf("without the extension: %q", chunks(plain))
		}
	})
}
