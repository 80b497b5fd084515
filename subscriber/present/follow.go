package present

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// settleAfter is how long a question that is open no longer stays put, unless an event closes it
// sooner: the one that says what came of it is behind others that are still to be told, and belongs
// before the next question.
const settleAfter = 250 * time.Millisecond

// toSend is how long a link may take to take an answer, until the person may give it again.
const toSend = 10 * time.Second

// following is one agent that a person follows, over all their outputs.
type following struct {
	ctx    context.Context
	sub    *subscriber.Subscription
	name   string
	people []*Presenter // the outputs of one person

	answering sync.Mutex                 // held while it is decided whether an answer counts
	sending   map[*aaep.Event]*Presenter // the outputs that took what is on its way, by question; guarded by answering

	mu      sync.Mutex
	ended   bool           // and nothing is begun any more
	away    bool           // the person was told that the agent is out of reach
	running sync.WaitGroup // what was begun; nothing is added once ended
}

// Follow tells a person all that an agent says: its events, when it is out of reach and back, and
// its questions, one at a time, until those are answered or gone. What they give to Answer is sent
// to the agent that asks, and they are told what came of it. The agent's name is one that people
// understand, and no other agent that they follow has it. The person may have several outputs, each
// with a Presenter of its own; an answer that one of them takes settles the question on all.
// Several agents are followed each by a Follow, with a Subscription of its own: a second Follow of
// one Subscription is an error, for each would have a part of the events.
//
// It does not tell what the agent serves otherwise than it was asked, such as that none of the
// person's languages is there. sub.Accepted().NegotiationNotes says so in words for them, after
// Dial and after Renegotiate; the program tells it by Presenter.Tell.
//
// Follow returns when the subscription is over and all that was to be told of it has been, over
// each output that runs, as AwaitTold has it, with the reason, which the person is told too, or nil
// where the program itself closed it. Once ctx is done it returns at once, with nil. It closes
// nothing, and leaves nothing running.
func Follow(ctx context.Context, sub *subscriber.Subscription, name string, people ...*Presenter) error {
	switch {
	case sub == nil:
		return errors.New("present: Follow was given no Subscription; Dial returns one")
	case name == "":
		return errors.New("present: Follow needs a name for the agent, such as its agent_name")
	case len(people) == 0:
		return errors.New("present: Follow was given no Presenter; New returns one")
	case slices.Contains(people, nil):
		return errors.New("present: Follow was given a Presenter that is nil; New returns one")
	}
	if otherName, isFollowed := followed.LoadOrStore(sub, name); isFollowed {
		return fmt.Errorf("present: this Subscription is followed already, as %q; pass all Presenters to one Follow, "+
			"or Dial another Subscription", otherName)
	}
	defer followed.Delete(sub)
	outer := ctx
	ctx, stop := context.WithCancel(ctx)
	f := &following{ctx: ctx, sub: sub, name: name, people: people, sending: map[*aaep.Event]*Presenter{}}
	for i, p := range people {
		if !p.addAgent(f) {
			stop()
			f.leaveOutputs(people[:i], nil)
			return fmt.Errorf("present: an agent named %q is followed already; give each agent a name of its own", name)
		}
	}
	err := f.handleEvents()
	if ctx.Err() != nil {
		err = nil
	}
	stop()
	f.awaitTracked()
	f.leaveOutputs(people, err)
	f.awaitLastWords(outer)
	return err
}

// followed has the names of the agents that are followed now, by their *subscriber.Subscription.
var followed sync.Map

// awaitLastWords waits until the person has been told what the agent said, over each output that
// runs: a program may end once Follow returns.
func (f *following) awaitLastWords(ctx context.Context) {
	running := slices.DeleteFunc(slices.Clone(f.people), func(p *Presenter) bool { return !p.isRunning() })
	_ = awaitTold(ctx, 0, running, f.name)
}

// handleEvents hands the events and the outages of the subscription on to every output, until there
// are no more events. It returns the error that ended them, nil after Close.
func (f *following) handleEvents() error {
	f.startTracked(func() {
		for why := range f.sub.Outages(f.ctx) {
			f.noteOutage(why)
		}
	})
	for ev, err := range f.sub.Events(f.ctx) {
		if err != nil {
			return err
		}
		f.noteOutage(nil) // an event shows as much, and what it tells comes after that
		for _, p := range f.people {
			p.Add(f.name, ev)
		}
		switch ev.Payload.(type) {
		case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
			f.startTracked(func() { f.settleQuestion(ev) })
		}
	}
	return nil
}

// noteOutage announces why the agent is out of reach or, for nil, that it is back, and whether
// nothing is missing, unless that was announced.
func (f *following) noteOutage(why error) {
	f.mu.Lock()
	isKnown := why == nil && !f.away
	f.away = why != nil
	f.mu.Unlock()
	status, _ := f.sub.Status()
	switch {
	case isKnown:
	case why == nil && status.Resumed:
		f.planAll(func(a *announce.Announcer, now time.Time) { a.BackWhole(now, f.name) })
	default:
		f.planAll(func(a *announce.Announcer, now time.Time) { a.Outage(now, f.name, why) })
	}
}

