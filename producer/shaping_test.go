package producer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/safetext"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

const mixed = "Your plan is ready 👩🏽‍🌾! Ọjọ́ ìsinmi rẹ ti súnmọ́lé. خطتك جاهزة الآن؟ It costs $3.14 a day. 了解しました。ありがとう。\n\nThe end"

// tellSession runs a session with text, tools and progress, which takes a while.
func tellSession(s *producer.Session, text string) {
	out := s.Output()
	for i, r := range text {
		out.WriteString(string(r))
		if i%9 == 0 {
			time.Sleep(30 * time.Millisecond)
		}
	}
	for range 5 {
		s.Tool(context.Background(), look, succeed)
		s.Progress(aaep.Text{}, aaep.Progress{Percent: new(50.0)}, 0)
	}
	out.Close()
	s.Complete(aaep.Text{Terse: "Done.", Normal: "It is done.", Detailed: "It is done, all of it."})
}

// Each subscriber receives the same session on its own terms (TERM-014), progress within its rate
// too (EVT-037).
func TestTwoListeners(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		st.addRecorder()
		fast := termsWith(3, aaep.BoundarySentence, aaep.BoundaryCompletion)
		slow := termsWith(1, aaep.BoundaryCompletion)
		slow.PreferredVerbosity = aaep.VerbosityTerse
		a, b := st.listen(fast), st.listen(slow)
		tellSession(st.startSession("Planning."), mixed)
		time.Sleep(2 * time.Minute)
		for name, l := range map[string]*listener{"sentences": a, "completion": b} {
			if err := onlyText(l.events(), mixed); err != nil { // INV-28
				t.Errorf("%s: %v", name, err)
			}
			if n := len(toolEvents(l.events())); n != 10 { // D-51
				t.Errorf("%s: %d tool events, want 10", name, n)
			}
		}
		if n := mostInOneSecond(a.arrivals()); n > 3 { // INV-25
			t.Errorf("%d events in a second, want 3", n)
		}
		if n := mostInOneSecond(b.arrivals()); n > 1 {
			t.Errorf("%d events in a second, want 1", n)
		}
		checkHints(t, a.events(), aaep.BoundarySentence)
		checkHints(t, b.events(), aaep.BoundaryCompletion)
		checkWords(t, a.events(), aaep.VerbosityNormal, "It is done.")
		checkWords(t, b.events(), aaep.VerbosityTerse, "Done.")
	})
}

// checkHints: every chunk is labelled with the boundary that was asked for, the last as completion
// (D-28).
func checkHints(t *testing.T, evs []*aaep.Event, want aaep.Boundary) {
	t.Helper()
	chunks := payloadsOf[*aaep.OutputStreaming](evs)
	if want == aaep.BoundaryCompletion && len(chunks) != 1 {
		t.Errorf("%d chunks, want the whole text at once", len(chunks))
	}
	if want == aaep.BoundarySentence && len(chunks) < 2 {
		t.Errorf("%d chunks, want some sentences", len(chunks))
	}
	for _, p := range chunks {
		label := want
		if p.Complete {
			label = aaep.BoundaryCompletion
		}
		if p.CoalesceHint != label {
			t.Errorf("chunk %q is labelled %q, want %q", p.Chunk, p.CoalesceHint, label)
		}
	}
}

// checkWords: one verbosity on every event, and the last event in its words (§5.3.1.2).
func checkWords(t *testing.T, evs []*aaep.Event, v aaep.Verbosity, last string) {
	t.Helper()
	for _, ev := range evs {
		if ev.Verbosity != v {
			t.Errorf("%s has verbosity %q, want %q", ev.Type(), ev.Verbosity, v)
		}
	}
	if got := evs[len(evs)-1].Text(v); got != last {
		t.Errorf("the last event says %q, want %q", got, last)
	}
}

// TestSentencesLeaveAtOnce: without pressure every sentence is an event of its own (D-52).
func TestSentencesLeaveAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(termsWith(0, aaep.BoundarySentence))
		s := st.startSession("Planning.")
		out := s.Output()
		for _, word := range strings.SplitAfter("It costs $3.14. Is that right? I think so. ", " ") {
			out.WriteString(word)
		}
		out.WriteString("Yes")
		out.Close()
		wantStory(t, l.events(), `session.started idle>thinking thinking>writing_output "It costs $3.14. " "Is that right? " "I think so. " "Yes"! writing_output>thinking`)
	})
}

