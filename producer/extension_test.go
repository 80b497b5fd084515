package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
)

// declare returns c with an extension declared, and its capability.
func declare(c aaep.Capabilities, v aaep.Vocabulary, capability any) aaep.Capabilities {
	if err := c.AddExtension(v, capability); err != nil {
		panic(err)
	}
	return c
}

// EXT-002, EXT-015, HS-033, D-61: data of an extension goes to the subscribers that listed it and
// to no other. A device feels critical events, and what the agent chose where it has that.
func TestHaptic(t *testing.T) {
	device := extensions.Haptic{PatternsSupported: []string{"buzz", "pulse"}, BodyLocations: []string{"wrist"}}
	bubble(t, func(t *testing.T, st *stage) {
		felt := st.listen(mayAnswer(declare(allEvents(), extensions.HapticVocabulary, device)))
		unlisted := allEvents() // the object without the URI, as in §5.3.2: honored, but no data
		unlisted.Extensions = map[string]json.RawMessage{"haptic": json.RawMessage(`{"patterns_supported":["buzz"]}`)}
		named, deaf := st.listen(mayAnswer(unlisted)), st.listen(mayAnswer(allEvents()))
		with := func(text, pattern, place string) aaep.Text {
			return aaep.Say(text).With(extensions.HapticVocabulary, extensions.HapticData{Pattern: pattern, Location: place})
		}
		s := st.startSession("Planning.")
		s.State(aaep.StateDeciding, with("A.", "pulse", "wrist"))
		s.State(aaep.StateThinking, with("B.", "pulse", "ankle"))
		s.State(aaep.StateDeciding, with("C.", "tickle", "wrist"))
		s.Handoff(with("D.", "tickle", "wrist"), aaep.HandoffRequested{})
		s.Handoff(aaep.Say("E."), aaep.HandoffRequested{})
		s.Progress(with("", "pulse", ""), aaep.Progress{Percent: new(1.0)}, 0)
		callTool(s, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: with("Pay.", "pulse", ""), Consequence: aaep.Say("Gone.")}, &action{})
		got := map[string]string{}
		for _, ev := range felt.events() {
			got[ev.Text(aaep.VerbosityNormal)+" "+string(ev.Type())] = string(ev.Extensions["haptic"])
			if has := len(ev.Context) == 2 && ev.Context[1] == extensions.HapticVocabulary.URI; has != (ev.Extensions != nil) {
				t.Errorf("%s: context %v with %v", ev.Type(), ev.Context, ev.Extensions)
			}
		}
		for key, want := range map[string]string{
			"Planning. aaep:agent.session.started":        "",
			"A. aaep:agent.state.changed":                 `{"pattern":"pulse","location":"wrist"}`,
			"B. aaep:agent.state.changed":                 `{"pattern":"pulse"}`,
			"C. aaep:agent.state.changed":                 "",
			"D. aaep:agent.handoff.requested":             `{"pattern":"buzz","location":"wrist"}`,
			"E. aaep:agent.handoff.requested":             `{"pattern":"buzz"}`,
			"1 percent. aaep:agent.progress.updated":      `{"pattern":"pulse"}`,
			"Pay. aaep:agent.state.changed":               "",
			"Pay. Gone. aaep:agent.awaiting.confirmation": "?",
			"Pay. aaep:agent.awaiting.confirmation":       `{"pattern":"pulse"}`,
			"Thinking. aaep:agent.state.changed":          "",
		} {
			if data, ok := got[key]; ok && data != want {
				t.Errorf("%s: felt %s, want %s", key, data, want)
			} else if !ok && want != "?" {
				t.Errorf("%s has not come; there were %v", key, got)
			}
		}
		for _, l := range []*listener{named, deaf} {
			for _, ev := range l.events() {
				if ev.Extensions != nil || len(ev.Context) > 1 {
					t.Errorf("%s carries %v in %v to one who did not list it", ev.Type(), ev.Extensions, ev.Context)
				}
			}
		}
	})
}

// At a slow subscriber, events that are sent early because the session's error must come after them
// (D-50) have no haptic data, though they are critical then; the error has it, once.
func TestHapticOfAnError(t *testing.T) {
	slow := allEvents().With(aaep.Capabilities{MaxEventsPerSecond: 1})
	bubble(t, func(t *testing.T, st *stage) {
		felt := st.listen(mayAnswer(declare(slow, extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: []string{"buzz"}})))
		s := st.startSession("Planning.")
		out := s.Output()
		for range 3 {
			out.WriteString("A sentence. ")
		}
		out.Close()
		s.Fail(errors.New("broken"), aaep.Say("It broke."))
		var early, buzzed int
		for _, ev := range felt.events() {
			switch {
			case ev.Extensions["haptic"] != nil && ev.Type() == aaep.TypeSessionErrored:
				buzzed++
			case ev.Extensions["haptic"] != nil:
				t.Errorf("%s is felt as %s", ev.Type(), ev.Extensions["haptic"])
			case ev.Urgency == aaep.UrgencyCritical:
				early++
			}
		}
		if early == 0 || buzzed != 1 {
			t.Errorf("%d events left early, and %d errors were felt", early, buzzed)
		}
	})
}

