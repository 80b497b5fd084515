package listen

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/demo/planner"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

var record = flag.Bool("record", false, "write docs/recordings anew")

// A story is the demo's agent, followed by one person with one output and a keyboard, and nothing
// else: no line of the terminal reaches them.
type story struct {
	*testing.T
	began   time.Time
	lines   chan terminal.Line
	told    func(context.Context) // waits until what was said was told
	asked   func() bool           // whether they have had the question, and all else there was to hear
	content announce.Content      // as the output has it
	quiet   func() bool           // whether nothing is being said
	mu      sync.Mutex
	did     []instant
	ended   <-chan struct{} // closed when no listener follows any more
}

// instant is something that happened at a time of the story.
type instant struct {
	at, until time.Duration
	what      string
}

func (s *story) now() time.Duration { return time.Since(s.began) }

// note keeps what the person did.
func (s *story) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, instant{s.now(), s.now(), what})
}

// answers types y, two seconds after all was had.
func (s *story) answers() {
	time.Sleep(37 * time.Millisecond) // never at the same time as anything else
	for !s.asked() {
		time.Sleep(211 * time.Millisecond)
	}
	time.Sleep(2 * time.Second)
	s.note("The person types y and Enter.")
	select {
	case s.lines <- terminal.Line{Text: "y", At: time.Now(), Began: time.Now()}:
	case <-s.Context().Done():
	}
}

// An actor is what the agent of a story does.
type actor func(ctx context.Context, s *story, p *producer.Producer)

// plans is the agent of the demo.
func plans(ctx context.Context, s *story, p *producer.Producer) {
	agent := &planner.Planner{Say: func(text string) { s.note("The agent " + text) }, Timeout: planner.TimeToDecide}
	if err := agent.PlanRetirement(ctx, p); err != nil {
		s.Fatal(err)
	}
	if agent.Checking != 3700 {
		s.Errorf("checking holds %v; the person said yes", agent.Checking)
	}
}

// tell plays the story of an agent over an output, until its sessions are over and told.
func tell(t *testing.T, name string, act actor, caps aaep.Capabilities, open func(s *story) present.Output,
	hands func(s *story)) *story {
	t.Helper()
	s := &story{T: t, began: time.Now()}
	p, err := serving.NewProducer(name, producer.Config{Language: "en-US", Languages: []string{"es"}, ShortTimeouts: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	dial := clitest.PipeTo(p)
	sub, err := subscriber.Dial(t.Context(), dial, subscriber.Config{ID: "story", Capabilities: caps})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	e := newTestListener(t, caps)
	s.lines = e.lines
	out := open(s)
	ctx, cancel := context.WithCancel(t.Context())
	s.ended = ctx.Done()
	pr := e.hearOver(ctx, out, s.content).p
	stopPrinting := e.print(ctx)
	followed := make(chan error, 1)
	go func() { followed <- e.l.followAgents(ctx, &FollowedAgent{Listener: e.l, sub: sub, wanted: caps}) }()
	s.told = e.l.AwaitTold
	s.asked = func() bool {
		var put *aaep.Event
		pr.Plan(func(a *announce.Announcer, now time.Time) { _, put = a.Question(now, aaep.Accept) })
		return put != nil && !speaking(pr) || ctx.Err() != nil
	}
	s.quiet = func() bool { return !speaking(pr) }
	synctest.Wait()
	go hands(s)
	act(ctx, s, p)
	for silent := 0; silent < 20; silent++ { // seconds
		if speaking(pr) {
			silent = 0
		}
		time.Sleep(time.Second)
	}
	synctest.Wait()
	for _, r := range pr.Status().Receipts { // nothing was lost
		if r.Outcome != announce.Heard && r.Kind != announce.News && r.Kind != announce.Progress &&
			r.Kind != announce.Notice {
			t.Errorf("%s %s: %d of %d", r.Kind, r.Outcome, r.Said, r.Of)
		}
	}
	cancel()
	<-followed
	stopPrinting()
	out.Close()
	return s
}

// speaking reports whether something is being said.
func speaking(p *present.Presenter) bool {
	return slices.ContainsFunc(p.Status().Receipts,
		func(r announce.Receipt) bool { return r.Outcome == announce.Speaking })
}

// TestRecordings keeps what the demo's whole story is to a person who only hears, and to a person
// who only has fourteen cells; both decide. The recordings are for people, and for the next change
// of what is said: go test ./internal/cli -run Recordings -record
func TestRecordings(t *testing.T) {
	t.Run("ear", func(t *testing.T) {
		recordSpeech(t, "retirement-planner", plans, (*story).answers, subscriber.ScreenReader("en-US"), "by-ear.txt",
			`The demo, followed by ear alone

What a person hears of "aaep demo" with "aaep listen --output speech", from when to when in seconds, at 172 words a minute.
Made by a test with a speech server that keeps the pace of a real one; quotation marks hold what the voice says.
`)
	})
	t.Run("braille", func(t *testing.T) {
		byCells(t, "retirement-planner", plans, (*story).answers, subscriber.Braille(14, "en-US"), "by-14-cells.txt",
			`The demo, followed by 14 cells alone

What a person reads of "aaep demo" with "aaep listen --as braille --cells 14 --output braille", from which second on. They pan on every
1.7 seconds until they have had all of it. The last two cells mean: ⠒ it goes on, ⠿ it stays until you pan on, ⠶ something waits.
Made by a test with a BRLTTY that shows what it is sent.
`)
	})
}

// recordSpeech compares the story of an agent, as a voice tells it, with a recording, or records
// it.
func recordSpeech(t *testing.T, name string, act actor, hands func(*story), caps aaep.Capabilities, file, title string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &speechtest.Server{}
		defer server.Close()
		s := tell(t, name, act, caps, func(s *story) present.Output {
			s.content = announce.Content{SpeakNames: true}
			return opening(s)(speech.Open(t.Context(),
				speech.Options{Dial: func(ctx context.Context) (net.Conn, error) { return server.Dial(ctx) },
					Force: true}))
		}, hands)
		for _, m := range server.Messages() {
			text := "“" + m.Text + "”"
			if !m.Heard {
				text += " is cut off."
			}
			s.did = append(s.did, instant{m.Begun.Sub(s.began), m.Over.Sub(s.began), text})
		}
		s.keep(file, title, true)
	})
}

