package a2a_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// A person with a braille display alone reads what an agent on the library of the protocol's
// authors asks, answers it, and reads that the task goes on with their answer to its end, in both
// versions of the protocol.
func TestSDKAgentByBraille(t *testing.T) {
	if testing.Short() {
		t.Skip("it is read at the pace of a person: make test-all runs it")
	}
	dir := npmtest.Install(t, "testdata/sdk")
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, url := sdkAgent(t, dir, version)
			agent := dial(t, url, a2a.Config{})
			p := bridgetest.NewProducer(t)
			theirs, ours := transports.Pipe()
			go p.ServeConn(ours)
			terms := subscriber.ScreenReader("en-US")
			sub, err := subscriber.Dial(t.Context(), only{theirs}, subscriber.Config{ID: "braille", NoReconnect: true, Capabilities: terms})
			if err != nil {
				t.Fatal(err)
			}
			brltty := brailletest.New(80)
			display, err := braille.Open(t.Context(), braille.Options{Dial: brltty.Dial})
			if err != nil {
				t.Fatal(err)
			}
			person := present.New(announce.Preferences{Speaks: display.Speaks})
			ctx, cancel := context.WithCancel(t.Context())
			presented, followed := make(chan error, 1), make(chan error, 1)
			go func() { presented <- person.Run(ctx, display) }()
			go func() { followed <- present.Follow(ctx, sub, "Archive", person) }()
			defer func() {
				cancel()
				<-followed
				<-presented
				sub.Close()
				display.Close()
			}()
			read := func(text string) bool {
				var pages []string
				for _, state := range brltty.States() {
					pages = append(pages, strings.TrimRight(state.Line, " ⠒⠶⠿"))
				}
				return strings.Contains(strings.Join(strings.Fields(strings.Join(pages, " ")), " "), text)
			}
			panUntil := func(what string, done func() bool) { // at the pace of a reader
				pace := time.NewTicker(1200 * time.Millisecond)
				defer pace.Stop()
				for !done() {
					select {
					case <-pace.C:
						brltty.Press(brailletest.Forward)
					case <-t.Context().Done():
						t.Fatalf("it does not come to %s: %v", what, brltty.States())
					}
				}
			}
			task, err := agent.Send(t.Context(), p, "ask me")
			if err != nil {
				t.Fatal(err)
			}
			panUntil("the question", func() bool { return read("Archive asks: Which month?") && read("minutes to answer.") })
			early := false
			panUntil("an answer that counts", func() bool {
				line := strings.TrimSpace(brltty.Now().Line)
				if line != "" && (early || strings.Contains(line, "minutes to answer.")) {
					return false // the question, or what came of an answer, is not read to its end
				}
				err := <-present.Answer(time.Time{}, "May", person)
				if early = err != nil; early && !errors.Is(err, present.ErrNotTaken) {
					t.Fatal(err)
				}
				return !early
			})
			if err := task.Wait(); err != nil {
				t.Error(err)
			}
			panUntil("the end", func() bool { return read("You said May.") && read("All is done.") })
		})
	}
}
