package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

const (
	patience = 5 * time.Second  // for an answer, or for what follows one
	settle   = time.Second      // after the end: what must not come would come now
	slow     = 20 * time.Second // for a scenario's next step
)

const (
	noteFlood      = "the producer sent more than the runner keeps"
	noteClosed     = "the producer closed the link"
	noteNoDial     = "no link could be made"
	noteNoSend     = "the message could not be sent"
	noteRefused    = "refused with " // and the code
	noteManifest   = "the manifest"
	noteNoManifest = "no manifest: " // and why
	noteStart      = "the scenario was started"
	noteEnd        = "the runner listened until here"
)

// A stage is where one play is played.
type stage struct {
	ctx     context.Context
	run     Run
	tape    *tape
	links   []*link
	running sync.WaitGroup
	stop    context.CancelFunc // of readers and driver
	play    play
}

// A link is one of the runner's subscribers. It repairs nothing.
type link struct {
	st   *stage
	n    int
	conn transports.Conn // nil if there is none
	id   string          // of the subscription
	gone bool            // it was cut, and says no more
	// told is closed when its reader is gone.
	told chan struct{}
}

type object = map[string]any

// usual asks for everything as it is, and may be asked.
func usual() object {
	return object{"languages": []string{"en-US", "en"}, "coalesce_boundaries": []string{"sentence", "completion"},
		"supports_confirmation_reply": true, "supports_clarification_reply": true, "supported_conformance_levels": []int{1, 2, 3}}
}

// with returns an object with other members as well; nil takes one away.
func with(o object, more object) object {
	all := object{}
	for k, v := range o {
		all[k] = v
	}
	for k, v := range more {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	return all
}

func request(capabilities object) object {
	return object{"type": "subscription.request", "aaep_version": aaep.Version, "subscriber_id": "aaep-conformance", "capabilities": capabilities}
}

// dial opens a link and starts to read from it.
func (st *stage) dial(dialer transports.Dialer) *link {
	l := &link{st: st, n: len(st.links), id: "sub_implicit", told: make(chan struct{})}
	st.links = append(st.links, l)
	ctx, cancel := context.WithTimeout(st.ctx, patience)
	defer cancel()
	conn, err := dialer.Dial(ctx)
	if err != nil {
		st.tape.add(Entry{Link: l.n, Note: noteNoDial})
		l.refused(err)
		close(l.told)
		return l
	}
	l.conn = conn
	st.running.Go(l.read)
	return l
}

// subscribe opens a link, asks, and waits for the answer. A producer of Level 1 may know no handshake (§9.3.3): then
// the link just listens.
func (st *stage) subscribe(capabilities object) *link { return st.ask(request(capabilities)) }

func (st *stage) ask(req object) *link { return st.askBy(st.run.Dialer, req) }

func (st *stage) askBy(dialer transports.Dialer, req object) *link {
	l := st.dial(dialer)
	l.send(req)
	l.answered(1)
	return l
}

// answered waits for the n-th answer, and takes the subscription's id from it.
func (l *link) answered(n int) bool {
	var got []message
	ok := l.st.tape.wait(l.st.ctx, patience, func(r *Recording) bool {
		got = of(r.all(l.n, false), "subscription.accepted", "subscription.rejected")
		_, over := r.noted(l.n, noteClosed)
		return len(got) >= n || over || l.conn == nil
	})
	if len(got) > 0 && got[0].str("subscription_id") != "" {
		l.id = got[0].str("subscription_id")
	}
	return ok && len(got) >= n
}

// refused notes a refusal that came by other means than a message.
func (l *link) refused(err error) {
	if refusal := new(aaep.Rejection); errors.As(err, &refusal) && l.st.ctx.Err() == nil {
		l.st.tape.add(Entry{Link: l.n, Note: noteRefused + string(refusal.Code)})
	}
}

func (l *link) read() {
	defer close(l.told)
	reopened := 0
	for {
		data, err := l.conn.Receive(l.st.ctx)
		var again transports.Reopener
		if errors.Is(err, transports.ErrInterrupted) && reopened < 3 {
			if again, _ = l.conn.(transports.Reopener); again != nil && again.Reopen(l.st.ctx) == nil {
				reopened++
				continue
			}
		}
		if err != nil {
			l.refused(err)
			if l.st.ctx.Err() == nil && !errors.Is(err, transports.ErrClosed) {
				l.st.tape.add(Entry{Link: l.n, Note: noteClosed})
			}
			return
		}
		if !l.st.tape.add(Entry{Link: l.n, Data: append([]byte{}, data...)}) {
			return
		}
	}
}

func (l *link) send(o object) {
	data, err := jsonv2.Marshal(o, jsonv2.Deterministic(true))
	if err != nil {
		panic(err) // it is of our own making
	}
	l.sendRaw(data)
}

func (l *link) sendRaw(data []byte) {
	if l.conn == nil {
		return
	}
	l.st.tape.add(Entry{Link: l.n, Sent: true, Data: data})
	ctx, cancel := context.WithTimeout(l.st.ctx, patience)
	defer cancel()
	if err := l.conn.Send(ctx, data); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		l.st.tape.add(Entry{Link: l.n, Note: noteNoSend})
	}
}