// Data that is no data of its extension is refused where it is said.
func TestExtensionDataRefused(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Planning.")
		if err := s.State(aaep.StateDeciding, aaep.Say("A.").With(extensions.HapticVocabulary, "no object")); err == nil {
			t.Error("a string was taken for extension data")
		}
		if err := s.Complete(aaep.Say("A.").With(aaep.Vocabulary{Prefix: "aaep", URI: "urn:x:v1"}, struct{}{})); err == nil {
			t.Error("a reserved prefix was taken")
		}
		if err := s.Complete(aaep.Text{}); err != nil {
			t.Errorf("the session did not survive: %v", err)
		}
	})
	if _, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}, Extensions: []handshake.Extension{{}}}); err == nil {
		t.Error("an extension without a name was taken")
	}
}

// Braille: chunks fit the display, cut between words, also at one event a second and when the
// display changes; no text is lost (INV-28).
func TestBraille(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(declare(termsWith(1, aaep.BoundaryCompletion), extensions.BrailleVocabulary, extensions.Braille{Cells: 40}))
		rows := st.listen(declare(termsWith(0, aaep.BoundaryNone), extensions.BrailleVocabulary, extensions.Braille{Cells: 20, Rows: 2}))
		s := st.startSession("Talking.")
		out := s.Output()
		text := strings.Repeat("Ọjọ́ ìsinmi rẹ ti súnmọ́lé, and the plan is ready. ", 8)
		write := func() {
			for _, r := range text {
				out.WriteString(string(r))
			}
		}
		fits := func(name string, evs []*aaep.Event, least, cells int) {
			t.Helper()
			chunks := payloadsOf[*aaep.OutputStreaming](evs)
			for i, p := range chunks {
				n := utf8.RuneCountInString(strings.TrimSpace(p.Chunk))
				if n > cells || n < least && !p.Complete && i > 0 && !strings.Contains(p.Chunk, ".") {
					t.Errorf("%s: %d characters: %q", name, n, p.Chunk)
				}
				if !strings.HasSuffix(p.Chunk, " ") && !p.Complete {
					t.Errorf("%s: a word is cut: %q", name, p.Chunk)
				}
			}
			if len(chunks) < 3 {
				t.Errorf("%s: %d chunks", name, len(chunks))
			}
		}
		write()
		time.Sleep(6 * time.Second)
		fits("forty cells", l.events(), 25, 40)
		narrower := declare(aaep.Capabilities{}, extensions.BrailleVocabulary, extensions.Braille{Cells: 12})
		if acc := l.renegotiate(narrower); string(acc.HonoredCapabilities.Extensions["braille"]) != `{"cells":12}` {
			t.Errorf("honored %s", acc.HonoredCapabilities.Extensions)
		}
		at := len(l.events())
		time.Sleep(20 * time.Second)
		fits("what waited", l.events()[at:], 1, 12)
		write()
		out.Close()
		time.Sleep(5 * time.Minute)
		fits("twelve cells", l.events()[at:], 1, 12)
		fits("two rows", rows.events(), 1, 40)
		for _, l := range []*listener{l, rows} {
			if err := onlyText(l.events(), text+text); err != nil {
				t.Error(err)
			}
		}
	})
}

// CONF-036, CONF-037: timing stretches the time to answer to what the slowest of those asked needs,
// at most to a day (D-42).
func TestTiming(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		slow := func(by float64) aaep.Capabilities {
			return mayAnswer(declare(allEvents(), extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: by}))
		}
		a, _ := st.listen(slow(2.5)), st.listen(slow(1.5))
		// This one is not asked.
		st.listen(declare(allEvents(), extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 10}))
		s := st.startSession("Paying.")
		limited := pay
		limited.Timeout = 21 * time.Second
		began := time.Now()
		paid := callTool(s, limited, &action{})
		if q := a.question(); q.TimeoutSeconds != 53 {
			t.Errorf("timeout_seconds is %d, want 53", q.TimeoutSeconds)
		}
		time.Sleep(time.Hour)
		if took := (<-paid).at.Sub(began); took != 53*time.Second {
			t.Errorf("it timed out after %v", took)
		}
		for want, t := range map[int64]extensions.Timing{600: {MinSeconds: 600}, 630: {MinSeconds: 600, TimeoutMultiplier: 10}, 86400: {NoLimit: true}} {
			a.renegotiate(declare(aaep.Capabilities{}, extensions.TimingVocabulary, t))
			limited.Timeout = 63 * time.Second
			ctx, cancel := context.WithCancel(context.Background())
			asking := callLater(func() (string, error) { return s.Tool(ctx, limited, succeed) })
			if q := a.question(); q.TimeoutSeconds != want {
				a.t.Errorf("%+v: timeout_seconds is %d, want %d", t, q.TimeoutSeconds, want)
			}
			cancel()
			<-asking
		}
		a.renegotiate(declare(aaep.Capabilities{}, extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 10}))
		limited.Timeout = 23 * time.Hour
		callTool(s, limited, &action{})
		if q := a.question(); q.TimeoutSeconds != 86400 {
			t.Errorf("timeout_seconds is %d, want a day", q.TimeoutSeconds)
		}
	})
}

