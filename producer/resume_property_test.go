package producer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// dropper is the reader of docs/wire.md in a few lines: it leaves out events that it knows by their
// ids and, where it had to subscribe anew, the text that it has had, by its position.
type dropper struct {
	t     *testing.T
	name  string
	bytes map[string]string // what an id means

	seen    map[string]bool
	anew    bool // another subscription goes on where the first ended
	texts   map[string]*strings.Builder
	reached map[string]int64
	used    map[string]int // tools, by call
}

// checkArrival takes one message, and checks that an id means the same bytes every time and that
// text has no hole.
func (d *dropper) checkArrival(a arrival) {
	ev, isEvent := a.msg.(*aaep.Event)
	if !isEvent {
		return
	}
	if was, known := d.bytes[ev.EventID]; known && was != string(a.raw) {
		d.t.Errorf("%s: %s\ncame before as\n%s (INV-23)", d.name, a.raw, was)
	}
	d.bytes[ev.EventID] = string(a.raw)
	if d.seen[ev.EventID] {
		return
	}
	d.seen[ev.EventID] = true
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		chunk, had := []rune(p.Chunk), d.reached[p.OutputID]-p.Position
		if had < 0 || had > 0 && !d.anew {
			d.t.Errorf("%s: %q is at %d, after %d", d.name, p.Chunk, p.Position, d.reached[p.OutputID])
		}
		if d.texts[p.OutputID] == nil {
			d.texts[p.OutputID] = new(strings.Builder)
		}
		d.texts[p.OutputID].WriteString(string(chunk[min(max(had, 0), int64(len(chunk))):]))
		d.reached[p.OutputID] = max(d.reached[p.OutputID], p.Position+int64(len(chunk)))
	case *aaep.ToolCompleted:
		d.used[p.ToolCallID]++
	}
}

// P6, P8, INV-21, INV-23: whatever is emitted, on whichever terms, wherever the streams are cut and
// whatever is lost on the way: an id means the same bytes, and a reader that leaves out what it
// knows by its id has every code point once and in order, and every tool call once.
func TestCutsProperty(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		seed := rand.Uint64()
		bubbleWith(t, producer.Config{Grace: time.Hour, Languages: []string{"en-US", "es"}}, func(t *testing.T, st *stage) { cutAndListen(t, st, seed) })
		if t.Failed() {
			t.Fatalf("the seed was %d", seed)
		}
	}
}