// cut breaks the line without a goodbye.
func (l *link) cut() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.gone = true
	}
}

// reply answers a question as the user's answer would be.
func (l *link) reply(q message, decision string, more object) {
	l.send(with(object{"type": "confirmation.reply", "reply_token": q.str("reply_token"), "decision": decision,
		"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())}, more))
}

func (l *link) respond(q message, response any) {
	l.send(object{"type": "clarification.reply", "reply_token": q.str("reply_token"), "response": response,
		"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())})
}

// start makes the producer act.
func (st *stage) start() {
	st.tape.add(Entry{Note: noteStart})
	st.running.Go(func() {
		if err := st.run.Driver.Start(st.ctx, st.play.scenario); err != nil && st.ctx.Err() == nil {
			st.tape.mu.Lock()
			st.tape.rec.DriverErr = err
			st.tape.mu.Unlock()
			st.tape.add(Entry{Note: "the scenario could not be started"})
		}
	})
}

// await returns the first new event of a type that comes on a link in time.
func (st *stage) await(l *link, limit time.Duration, types ...string) (message, bool) {
	var got []message
	st.tape.wait(st.ctx, limit, func(r *Recording) bool {
		got = of(r.events(l.n), types...)
		_, over := r.noted(l.n, noteClosed)
		return len(got) > 0 || over || l.conn == nil || r.DriverErr != nil
	})
	if len(got) == 0 {
		return message{}, false
	}
	return got[0], true
}

// end waits for the end of the session on a link, and then for what must not follow it.
func (st *stage) end(l *link, limit time.Duration) {
	st.await(l, limit, completed, errored, cancelled)
	st.pause(settle)
}

// pause lets time go by in which something might come.
func (st *stage) pause(d time.Duration) {
	st.tape.wait(st.ctx, d, func(*Recording) bool { return false })
}

// over ends the play: it takes leave, and waits for all that it started.
func (st *stage) over() Recording {
	st.tape.add(Entry{Note: noteEnd})
	for _, l := range st.links {
		if l.conn == nil || l.gone {
			continue
		}
		ctx, cancel := context.WithTimeout(st.ctx, patience)
		if bye, err := jsonv2.Marshal(object{"type": "subscription.close", "subscription_id": l.id, "reason_code": "subscriber_shutdown",
			"reason_message": "The play is over."}, jsonv2.Deterministic(true)); err == nil {
			_ = l.conn.Send(ctx, bye) // whoever is gone needs no goodbye
		}
		cancel()
	}
	st.stop()
	for _, l := range st.links {
		if l.conn != nil {
			_ = l.conn.Close()
		}
	}
	st.running.Wait()
	st.tape.mu.Lock()
	defer st.tape.mu.Unlock()
	return st.tape.rec
}

// play is how the runner's subscribers behave in one scenario.
type play struct {
	name     string
	does     string // what the subscribers and the agent do, in words
	scenario Scenario
	level    int // the least level at which it is played
	run      func(*stage)
}

func playNamed(name string) play {
	for _, p := range plays {
		if p.name == name {
			return p
		}
	}
	panic(fmt.Sprintf("there is no play %q", name))
}