// delivery: while its user types a listener hears only what is critical, and what is about to be
// done for good; the rest follows, in order, when that ends or expires.
func TestQuiet(t *testing.T) {
	typing := func(seconds int64) aaep.Capabilities {
		return declare(aaep.Capabilities{}, extensions.DeliveryVocabulary, extensions.Delivery{Presence: extensions.PresenceTyping, PresenceExpiresIn: seconds})
	}
	idle := declare(aaep.Capabilities{}, extensions.DeliveryVocabulary, extensions.Delivery{Presence: "idle"})
	for name, tc := range map[string]struct {
		seconds int64
		end     func(l *listener, s *producer.Session)
		after   time.Duration
	}{
		"expires":            {20, func(*listener, *producer.Session) {}, 20 * time.Second},
		"expires by default": {0, func(*listener, *producer.Session) {}, 30 * time.Second},
		"ended":              {300, func(l *listener, _ *producer.Session) { l.renegotiate(idle) }, 0},
		"another term":       {20, func(l *listener, _ *producer.Session) { l.renegotiate(aaep.Capabilities{PaceWPM: 200}) }, 20 * time.Second},
		"for good": {300, func(_ *listener, s *producer.Session) {
			callTool(s, producer.Tool{Name: "burn", Action: aaep.Say("Burn."), Consequence: aaep.Say("Gone."), Irreversible: true, Timeout: time.Hour}, &action{})
		}, 300 * time.Second},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			c := allEvents()
			l := st.listen(c)
			other := st.addRecorder()
			s := st.startSession("Talking.")
			l.events()
			l.renegotiate(typing(tc.seconds))
			began, before := time.Now(), len(l.events())
			s.Tool(t.Context(), look, succeed)
			s.Progress(aaep.Text{}, aaep.Progress{Percent: new(1.0)}, 0)
			s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
			if got := l.events()[before:]; len(got) != 1 || got[0].Type() != aaep.TypeHandoffRequested {
				t.Errorf("%s: while typing came %v", name, got)
			}
			tc.end(l, s)
			synctest.Wait()
			if name == "for good" {
				other.reply(other.question(), aaep.Accept)
			}
			time.Sleep(301 * time.Second)
			var late []string
			for _, a := range l.arrivals() {
				if ev, ok := a.msg.(*aaep.Event); ok && ev.Type() == aaep.TypeToolCompleted && ev.Payload.(*aaep.ToolCompleted).Tool == "look" {
					late = append(late, a.at.Sub(began).String())
				}
			}
			if want := tc.after.String(); len(late) != 1 || late[0] != want {
				t.Errorf("%s: what was held came after %v, want %s", name, late, want)
			}
		})
	}
}

// delivery: what is less relevant than asked for stays away; an event that does not say is at 0.5.
func TestMinRelevance(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(declare(allEvents(), extensions.DeliveryVocabulary, extensions.Delivery{MinRelevance: 0.6}))
		s := st.startSession("Talking.")
		for i := range 10 {
			s.State(aaep.State(fmt.Sprintf("s%d", i)), aaep.Say("A.").With(extensions.DeliveryVocabulary, extensions.DeliveryData{Relevance: float64(i) / 10}))
		}
		s.Handoff(aaep.Say("B.").With(extensions.DeliveryVocabulary, extensions.DeliveryData{}), aaep.HandoffRequested{})
		var got []string
		for _, ev := range l.events() {
			got = append(got, string(ev.Extensions["delivery"]))
		}
		if want := `{"relevance":0.6} {"relevance":0.7} {"relevance":0.8} {"relevance":0.9} {"relevance":0}`; strings.Join(got, " ") != want {
			t.Errorf("got %v", got)
		}
	})
}

