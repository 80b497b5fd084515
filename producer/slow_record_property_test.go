package producer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// moodySink takes any time for a record, keeps several at once or one after the other, and fails or
// panics now and then.
type moodySink struct {
	mu    sync.Mutex
	r     *rand.Rand
	turns chan struct{} // nil: several at once
	fails int           // of so many records, one; 0 is none
	all   []keptRecord
}

type keptRecord struct {
	audit.Record
	at time.Time
}

// draw draws a number below n.
func (s *moodySink) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.IntN(n)
}

// Record keeps r after a random time, or fails or panics.
func (s *moodySink) Record(r audit.Record) error {
	if s.turns != nil {
		s.turns <- struct{}{}
		defer func() { <-s.turns }()
	}
	time.Sleep([]time.Duration{0, 0, time.Millisecond, 15 * time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second, 7 * time.Second}[s.draw(8)])
	if s.fails > 0 && s.draw(s.fails) == 0 {
		if s.draw(3) == 0 {
			panic("a sink's mistake")
		}
		return errors.New("the disk is full")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, keptRecord{r, time.Now()})
	return nil
}

// recordsOf returns the records of a question that are kept.
func (s *moodySink) recordsOf(question string, kind audit.Kind) (found []keptRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.all {
		if r.QuestionID == question && r.Kind == kind {
			found = append(found, r)
		}
	}
	return found
}

// P1, P2, INV-02, INV-26, D-84: whatever time a sink takes for which record, and whichever it
// cannot keep: no one is shown a question before it is on record that they are asked it, an answer
// counts only where that is so, what runs was accepted and is on record before, once; and what is
// not being recorded does not wait.
func TestRecordProperty(t *testing.T) {
	rounds := 80
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		kept := &moodySink{r: rand.New(rand.NewPCG(seed, 1)), fails: []int{0, 0, 20}[r.IntN(3)]}
		synctest.Test(t, func(t *testing.T) {
			if r.IntN(4) == 0 {
				kept.turns = make(chan struct{}, 1)
			}
			st := newStage(t, producer.Config{Audit: kept, Languages: []string{"en-US", "es"}, ShortTimeouts: true, Grace: 20 * time.Second})
			defer func() {
				st.p.Shutdown(context.Background())
				st.end()
				if t.Failed() { // the end of the bubble ends the test
					t.Logf("the seed was %d", seed)
				}
			}()
			askAtRandom(t, st, r, kept)
		})
	}
}

// askAtRandom has sessions ask while subscribers come, go, answer and change their terms at random,
// and a sink of any mood keeps the records; it checks what was shown, what ran and what is on
// record.
func askAtRandom(t *testing.T, st *stage, r *rand.Rand, kept *moodySink) {
	pick := func(n int) bool { return r.IntN(n) == 0 }
	terms := func() aaep.Capabilities {
		c := termsWith([]int64{0, 0, 0, 2}[r.IntN(4)], aaep.BoundaryNone)
		c.Languages = [][]string{{"en-US"}, {"en-US"}, {"es", "en-US"}}[r.IntN(3)]
		return mayAnswer(c)
	}
	type client struct {
		*listener
		open   func(string) *eventStream
		stream *eventStream
		had    []arrival
		gone   bool
	}
	arrivals := func(l *client) []arrival {
		if l.stream == nil {
			return l.arrivals()
		}
		return append(slices.Clone(l.had), l.stream.arrivals()...)
	}
	shown := func(l *client) (qs []*aaep.AwaitingConfirmation) {
		synctest.Wait()
		return payloadsOf[*aaep.AwaitingConfirmation](eventsOf(arrivals(l)))
	}
	var all []*client
	come := func() {
		if len(all) > 12 {
			return
		}
		one := &client{}
		if pick(4) {
			one.listener, one.open = st.listenResumable(terms())
			one.stream = one.open("")
		} else {
			atOnce(t, "subscribing", func() { one.listener = st.listen(terms()) })
		}
		all = append(all, one)
	}
	st.addWatcher()
	for range 1 + r.IntN(5) {
		come()
	}
	var mu sync.Mutex
	runs := map[string]int{}
	words := aaep.Say("Pay $5.").In("es", aaep.Say("Pagar $5."))
	var waiting sync.WaitGroup
	var cancels []context.CancelFunc
	ask := func(s *producer.Session) {
		ctx, cancel := context.WithCancel(context.Background())
		cancels = append(cancels, cancel)
		risk, irreversible := []aaep.Risk{aaep.RiskHigh, aaep.RiskMedium}[r.IntN(2)], pick(2)
		waiting.Go(func() {
			call := ""
			_, err := s.Tool(ctx, producer.Tool{Name: "pay", Risk: risk, Irreversible: irreversible, Confirm: true, Timeout: 30 * time.Second,
				Action: words, Consequence: words}, func(context.Context) (string, error) {
				kept.mu.Lock()
				defer kept.mu.Unlock()
				for _, invoked := range slices.Backward(kept.all) {
					mu.Lock()
					n := runs[invoked.ToolCallID]
					mu.Unlock()
					if invoked.Kind != audit.Invoked || invoked.SessionID != s.ID() || n > 0 {
						continue
					}
					call = invoked.ToolCallID
					accepted := slices.ContainsFunc(kept.all, func(r keptRecord) bool {
						return r.Kind == audit.Settled && r.QuestionID == invoked.QuestionID && r.Decision == aaep.Accept && r.Cause == "replied"
					})
					if !accepted {
						t.Errorf("%s runs, and no acceptance is on record", call)
					}
					break
				}
				if call == "" {
					t.Error("it runs, and is not on record")
				}
				mu.Lock()
				runs[call]++
				mu.Unlock()
				return "", nil
			})
			if (err == nil) != (call != "") {
				t.Errorf("Tool = %v, and it ran: %t", err, call != "")
			}
		})
	}
	sessions := []*producer.Session{st.startSession("Paying."), st.startSession("Paying too.")}
	for range 40 {
		n := r.IntN(len(sessions))
		s := sessions[n]
		if len(all) == 0 {
			come()
		}
		l := all[r.IntN(len(all))]
		switch what := r.IntN(24); {
		case what < 5:
			ask(s)
		case what < 9:
			for _, q := range shown(l) {
				if pick(2) {
					l.reply(q, []aaep.Decision{aaep.Accept, aaep.Accept, aaep.Reject}[r.IntN(3)])
				}
			}
		case what < 10: // for what another was asked
			for _, q := range shown(all[r.IntN(len(all))]) {
				l.reply(q, aaep.Accept)
			}
		case what < 12:
			come()
		case what < 13:
			l.gone = true
			l.conn.Close()
			all = slices.DeleteFunc(all, func(o *client) bool { return o == l })
			checkShown(t, kept, l.id, arrivals(l))
		case what < 15:
			change := terms()
			change.SupportsConfirmationReply = new(!pick(3))
			l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: change})
		case what < 16 && l.stream != nil:
			l.had = arrivals(l)
			last := l.stream.resumableID()
			l.stream.breakStream()
			time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
			l.stream = l.open([]string{last, last, "evt_unknown", ""}[r.IntN(4)])
		case what < 17 && len(cancels) > 0:
			cancels[r.IntN(len(cancels))]()
		case what < 18:
			atOnce(t, "the end of a session", func() { s.Cancel(aaep.CancelledByUser, aaep.Text{}) })
			sessions[n] = st.startSession("Paying again.")
		case what < 20:
			atOnce(t, "what the session tells", func() {
				out := s.Output()
				requireNoError(t, errors.Join(writeText(out, fmt.Sprint("Text ", what, ". ")), out.Close(), s.Handoff(words, aaep.HandoffRequested{})))
			})
		default:
			time.Sleep(time.Duration([]int{1, 19, 21, 500, 3000, 9000}[r.IntN(6)]) * time.Millisecond)
		}
	}
	for range 5 { // those who are asked answer, or time does
		for _, l := range all {
			for _, q := range shown(l) {
				l.reply(q, aaep.Accept)
			}
		}
		time.Sleep(time.Minute)
	}
	waiting.Wait()
	for _, s := range sessions {
		s.Close()
	}
	time.Sleep(time.Minute)
	for _, l := range all {
		checkShown(t, kept, l.id, arrivals(l))
	}
	for call, n := range runs {
		if n != 1 {
			t.Errorf("%s ran %d times", call, n)
		}
	}
	checkRecords(t, kept)
}

