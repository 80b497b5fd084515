package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

type object = map[string]any

// A mutant is a producer with one fault: a proxy stands before ours and edits what passes.
type mutant struct {
	name string
	// out edits what the producer sends, in edits what it gets; either returns what passes in its
	// place.
	out, in func(*proxy, object) []object
	// raw edits the bytes that leave.
	raw func([]byte) []byte
	// refuses says what it does not take.
	refuses func(object) bool
	// delay holds a message up.
	delay func(*proxy, object) time.Duration
	// run edits how it is reached.
	run func(*conformance.ProducerRun)
	// caught are the cases that must fail or deviate, by name, and no other may but maybe, of which
	// it depends on the order in which links that are asked at once come to receive.
	caught, maybe []string
	// whole says that it shows only beside the scenario runs of other cases.
	whole bool
}

// proxy is one link through a mutant.
type proxy struct {
	transports.Conn
	m                         *mutant
	mu                        sync.Mutex
	waiting                   [][]byte
	n                         int // events that were made up
	link                      int
	token                     string // of the newest question
	id                        string // of the subscription
	caps                      object // that were asked for
	flag                      bool   // the mutant's own
	asking, rejected, replied bool   // a confirmation came
	bye                       bool   // it has said that it leaves
	held                      object
	shared                    *sync.Map
	wake                      func() // ends what Receive waits for; nil where it waits for nothing
}

// injectMessage has the link receive a message that the producer did not send.
func (p *proxy) injectMessage(o object) { // with p.mu held
	p.waiting = append(p.waiting, encodeObject(o))
	if p.wake != nil {
		p.wake()
	}
}

type mutantTarget struct {
	*target
	m      *mutant
	shared *sync.Map // what the links of a mutant know together
	links  *int
}

func (b mutantTarget) Dial(ctx context.Context) (transports.Conn, error) {
	c, err := b.target.Dial(ctx)
	*b.links++
	return &proxy{Conn: c, m: b.m, shared: b.shared, link: *b.links}, err
}