// delivery: a subscription ends when it is too old, or had no event for too long, with its reason;
// another one goes on.
func TestLifetime(t *testing.T) {
	for name, tc := range map[string]struct {
		asked  extensions.Delivery
		reason aaep.ReasonCode
		after  time.Duration
	}{
		"old":  {extensions.Delivery{MaxDurationSeconds: 60}, "ttl", time.Minute},
		"idle": {extensions.Delivery{IdleTimeoutSeconds: 9}, "idle_timeout", 34 * time.Second},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			began := time.Now()
			l := st.listen(declare(allEvents(), extensions.DeliveryVocabulary, tc.asked))
			s := st.startSession("Talking.")
			for range 5 {
				time.Sleep(5 * time.Second)
				s.Tool(t.Context(), look, succeed)
			}
			l.renegotiate(aaep.Capabilities{PaceWPM: 200}) // counts for neither
			time.Sleep(time.Hour)
			end, _ := l.lastMessage().(*aaep.SubscriptionClose)
			all := l.arrivals()
			if end == nil || end.ReasonCode != tc.reason || all[len(all)-1].at.Sub(began) != tc.after {
				t.Errorf("%s: %+v after %v", name, end, all[len(all)-1].at.Sub(began))
			}
			if n := len(st.p.Subscriptions()); n != 0 {
				t.Errorf("%s: %d subscriptions are left", name, n)
			}
		})
	}
}

// EXT-010, ENV-006: an event of an extension's own goes to those who asked for its type, whole and
// in their language.
func TestExtensionEvents(t *testing.T) {
	med := aaep.Vocabulary{Prefix: "med", URI: "https://pharmacy.example/med/v1"}
	cfg := polyglot
	cfg.Extensions = []handshake.Extension{{Vocabulary: med}}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		c := inLanguages(allEvents(), "es")
		c.EventFilters = &aaep.EventFilters{Include: []string{"med:*"}}
		l, other := st.listen(c), st.listen(allEvents())
		s := st.startSession("Nursing.")
		dose := map[string]any{"pill": "Ibuprofen", "mg": 400}
		if err := s.Emit(med, "dose.due", aaep.Say("Take it.").In("es", aaep.Say("Tómela.")), dose); err != nil {
			t.Fatal(err)
		}
		evs := l.events()
		if len(evs) != 1 || evs[0].Type() != "med:dose.due" || string(evs[0].Unknown) != `{"mg":400,"pill":"Ibuprofen"}` ||
			evs[0].Text(aaep.VerbosityNormal) != "Tómela." || evs[0].Context[1] != med.URI {
			t.Errorf("%+v", evs)
		}
		if n := len(other.events()); n != 2 {
			t.Errorf("%d events came to one who asked for none of it", n)
		}
		for name, err := range map[string]error{
			"core prefix": s.Emit(aaep.Vocabulary{Prefix: "aaep", URI: med.URI}, "x", aaep.Say("X."), dose),
			"no name":     s.Emit(med, "", aaep.Say("X."), dose),
			"no object":   s.Emit(med, "x", aaep.Say("X."), "text"),
			"no JSON":     s.Emit(med, "x", aaep.Say("X."), func() {}),
			"envelope":    s.Emit(med, "x", aaep.Say("X."), map[string]any{"urgency": "critical"}),
			"no words":    s.Emit(med, "x", aaep.Text{}, dose),
			"nothing":     s.Emit(med, "x", aaep.Say("X."), nil),
		} {
			if err == nil {
				t.Errorf("%s was taken", name)
			}
		}
	})
}

// T7, P3, EXT-001: whatever an extension makes of an event, its listener gets the event, and the
// question in it.
func TestBadExtensionCostsNothing(t *testing.T) {
	for name, data := range map[string]string{
		"too deep":     strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20),
		"too large":    `{"a":"` + strings.Repeat("x", 2<<20) + `"}`,
		"no JSON":      `{"a"`,
		"repeated":     `{"a":1,"a":2}`,
		"no object":    `[1]`,
		"a big number": `{"a":9007199254740993}`,
	} {
		odd := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "odd", URI: "https://o.example/v1"}, Honor: func(json.RawMessage) handshake.Effect {
			return handshake.Effect{Data: func(*aaep.Event, json.RawMessage) json.RawMessage { return json.RawMessage(data) }}
		}}
		for listeners := 1; listeners < 3; listeners++ { // alone, and sharing what is encoded
			bubbleWith(t, producer.Config{Extensions: []handshake.Extension{odd}}, func(t *testing.T, st *stage) {
				l := st.listen(mayAnswer(declare(allEvents(), odd.Vocabulary, struct{}{})))
				if listeners == 2 {
					st.listen(allEvents())
				}
				s := st.startSession("Paying.")
				paid := callTool(s, pay, &action{})
				l.reply(l.question(), aaep.Accept)
				if r := <-paid; r.err != nil {
					t.Errorf("%s: %v", name, r.err)
				}
				s.Complete(aaep.Text{})
				wantStory(t, l.events(), asked+"awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking session.completed")
			})
		}
	}
}
