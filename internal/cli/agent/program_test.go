package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// What a program prints on standard error is told as that, where it was read, and what follows it
// is not taken for it; in English where the language of the program is not known.
func TestProgramStreams(t *testing.T) {
	for language, want := range map[string]string{
		"en": "One. Two\nError output:\nx.go:1: oops\nx.go:2: oops\nOutput:\nThree.\nError output:\nlast\n",
		"fi": "One. Two\nError output:\nx.go:1: oops\nx.go:2: oops\nOutput:\nThree.\nError output:\nlast\n",
		"es": "One. Two\nSalida de error:\nx.go:1: oops\nx.go:2: oops\nSalida:\nThree.\nSalida de error:\nlast\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, dial := clitest.AgentOf(t, producer.Config{Language: language})
			defer p.Shutdown(t.Context())
			sub, err := subscriber.Dial(t.Context(), dial, subscriber.Config{ID: "reader", Capabilities: subscriber.ScreenReader(language)})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var printed toldLines
			reads := present.New(announce.Preferences{Reads: true})
			go reads.Run(ctx, &printed)
			go present.Follow(ctx, sub, "agent", reads)
			s, err := p.StartSession(t.Context(), inEnglish("Running."))
			if err != nil {
				t.Fatal(err)
			}
			both := &programStreams{Output: s.Output(), language: language}
			clitest.PassTime(3 * time.Second)
			printed.Reset()
			out, errs := &programStream{of: both}, &programStream{of: both, errs: true}
			for _, w := range []struct {
				to   *programStream
				text string
			}{{out, "One. Two"}, {errs, "x.go:1: oops\n"}, {out, "\n"}, {errs, "x.go:2: oops\n"},
				{out, "Three.\n"}, {errs, "last\n"}} {
				if _, err := w.to.Write([]byte(w.text)); err != nil {
					t.Fatal(err)
				}
			}
			both.Output.Close()
			clitest.PassTime(10 * time.Second)
			var lines []string
			for line := range strings.Lines(printed.String()) {
				if line != "\n" {
					lines = append(lines, line)
				}
			}
			// After it the agent goes on thinking.
			if got := strings.ReplaceAll(strings.Join(lines, ""), "One.\nTwo", "One. Two"); !strings.HasPrefix(got,
				want) {
				t.Errorf("%s: printed %q, want %q", language, got, want)
			}
		})
	}
}

// toldLines are the lines that a person is told.
type toldLines struct{ clitest.Buffer }

func (p *toldLines) Present(_ context.Context, u announce.Utterance) error {
	_, err := p.Write([]byte(u.Text + "\n"))
	return err
}

func (p *toldLines) Speaks(string) bool { return true }

func (p *toldLines) Close() error { return nil }