// checkShown checks that a listener was shown no question before it was on record that it is asked,
// in that language.
func checkShown(t *testing.T, kept *moodySink, id string, got []arrival) {
	t.Helper()
	for _, a := range got {
		ev, isEvent := a.msg.(*aaep.Event)
		if !isEvent {
			continue
		}
		q, asks := ev.Payload.(*aaep.AwaitingConfirmation)
		if asks && !slices.ContainsFunc(kept.recordsOf(audit.QuestionID(q.ReplyToken), audit.Asked), func(r keptRecord) bool {
			return !r.at.After(a.at) && slices.ContainsFunc(r.Recipients, func(who audit.Subscription) bool {
				return who.SubscriptionID == id && who.Language == ev.Language()
			})
		}) {
			t.Errorf("%s is shown a question in %s, and it is not on record that it is asked", id, ev.Language())
		}
	}
}

// checkRecords checks what is on record of every question, and in which order.
func checkRecords(t *testing.T, kept *moodySink) {
	t.Helper()
	stages := map[audit.Kind]int{audit.Asked: 1, audit.Extended: 1, audit.Replied: 2, audit.Settled: 3, audit.Invoked: 4, audit.NotDone: 4}
	reached, settled, asked := map[string]int{}, map[string]int{}, map[string]map[string]bool{}
	kept.mu.Lock()
	all := slices.Clone(kept.all)
	kept.mu.Unlock()
	for _, r := range all {
		if r.QuestionID == "" || r.Kind == audit.Replied && !r.Counted {
			continue
		}
		if asked[r.QuestionID] == nil {
			asked[r.QuestionID] = map[string]bool{}
		}
		if r.Kind == audit.Asked {
			for _, who := range r.Recipients {
				asked[r.QuestionID][who.SubscriptionID] = true
			}
			continue
		}
		if stages[r.Kind] < reached[r.QuestionID] {
			t.Errorf("%s of %s is on record behind what follows it", r.Kind, r.QuestionID)
		}
		reached[r.QuestionID] = stages[r.Kind]
		if r.Kind != audit.Settled {
			continue
		}
		if settled[r.QuestionID]++; settled[r.QuestionID] > 1 {
			t.Errorf("%s is settled twice", r.QuestionID)
		}
		if r.Cause == "replied" && !asked[r.QuestionID][r.By.SubscriptionID] {
			t.Errorf("%s is settled by %s, and it is not on record that they were asked", r.QuestionID, r.By.SubscriptionID)
		}
		if r.Decision == aaep.Accept && r.Cause != "replied" {
			t.Errorf("%s is accepted because it %s", r.QuestionID, r.Cause)
		}
	}
}