// settleQuestion waits until a question is open no longer, and, settleAfter later, has the
// Announcer take it away: as settled, or as lapsed if a new subscription began meanwhile.
// handleEvents starts it as a goroutine for each question; it ends early with f.ctx.
func (f *following) settleQuestion(question *aaep.Event) {
	asked, _ := f.sub.Status()
	select {
	case <-f.sub.Question(question).Done():
	case <-f.ctx.Done():
		return
	}
	select {
	case <-time.After(settleAfter):
	case <-f.ctx.Done():
		return
	}
	if ended, _ := f.sub.Status(); ended.Subscribed != asked.Subscribed {
		f.planAll(func(a *announce.Announcer, now time.Time) { a.Lapse(now, question) })
		return
	}
	f.planAll(func(a *announce.Announcer, now time.Time) { a.Settle(now, question) })
}

// sendAnswer sends an answer to the agent, for at most toSend, and has the Announcer tell the
// person what came of it, an error included. It returns that error. It runs on a goroutine of its
// own, one for each question: f.sending has it meanwhile.
func (f *following) sendAnswer(r *announce.Reply) error {
	ctx, cancel := context.WithTimeout(f.ctx, toSend)
	defer cancel()
	var err error
	if r.Response != nil {
		err = replies.Send(ctx, f.sub.Question(r.Question), "", r.Response)
	} else {
		err = replies.Send(ctx, f.sub.Question(r.Question), r.Decision, nil)
	}
	r.Untold = !f.sub.Accepted().HonoredCapabilities.EventFilters.Match(aaep.TypeStateChanged)
	f.planAll(func(a *announce.Announcer, now time.Time) { a.Answered(now, r, err) })
	f.answering.Lock()
	defer f.answering.Unlock()
	delete(f.sending, r.Question)
	return err
}

// planAll calls a function with the Announcer of each output of the person.
func (f *following) planAll(do func(a *announce.Announcer, now time.Time)) {
	for _, p := range f.people {
		p.Plan(do)
	}
}

// startTracked runs a function in a goroutine that awaitTracked waits for, and reports whether it
// does; once awaitTracked was called, it does not.
func (f *following) startTracked(do func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.running.Go(do)
	return true
}

// awaitTracked waits until all that was started has ended. It is called once ctx has.
func (f *following) awaitTracked() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.running.Wait()
}

// leaveOutputs lets outputs know that the agent is not followed any more, and why, if the person
// should know.
func (f *following) leaveOutputs(people []*Presenter, why error) {
	for _, p := range people {
		p.Plan(func(a *announce.Announcer, now time.Time) {
			delete(p.agents, f.name)
			a.Leave(now, f.name, why)
		})
	}
}

// addAgent makes an agent one that the output tells of, and reports whether it did: a name that is
// taken already is refused. Follow calls it.
func (p *Presenter) addAgent(f *following) (ok bool) {
	p.Plan(func(a *announce.Announcer, _ time.Time) {
		if ok = p.agents[f.name] == nil; !ok {
			return
		}
		if p.agents == nil {
			p.agents = map[string]*following{}
		}
		p.agents[f.name] = f
		a.Follow(f.name)
	})
	return ok
}

// Answer takes what the person typed, said or pressed as their answer to the question that is put:
// "y" or "n", in English or in their language, for a button that accepts or rejects too; the number
// or the name of a choice; a number; the text of an answer. For one or two switches, which answer
// everything, it is announce.Step or announce.Select. It returns at once. The answer is sent to the
// agent that asks, and the person is told what came of it, or why it does not count. A no counts
// once the question has been put for a second, be it heard or not, and any other answer once they
// had all of it: else the question is put once more. See announce.Announcer.
func (p *Presenter) Answer(text string) { Answer(time.Time{}, text, p) }

// ErrNotTaken says that an answer does not count, and that the person is told why; of one that is
// given twice, they are told what becomes of the first.
var ErrNotTaken = errors.New("present: the answer does not count, as the person is told")