func encodeObject(o object) []byte {
	data, err := jsonv2.Marshal(o, jsonv2.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return data
}

func (p *proxy) Send(ctx context.Context, msg []byte) error {
	var o object
	if jsonv2.Unmarshal(msg, &o) != nil {
		return p.Conn.Send(ctx, msg)
	}
	if p.m.refuses != nil && p.m.refuses(o) {
		return errors.New("404 Not Found")
	}
	p.mu.Lock()
	if o["type"] == "subscription.request" {
		p.caps, _ = o["capabilities"].(object)
	}
	p.bye = p.bye || o["type"] == "subscription.close"
	list := []object{o}
	if p.m.in != nil {
		list = p.m.in(p, o)
	}
	p.mu.Unlock()
	for _, o := range list {
		if err := p.Conn.Send(ctx, encodeObject(o)); err != nil {
			return err
		}
	}
	return nil
}

func (p *proxy) Receive(ctx context.Context) ([]byte, error) {
	for {
		p.mu.Lock()
		if len(p.waiting) > 0 {
			msg := p.waiting[0]
			p.waiting = p.waiting[1:]
			p.mu.Unlock()
			return msg, nil
		}
		waiting, wake := context.WithCancel(ctx)
		p.wake = wake
		p.mu.Unlock()
		msg, err := p.Conn.Receive(waiting)
		injected := waiting.Err() != nil && ctx.Err() == nil
		wake()
		if err != nil && injected {
			continue
		}
		if err != nil {
			return nil, err
		}
		var o object
		if err := jsonv2.Unmarshal(msg, &o); err != nil {
			return nil, err
		}
		if p.m.delay != nil {
			time.Sleep(p.m.delay(p, o))
		}
		p.mu.Lock()
		if t, _ := o["reply_token"].(string); t != "" {
			p.token = t
		}
		if id, _ := o["subscription_id"].(string); id != "" {
			p.id = id
		}
		p.asking = p.asking || shortName(o) == "awaiting.confirmation"
		list := []object{o}
		if p.m.out != nil {
			list = p.m.out(p, o)
		}
		for _, o := range list {
			data := encodeObject(o)
			if p.m.raw != nil {
				data = p.m.raw(data)
			}
			p.waiting = append(p.waiting, data)
		}
		p.mu.Unlock()
	}
}

// Close notes a line that broke.
func (p *proxy) Close() error {
	if !p.bye {
		p.shared.Store("lost", true)
	}
	return p.Conn.Close()
}

func shortName(o object) string {
	t, _ := o["type"].(string)
	return strings.TrimPrefix(t, "aaep:agent.")
}

// hasRequested reports whether the link asked for a capability with a value.
func (p *proxy) hasRequested(name string, value any) bool {
	return p.caps != nil && p.caps[name] == value
}

func cloneWith(o object, more object) object {
	c := object{}
	for k, v := range o {
		c[k] = v
	}
	for k, v := range more {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// cloneWithNewID is another event with an id of its own.
func (p *proxy) cloneWithNewID(o object, more object) object {
	p.n++
	return cloneWith(o, cloneWith(object{"event_id": fmt.Sprintf("evt_x%dy%d", p.link, p.n)}, more))
}

// editType changes members of the messages of a type; nil takes one away.
func editType(typ string, more object) func(*proxy, object) []object {
	return func(_ *proxy, o object) []object {
		if shortName(o) == typ {
			return []object{cloneWith(o, more)}
		}
		return []object{o}
	}
}

// dropMessages keeps messages back.
func dropMessages(is func(object) bool) func(*proxy, object) []object {
	return func(_ *proxy, o object) []object {
		if is(o) {
			return nil
		}
		return []object{o}
	}
}

func isType(types ...string) func(object) bool {
	return func(o object) bool { return slices.Contains(types, shortName(o)) }
}

// insertAfter sends one more event after those of a type.
func insertAfter(typ string, next func(*proxy, object) object) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if shortName(o) == typ {
			return []object{o, next(p, o)}
		}
		return []object{o}
	}
}

func insertBefore(typ string, first func(*proxy, object) object) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if shortName(o) == typ {
			return []object{first(p, o), o}
		}
		return []object{o}
	}
}

// editReplies edits the confirmations that go to the producer.
func editReplies(change func(p *proxy, o object) object) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if shortName(o) == "confirmation.reply" {
			if o = change(p, o); o == nil {
				return nil
			}
		}
		return []object{o}
	}
}

// newEvent is one with the envelope of another.
func (p *proxy) newEvent(like object, typ string, more object) object {
	o := object{"type": "aaep:agent." + typ, "summary_normal": "Said."}
	for _, k := range []string{"@context", "aaep_version", "session_id", "timestamp", "producer", "verbosity",
		"localization_hints"} {
		o[k] = like[k]
	}
	o["urgency"] = "normal"
	return p.cloneWithNewID(o, more)
}

func (p *proxy) newToolCall(like object) object {
	return p.newEvent(like, "tool.invoked", object{"tool": "pay", "tool_call_id": fmt.Sprintf("call_x%dy%d", p.link, p.n),
		"irreversible": true, "risk_level": "high"})
}

// TestMutants: each broken producer is caught by the cases that are meant for it, and by no other
// but those of order; and no case is without a mutant that it catches. CONF-034, ENV-049,
// LVL-003/004/005/007/008/009, LVL-021, LVL-030, LVL-031, LVL-034.
func TestMutants(t *testing.T) {
	var mu sync.Mutex
	proved := map[string]bool{"resumed": true, "resumed-text": true} // by TestResumed, over a stream that can break
	caught := 0
	mutants := slices.Concat(mutants, moreMutants, languageMutants, lateMutants, termsMutants, outsiderMutants, unseenMutants, unprovenMutants)
	if testing.Short() { // one for each case, but for those of order
		mutants = onePerCase(mutants, func(m mutant) []string { return m.caught })
	}
	t.Run("caught", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				got := catchingCases(t, &m)
				mu.Lock()
				defer mu.Unlock()
				if got != nil {
					caught++
				}
				for _, name := range got {
					proved[name] = true
				}
			})
		}
	})
	t.Logf("%d of %d mutants caught as they should be", caught, len(mutants))
	for _, c := range conformance.Cases() {
		if !proved[c.Name] && !(testing.Short() && slices.Contains(orderCases, c.Name)) {
			t.Errorf("no mutant is caught by %s", c.Name)
		}
	}
}