// byCells is byEar for fourteen braille cells.
func byCells(t *testing.T, name string, act actor, hands func(*story), caps aaep.Capabilities, file, title string) {
	t.Helper()
	paginateHere(&caps)
	synctest.Test(t, func(t *testing.T) {
		server := brailletest.New(14)
		s := tell(t, name, act, caps, func(s *story) present.Output {
			s.content = inCells
			return opening(s)(braille.Open(t.Context(), braille.Options{Dial: server.Dial}))
		}, func(s *story) {
			done := make(chan struct{})
			go func() { // who reads goes on a little sooner than the display does
				defer close(done)
				for { // to the end, for what is critical stays until they pan on
					select {
					case <-s.ended:
						return
					case <-time.After(1713 * time.Millisecond):
					}
					if strings.TrimSpace(server.Now().Line) != "" {
						server.Press(brailletest.Forward)
					}
				}
			}()
			hands(s)
			<-done
		})
		states := server.States()
		for i, state := range states {
			if i+1 == len(states) || states[i+1].At.Sub(state.At) > 100*time.Millisecond { // what a finger can notice
				s.did = append(s.did, instant{at: state.At.Sub(s.began), what: "|" + state.Line + "|"})
			}
		}
		s.keep(file, title, false)
	})
}

// opening ends the test where an output cannot be opened.
func opening(s *story) func(out present.Output, err error) present.Output {
	return func(out present.Output, err error) present.Output {
		if err != nil {
			s.Fatal(err)
		}
		return out
	}
}

// keep compares the story with its recording, or records it.
func (s *story) keep(name, title string, ends bool) {
	s.Helper()
	slices.SortStableFunc(s.did, func(a, b instant) int {
		return int(a.at.Round(100*time.Millisecond) - b.at.Round(100*time.Millisecond))
	})
	var b strings.Builder
	b.WriteString(title + "\n")
	for _, m := range s.did {
		if ends && m.until > m.at {
			fmt.Fprintf(&b, "%6.1f to %5.1f  %s\n", m.at.Seconds(), m.until.Seconds(), m.what)
		} else if ends {
			fmt.Fprintf(&b, "%6.1f           %s\n", m.at.Seconds(), m.what)
		} else {
			fmt.Fprintf(&b, "%6.1f  %s\n", m.at.Seconds(), strings.TrimRight(m.what, " "))
		}
	}
	// That the answer was sent and that its action begins come at one moment. Which of them is
	// shown for a second first is chance.
	told := regexp.MustCompile(`(\n *[0-9.]+  )\|Answer sent: ⠒\|\n *[0-9.]+  (\|Accepted,)`).ReplaceAllString(b.String(), "$1$2")
	file := filepath.Join("..", "..", "..", "docs", "recordings", name)
	if *record {
		if err := os.WriteFile(file, []byte(told), 0o644); err != nil {
			s.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	if got := told; got != string(want) {
		s.Errorf("what reaches the person has changed. If it is meant: go test ./internal/cli -run Recordings -record\n%s", got)
	}
}