// Answer is Presenter.Answer for a person who has several outputs, and began the answer at a time;
// the zero time is now, or that of their first key. It counts once they had the question over one
// of the outputs, while none of the others puts another question. What becomes of it comes over the
// channel, once: nil where it was sent, ErrNotTaken, or the error of sending it.
func Answer(began time.Time, text string, outputs ...*Presenter) <-chan error {
	result := make(chan error, 1)
	outputs = slices.DeleteFunc(slices.Clone(outputs), func(p *Presenter) bool { return p == nil })
	if len(outputs) == 0 {
		result <- errNilPresenter
		return result
	}
	p := chooseOutput(began, text, outputs)
	if p == nil {
		result <- ErrNotTaken
		return result
	}
	var asked *aaep.Event
	var f *following
	p.Plan(func(a *announce.Announcer, now time.Time) {
		var source string
		source, asked, _ = a.OpenQuestion(now)
		f = p.agents[source]
	})
	if f != nil {
		f.answering.Lock()
		defer f.answering.Unlock()
		p = cmp.Or(f.sending[asked], p) // which knows what the other answer is
	}
	var r *announce.Reply
	refusal, wantsMore, scanned := "", false, announce.Scanned{}
	p.Plan(func(a *announce.Announcer, now time.Time) {
		if _, question, _ := a.OpenQuestion(now); question != asked { // it was taken away meanwhile
			a.WhatWaits(now)
		} else if r = a.Answer(now, began, text); r == nil {
			refusal, wantsMore = a.Refused(), a.WantsMoreTime()
		}
		scanned = a.Scanned()
	})
	if f != nil {
		f.tellOthers(p, refusal, scanned)
	}
	switch {
	case r == nil:
		if wantsMore {
			MoreTime(p)
		}
		result <- ErrNotTaken
	case f == nil || !f.startTracked(func() { result <- f.sendAnswer(r) }):
		p.Plan(func(a *announce.Announcer, now time.Time) { a.Answered(now, r, subscriber.ErrUnknownEvent) })
		result <- subscriber.ErrUnknownEvent
	default:
		f.sending[asked] = p
	}
	return result
}

// tellOthers tells over the outputs with words other than p why an answer does not count, unless
// that is empty, and what the person steps through with switches.
func (f *following) tellOthers(p *Presenter, refusal string, scanned announce.Scanned) {
	for _, other := range f.people {
		if other == p {
			continue
		}
		if refusal != "" {
			other.Tell(refusal, false)
		}
		if other.hasWords() {
			other.Plan(func(a *announce.Announcer, now time.Time) { a.ShowScanned(now, scanned) })
		}
	}
}

// chooseOutput returns which of several outputs decides whether an answer counts that was begun at
// a time (zero: now): the one that named another question last, which refuses it; else the one at
// which the person scans; else the one over which they had all of the question; else the first.
// Outputs with words go before those without, and for the press of a switch those that present
// before those that are gone, where the person hears nothing that they could select. Where two put
// different questions it has them read out, and returns nil.
func chooseOutput(began time.Time, text string, outputs []*Presenter) (best *Presenter) {
	keepIf := func(isBetter func(*Presenter) bool) {
		if slices.ContainsFunc(outputs, isBetter) {
			outputs = slices.DeleteFunc(slices.Clone(outputs), func(p *Presenter) bool { return !isBetter(p) })
		}
	}
	keepIf((*Presenter).hasWords)
	if isPress := text == announce.Step || text == announce.Select; isPress {
		keepIf((*Presenter).Presents)
	}
	var question *aaep.Event
	hadQuestion := false               // best had all of the question, or the person scans there
	var openOutput *Presenter          // the output that named another question last, and not the one that is put since
	var namedOther, namedPut time.Time // when any output named another question last, and the one that is put
	for _, p := range outputs {
		var puts, heard *aaep.Event
		scans := false
		var otherAt, putAt time.Time
		p.Plan(func(a *announce.Announcer, now time.Time) {
			_, puts, _ = a.OpenQuestion(now)
			_, heard = a.Question(cmp.Or(began, now), aaep.Accept)
			scans = a.Scanned() != announce.Scanned{}
			otherAt, putAt = a.Named()
		})
		if otherAt.After(namedOther) && putAt.IsZero() {
			namedOther, openOutput = otherAt, p
		}
		if putAt.After(namedPut) {
			namedPut = putAt
		}
		if puts != nil && question != nil && puts != question {
			p.WhatWaits()
			return nil
		}
		if question = cmp.Or(question, puts); best == nil || scans || heard != nil && !hadQuestion {
			best, hadQuestion = p, hadQuestion || scans || heard != nil
		}
	}
	if openOutput != nil && !namedPut.After(namedOther) {
		return openOutput
	}
	return best
}

// hasWords reports whether the output is not known to tell no words.
func (p *Presenter) hasWords() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.noWords
}

// MoreTime asks for more time for the question that is put to a person with these outputs, and
// tells them what came of that. It returns at once.
func MoreTime(outputs ...*Presenter) {
	var question *aaep.Event
	var f *following
	for i, p := range outputs {
		p.Plan(func(a *announce.Announcer, now time.Time) {
			if i == 0 || question != nil {
				var source string
				if source, question = a.AskMore(now, question); question != nil {
					f = cmp.Or(f, p.agents[source])
				}
			}
		})
	}
	if f == nil {
		return
	}
	f.startTracked(func() {
		err := f.sub.Question(question).MoreTime(f.ctx)
		f.planAll(func(a *announce.Announcer, now time.Time) { a.MoreTime(now, question, err) })
	})
}