// onePerCase returns the mutants that a case catches which catches none of those before, in order.
// caught names the cases that are meant for a mutant. It is for testing.Short, since each mutant
// runs the whole suite.
func onePerCase[M any](mutants []M, caught func(M) []string) []M {
	meant := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(mutants), func(m M) bool {
		before := len(meant)
		for _, name := range caught(m) {
			meant[name] = true
		}
		return len(meant) == before
	})
}

// runMutant runs the suite on a mutant: with testing.Short, the cases that are
// meant for it alone, where that shows it.
func runMutant(t *testing.T, m *mutant) *conformance.Report {
	report := inBubble(t, func(g *target) conformance.ProducerRun {
		run := checkExtraCases(g, mutantTarget{g, m, new(sync.Map), new(int)})
		if m.run != nil {
			m.run(&run)
		}
		if testing.Short() && !m.whole {
			run.Only = m.caught
		}
		return run
	})
	if report == nil {
		t.FailNow()
	}
	return report
}

// orderCases judge every session of every scenario run: what a mutant adds or keeps back is often
// out of order too.
var orderCases = []string{"begins-once", "ends-once", "all-get-all", "nothing-after-end", "time-forward",
	"states-chained", "tools-paired", "positions", "output-complete"}

// catchingCases returns the cases that caught a mutant, or nil if they are not those that should. A
// case of order may catch it as well.
func catchingCases(t *testing.T, m *mutant) []string {
	var got, why []string
	for _, r := range runMutant(t, m).Results {
		if r.Verdict == conformance.Fail || r.Verdict == conformance.Deviation {
			got = append(got, r.Case.Name)
			why = append(why, r.Case.Name+" ("+r.Play+"): "+r.Seen)
		}
	}
	want := slices.Sorted(slices.Values(m.caught))
	meant := slices.DeleteFunc(slices.Sorted(slices.Values(got)), func(name string) bool {
		return (slices.Contains(orderCases, name) || slices.Contains(m.maybe, name)) && !slices.Contains(want, name)
	})
	if !slices.Equal(meant, want) {
		t.Errorf("caught by %v, want %v:\n%s", got, want, strings.Join(why, "\n"))
		return nil
	}
	return got
}

// holdSessionEnd holds the end of a session up in which something was asked, so that replies still
// come in time.
func holdSessionEnd(p *proxy, o object) time.Duration {
	if shortName(o) == "session.completed" && p.asking {
		return time.Second
	}
	return 0
}

// watchesOthers reports whether the link watches what others are asked.
func (p *proxy) watchesOthers() bool {
	return p.hasRequested("supports_confirmation_reply", false) && p.hasRequested("supports_clarification_reply", true)
}

// actsAfter does an irreversible thing, as an observer sees it, when a question is settled after
// something was shared.
func actsAfter(what string) func(p *proxy, o object) []object {
	return func(p *proxy, o object) []object {
		if o["from_state"] == "awaiting_input" && p.watchesOthers() {
			if _, ok := p.shared.LoadAndDelete(what); ok {
				return []object{p.newToolCall(o), o}
			}
		}
		return []object{o}
	}
}

// editManifest changes members of what is published; nil takes one away.
func editManifest(more object) func(*conformance.ProducerRun) {
	return func(run *conformance.ProducerRun) {
		fetch := run.Manifest
		run.Manifest = func(ctx context.Context) ([]byte, error) {
			data, err := fetch(ctx)
			var o object
			if err == nil {
				err = jsonv2.Unmarshal(data, &o)
			}
			return encodeObject(cloneWith(o, more)), err
		}
	}
}

// shareTwice reports whether a key was shared before, and shares it.
func (p *proxy) shareTwice(key any) bool {
	_, before := p.shared.LoadOrStore(key, true)
	return before
}