// TestStreamsOfAnyKind is P4 and P6 for arbitrary texts, token splits, terms and pauses.
func TestStreamsOfAnyKind(t *testing.T) {
	letters := []rune("aeo .!?,\n\r\t1$👩🏽‍🌾🏴\U000e0067\U000e0062\U000e007fọ́ùẹ\u0301\u0323\u0338\u0327عربي؟。語가각\u1100\u1161\u11a8\u202e\u2066\u2069\u2028\u00ad\ue000>=<")
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom(letters), 1, 200, -1).Draw(rt, "text")
		var tokens []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 12)).Draw(rt, "token")
			tokens, rest = append(tokens, rest[:n]), rest[n:]
		}
		var terms []aaep.Capabilities
		for range rapid.IntRange(1, 3).Draw(rt, "listeners") {
			boundaries := rapid.SliceOfNDistinct(rapid.SampledFrom([]aaep.Boundary{aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence,
				aaep.BoundaryParagraph, aaep.BoundaryCompletion}), 1, 3, func(b aaep.Boundary) aaep.Boundary { return b }).Draw(rt, "boundaries")
			terms = append(terms, termsWith(int64(rapid.IntRange(0, 5).Draw(rt, "rate")), boundaries...))
		}
		pauses := rapid.SliceOfN(rapid.IntRange(0, 1500), len(tokens), len(tokens)).Draw(rt, "pauses")
		tools := rapid.SliceOfN(rapid.IntRange(0, 9), len(tokens), len(tokens)).Draw(rt, "tools")
		end := rapid.SampledFrom([]string{"complete", "fail", "cancel"}).Draw(rt, "end")
		var failed error
		bubble(t, func(t *testing.T, st *stage) {
			rec := st.addWatcher()
			var ls []*listener
			for _, c := range terms {
				ls = append(ls, st.listen(c))
			}
			s := st.startSession("Talking.")
			out := s.Output()
			want, part := "", ""
			told := func(text string) {
				if text = plainOutput(text); text != "" && want != "" && !norm.NFC.PropertiesString(text).BoundaryBefore() {
					text = "\u034f" + text
				}
				want += text
			}
			for i, token := range tokens {
				out.WriteString(token)
				if part += token; tools[i] == 0 {
					s.Tool(context.Background(), look, succeed)
					whole := len(strings.ToValidUTF8(part, "")) // tokens end within characters
					told(part[:whole])
					part = part[whole:]
				}
				if tools[i] < 5 {
					time.Sleep(time.Duration(pauses[i]) * time.Millisecond)
				}
			}
			finishSession(s, end)
			time.Sleep(time.Hour)
			told(part)
			failed = sameFor(rec, ls, terms, want)
		})
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

// finishSession ends a session in one of three ways.
func finishSession(s *producer.Session, end string) {
	switch end {
	case "complete":
		s.Complete(aaep.Text{})
	case "fail":
		s.Fail(nil, aaep.Text{})
	case "cancel":
		s.Cancel(aaep.CancelledByUser, aaep.Text{})
	}
}

// plainOutput returns what an output tells of a text, computed in another way than the code does:
// all at once.
func plainOutput(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n").Replace(text)
	for _, r := range "\u2066\u2067\u2068\u2069" {
		text = strings.ReplaceAll(text, string(r), fmt.Sprintf("<U+%04X>", r))
	}
	return norm.NFC.String(safetext.Clean(norm.NFC.String(text), "", true))
}

// sameFor checks that every subscriber received the text and the tool calls that rec did, within
// its rate.
func sameFor(rec *listener, ls []*listener, terms []aaep.Capabilities, want string) error {
	all := rec.events()
	for i, l := range ls {
		evs := l.events()
		if err := onlyText(evs, want); err != nil {
			return fmt.Errorf("%v: %w", terms[i].CoalesceBoundaries, err)
		}
		if got, want := toolEvents(evs), toolEvents(all); !slices.Equal(got, want) {
			return fmt.Errorf("tool events %v, want %v", got, want)
		}
		if err := notAhead(evs, all); err != nil {
			return fmt.Errorf("%v: %w", terms[i].CoalesceBoundaries, err)
		}
		if rate := int(terms[i].MaxEventsPerSecond); rate > 0 && mostInOneSecond(l.arrivals()) > rate {
			return fmt.Errorf("%d events in a second, want %d", mostInOneSecond(l.arrivals()), rate)
		}
		if last := evs[len(evs)-1]; !last.Type().Terminal() {
			return fmt.Errorf("the last event is %s", last.Type())
		}
		for _, p := range payloadsOf[*aaep.OutputStreaming](evs) {
			if !utf8.ValidString(p.Chunk) || !norm.NFC.IsNormalString(p.Chunk) {
				return fmt.Errorf("the chunk %q is not NFC", p.Chunk)
			}
		}
	}
	return nil
}