// cutAndListen runs one scenario that seed determines.
func cutAndListen(t *testing.T, st *stage, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(n int) bool { return r.IntN(n) == 0 }
	terms := func() aaep.Capabilities {
		all := []aaep.Boundary{aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion}
		c := termsWith([]int64{0, 0, 1, 3, 30}[r.IntN(5)], all[r.IntN(len(all))])
		c.PreferredVerbosity = []aaep.Verbosity{"terse", "normal", "detailed"}[r.IntN(3)]
		c.Languages = [][]string{{"en"}, {"es", "en"}}[r.IntN(2)]
		return c
	}
	type client struct {
		*dropper
		*listener
		open   func(last string) *eventStream
		stream *eventStream
		last   string
		asked  aaep.Capabilities
	}
	var clients []*client
	for i := range 4 {
		c := &client{dropper: &dropper{t: t, name: fmt.Sprint("client ", i), bytes: map[string]string{}, seen: map[string]bool{}, anew: i == 3,
			texts: map[string]*strings.Builder{}, reached: map[string]int64{}, used: map[string]int{}}}
		c.asked = terms()
		c.listener, c.open = st.listenResumable(c.asked)
		c.stream = c.open("")
		clients = append(clients, c)
	}
	words := []string{"Hello ", "world. ", "It costs $3.14", ". ", "Dr. ", "Ready?", "!\n\n", "\n", "1. ", "你好。", "مرحبا ", "ẹ́ ", "👩‍👩‍👧 ", "é"}
	told := map[string]*strings.Builder{} // by the text's first word, which is its name
	calls := 0
	var sessions []*producer.Session
	var outs []*producer.Output
	var texts []*strings.Builder
	for range 2 {
		sessions = append(sessions, st.startSession("Working."))
	}
	time.Sleep(10 * time.Second)
	st.lose = func() (int, bool) { return r.IntN(40), !pick(3) } // nothing of a first stream
	take := func(c *client) {
		synctest.Wait()
		for _, a := range c.stream.arrivals() {
			c.checkArrival(a)
		}
		if c.stream.resume != "" {
			c.last = c.stream.resume
		}
	}
	cut := func(c *client) {
		take(c)
		c.stream.breakStream()
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		switch {
		case c.anew && c.last != "":
			other := terms() // in the same words
			other.PreferredVerbosity, other.Languages = c.asked.PreferredVerbosity, c.asked.Languages
			c.listener, c.open = st.listenResumable(resumeAfter(other, c.last))
		case !c.anew && pick(4):
			c.send(&aaep.SubscriptionRenegotiate{SubscriptionID: c.id, Capabilities: terms()})
			synctest.Wait()
		}
		c.stream = c.open(c.last)
	}

	said := aaep.Say("Used.").In("es", aaep.Say("Usada."))
	for i := range 150 {
		s := sessions[r.IntN(2)]
		switch what := r.IntN(20); {
		case what < 11:
			if len(outs) == 0 || len(outs) < 3 && pick(8) {
				name := fmt.Sprintf("T%d. ", i)
				outs, texts = append(outs, s.Output()), append(texts, new(strings.Builder))
				told[name] = texts[len(texts)-1]
				texts[len(texts)-1].WriteString(name)
				outs[len(outs)-1].WriteString(name)
			}
			n := r.IntN(len(outs))
			word := words[r.IntN(len(words))]
			texts[n].WriteString(word)
			outs[n].WriteString(word)
		case what < 12 && len(outs) > 0:
			outs[0].Close()
			outs, texts = outs[1:], texts[1:]
		case what < 14:
			if _, err := s.Tool(context.Background(), producer.Tool{Name: "look", Risk: aaep.RiskLow, Action: said}, succeed); err != nil {
				t.Fatal(err)
			}
			calls++
		case what < 15:
			s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i)}, 0)
		case what < 16:
			s.State([]aaep.State{aaep.StateDeciding, aaep.StateThinking}[r.IntN(2)], aaep.Text{})
		case what < 17:
			s.Handoff(said, aaep.HandoffRequested{})
		case what < 19:
			time.Sleep(time.Duration([]int{1, 100, 450, 1000, 6000}[r.IntN(5)]) * time.Millisecond)
		default:
			cut(clients[r.IntN(len(clients))])
		}
	}
	for _, out := range outs {
		out.Close()
	}
	for _, s := range sessions {
		s.Complete(aaep.Text{})
	}
	st.lose = nil
	for _, c := range clients {
		cut(c)
	}
	time.Sleep(20 * time.Minute) // one at a time, in a second
	for _, c := range clients {
		take(c)
		got := map[string]string{}
		for _, text := range c.texts {
			name, _, _ := strings.Cut(text.String(), " ")
			got[name+" "] = text.String()
		}
		for name, want := range told {
			if got[name] != want.String() {
				t.Errorf("%s: of %q it has heard %q", c.name, want, got[name])
			}
		}
		if len(c.used) != calls {
			t.Errorf("%s: it has heard of %d of %d tools", c.name, len(c.used), calls)
		}
		for call, n := range c.used {
			if n != 1 && !c.anew {
				t.Errorf("%s: it has heard of the tool %s %d times", c.name, call, n)
			}
		}
		if !utf8.ValidString(fmt.Sprint(got)) {
			t.Errorf("%s: a character was divided", c.name)
		}
	}
}