// notAhead checks that no text came before a tool event it was told after.
func notAhead(evs, all []*aaep.Event) error {
	textBefore := func(evs []*aaep.Event) (counts []int) {
		n := 0
		for _, ev := range evs {
			switch p := ev.Payload.(type) {
			case *aaep.OutputStreaming:
				n += utf8.RuneCountInString(p.Chunk)
			case *aaep.ToolInvoked, *aaep.ToolCompleted:
				counts = append(counts, n)
			}
		}
		return counts
	}
	whole := textBefore(all)
	for i, n := range textBefore(evs) {
		if n > whole[i] {
			return fmt.Errorf("%d code points came before tool event %d, want at most %d", n, i, whole[i])
		}
	}
	return nil
}

// pipeDialer dials a producer within this process.
type pipeDialer struct{ p *producer.Producer }

// Dial serves one end of a Pipe and returns the other.
func (d pipeDialer) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go d.p.ServeConn(b)
	return a, nil
}

// TestSubscriber: the two halves of the SDK understand each other.
func TestSubscriber(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		sub, err := subscriber.Dial(t.Context(), pipeDialer{st.p}, subscriber.Config{ID: "orca", Capabilities: subscriber.ScreenReader("en-US")})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		s := st.startSession("Paying.")
		paid := callLater(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		for ev, err := range sub.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
				if err := sub.Question(ev).Accept(t.Context()); err != nil {
					t.Error(err)
				}
				break
			}
		}
		if r := <-paid; r.value != "done" || r.err != nil {
			t.Errorf("Tool = %q, %v", r.value, r.err)
		}
		synctest.Wait()
	})
}

// HS-066: over budget, a change of state is held and leaves as soon as the budget allows, with what
// it became meanwhile.
func TestHeldStateLeavesOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(termsWith(2, aaep.BoundaryNone))
		began := time.Now()
		s := st.startSession("Talking.") // two events: the budget is spent
		synctest.Wait()
		s.State(aaep.StateDeciding, aaep.Text{})
		synctest.Wait()
		s.State("packing", aaep.Text{})
		time.Sleep(10 * time.Second)
		last := l.arrivals()[2]
		p, ok := last.msg.(*aaep.Event).Payload.(*aaep.StateChanged)
		if after := last.at.Sub(began); len(l.arrivals()) != 3 || !ok || p.FromState != aaep.StateThinking || p.ToState != "packing" || after < time.Second || after > 1100*time.Millisecond {
			t.Errorf("%+v came after %v", p, after)
		}
	})
}

// HS-082: after a close by the subscriber nothing more comes on its link, though the session goes
// on.
func TestNothingAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, other := st.listen(allEvents()), st.addRecorder()
		s := st.startSession("Talking.")
		n := len(l.events())
		l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		synctest.Wait()
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		s.Complete(aaep.Text{})
		time.Sleep(time.Minute)
		if got := len(l.events()); got != n || len(other.events()) != 4 {
			t.Errorf("%d events after the close; the other has %d in all", got-n, len(other.events()))
		}
	})
}

// A subscriber that comes while thousands of sessions are under way is told of all of them, at its
// own rate, and is not closed for that.
func TestManySessionsAtOnce(t *testing.T) {
	const n = 1500
	bubble(t, func(t *testing.T, st *stage) {
		for range n {
			st.startSession("One of many.")
		}
		l := st.listen(termsWith(100, aaep.BoundaryNone))
		time.Sleep(time.Minute)
		if got := len(l.events()); got != n {
			t.Errorf("%d of %d sessions were told; the last word is %+v", got, n, l.lastMessage())
		}
	})
}

// A long text at once, and one that was written while the user was not to be disturbed, reach a
// small display whole: they are many pieces, and the subscription is not slow for that (INV-28).
func TestLongTextReachesSmallDisplay(t *testing.T) {
	for _, tc := range []struct {
		cells, text int
		rate        int64
		typing      bool
	}{{1, 8000, 0, false}, {4, 30000, 0, false}, {20, 100000, 0, false}, {40, 400000, 0, true}, {40, 100000, 5, false}} {
		if testing.Short() {
			tc.text = min(tc.text, 20_000)
		}
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.listen(declare(termsWith(tc.rate, aaep.BoundarySentence), extensions.BrailleVocabulary, extensions.Braille{Cells: tc.cells}))
				s := st.startSession("Reading.")
				if tc.typing {
					l.declareTyping()
				}
				synctest.Wait()
				out, text := s.Output(), strings.Repeat("Up we go. ", tc.text/10)
				out.WriteString(text)
				out.Close()
				s.Tool(context.Background(), look, succeed)
				time.Sleep(20 * time.Minute)
				if end, ok := l.lastMessage().(*aaep.SubscriptionClose); ok {
					t.Errorf("closed: %s", end.ReasonMessage)
				}
				if err := onlyText(l.events(), text); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
