package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// following is one agent that a listener follows, and what was agreed with it. Only the listener's own goroutine uses it.
type following struct {
	*listener
	name   string            // no other agent here has it
	wanted aaep.Capabilities // what was asked for
	sub    *subscriber.Subscription
	link   subscriber.Status                         // as it was last looked at
	told   int                                       // events of the subscription, so far
	remark string                                    // of the agent, about the terms; said once
	trust  *manifest.Trust                           // nil demands no proof
	over   []string                                  // the ways to the agent, in words; empty if there is one that speaks for itself
	reach  func(context.Context) (*following, error) // of an agent that has no sub yet: follows it

	garbled garbled
	gist    announce.Gist[lasting] // of what is printed; outputs have their own

	pace       int64                  // that was asked for without a word of the person's
	unfinished map[string]*unfinished // by session and output
	changing   bool                   // other terms are asked for
	later      *aaep.Capabilities     // to ask for after that
	quiet      *time.Timer            // until it is over; nil where it is not quiet
}

// begin says who is followed, and lets the listener know what happens there, until ctx is done.
func (f *following) begin(ctx context.Context) {
	name, proof := f.identity()
	f.name = f.unlikeOthers(name)
	f.link, _ = f.sub.Status()
	text := fmt.Sprintf("Following %s%s. %s", f.name, f.way(), proof)
	if !f.several() {
		text += " " + helpAndEnd
	}
	f.status.say("aaep", text)
	f.explain(f.wanted)
	if isQuiet(f.terms()) {
		f.hush()
	}
	go f.watchGarbled(ctx)
	go func() {
		for ev, err := range f.sub.Events(ctx) {
			f.post(ctx, func() {
				f.look()
				if err != nil {
					f.left(err)
					return
				}
				f.announce(ev)
				f.told++
				f.look()
			})
			if err != nil {
				return
			}
		}
		f.post(ctx, func() { f.left(nil) })
	}()
	go func() {
		for {
			status, changed := f.sub.Status()
			if status.Over {
				return // and the events say why
			}
			select {
			case <-changed:
				f.post(ctx, f.look)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// identity is what the agent is called, and what that is worth.
func (f *following) identity() (name, proof string) {
	who := f.sub.Accepted().Producer
	v := f.sub.Verified()
	if v == nil {
		return nameOfAgent(who.AgentName, who.AgentID), "Who it is has not been verified."
	}
	name, proof = nameOfAgent(v.Manifest.AgentName, v.Manifest.AgentID), "It has proved who it is."
	if like := v.Identity.LooksLike; like != "" {
		proof += " Its name looks like that of another agent, " + words.OneLine(like) + ", which it is not."
	}
	return name, proof
}

// unlikeOthers makes a name one that no other agent here has, so that each can be told from the others.
func (f *following) unlikeOthers(name string) string {
	unique := name
	for n := 2; ; n++ {
		taken := false
		for _, other := range f.agents {
			taken = taken || other != f && strings.EqualFold(other.name, unique)
		}
		if !taken {
			return unique
		}
		unique = fmt.Sprintf("%s, number %d", name, n)
	}
}

// note says something about the link to this agent.
func (f *following) note(text string) {
	if f.several() {
		text = announce.Speaker(f.name) + " " + text
	}
	f.status.say("aaep", text)
}

// way says over what the agent is reached.
func (f *following) way() string {
	if f.link.Way >= len(f.over) {
		return ""
	}
	return " over " + f.over[f.link.Way]
}

// terms are what holds now; before anything was agreed on, what is wanted.
func (f *following) terms() aaep.Capabilities {
	if f.sub == nil {
		return f.wanted
	}
	return effective(f.wanted, f.sub.Accepted().HonoredCapabilities)
}

// explain says what of a request the agent did not grant.
func (f *following) explain(asked aaep.Capabilities) {
	note := words.OneLine(f.sub.Accepted().NegotiationNotes)
	if note != "" && note != f.remark {
		f.note(note)
	}
	f.remark = note
	if list := notGranted(asked, f.terms(), note); len(list) > 0 {
		f.note(words.OneLine("Not granted: " + strings.Join(list, ", ") + "."))
	}
}

// look tells what became of the link since it was last looked at, when what came before that has been told.
func (f *following) look() {
	if f.sub == nil {
		return // nothing was agreed on yet
	}
	now, _ := f.sub.Status()
	if f.told < now.Received {
		return
	}
	was := f.link
	f.link = now
	switch {
	case now.Over: // left tells why
	case was.Connected && !now.Connected && errors.Is(now.Err, aaep.ProducerShutdown):
		f.note("The agent has ended. Waiting for it to come back. Ctrl-C ends.")
	case was.Connected && !now.Connected:
		f.note("Connection lost. Trying again. Ctrl-C ends.")
	case !now.Connected && isUnproven(now.Err) && !isUnproven(was.Err):
		f.note("Not connected again: " + plain(now.Err) + ". If it has a new certificate, end this and begin again with that in --ca.")
	case !was.Connected && now.Connected:
		again := "Connected again."
		if now.Way != was.Way {
			again = "Connected again" + f.way() + "."
		}
		switch {
		case was.Subscribed == now.Subscribed && now.Resumed:
		case now.Resumed:
			again += " Nothing is missing."
		default:
			again += " What was said meanwhile may be missing."
		}
		f.note(again)
	}
	if was.Subscribed == now.Subscribed {
		return
	}
	f.loseQuestions() // they went with the subscription they came on
	if f.quiet != nil {
		f.hush() // it was asked for anew
	}
}

// left takes away an agent whose subscription is over.
func (f *following) left(err error) {
	f.loseQuestions()
	f.ended(f, err)
}

// standing says how it stands with this agent, and how far the person is with what it says.
func (f *following) standing() string {
	text := "connected" + f.way()
	switch {
	case f.link.Over && f.sub == nil:
		text = "not followed"
	case f.link.Over:
		text = "ended"
	case !f.link.Connected:
		text = "not connected; trying again"
	}
	if f.out != nil {
		var worst announce.Standing
		f.out.each(func(p *present.Presenter) {
			s := p.Standing(f.name)
			worst = announce.Standing{Waiting: max(worst.Waiting, s.Waiting), Behind: max(worst.Behind, s.Behind),
				Missed: max(worst.Missed, s.Missed), LeftOut: max(worst.LeftOut, s.LeftOut)}
		})
		switch {
		case worst.Waiting > 0:
			text += ", " + words.Spoken(max(worst.Behind, time.Second)) + " behind"
		default:
			text += ", up to date"
		}
		if worst.LeftOut > 0 {
			text += fmt.Sprintf(", %d left out for newer ones", worst.LeftOut)
		}
		if worst.Missed > 0 {
			text += fmt.Sprintf(", %d to ask for with /details", worst.Missed)
		}
	}
	n := 0
	for _, q := range f.asked.All() {
		if q.Source == f.name {
			n++
		}
	}
	if n > 0 {
		text += ", " + words.Count(n, "open question")
	}
	return text + "."
}

// announce tells what an event says.
func (f *following) announce(ev *aaep.Event) {
	if f.json {
		if msg, err := ev.MarshalJSON(); err == nil {
			f.line(safeJSON(string(msg)))
		}
		return
	}
	switch ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		if text := strings.TrimSpace(f.unsaid(ev.SessionID)); f.asked.Len() > 0 {
			f.keep(ev, text)
		} else {
			f.says(text)
		}
		if f.canAnswer(ev) {
			f.says(felt(ev, f.terms()))
			f.gist.Add(time.Now(), f.name, ev, lasting{}) // the state that says so too
			f.ask(ev)
			return
		}
	}
	first, waits := f.asked.First(), f.waits(ev)
	closed, told := f.asked.Heed(time.Now(), f.name, ev)
	if told {
		return
	}
	w := f.news(ev)
	f.out.each(func(p *present.Presenter) { p.AddWords(f.name, ev, w) })
	text := w.String()
	if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		text = f.answerText(ev, p)
	} else if ev.Type().Terminal() {
		text = f.rest(ev.SessionID) + text
	}
	feel := felt(ev, f.terms())
	text = strings.TrimSpace(feel + " " + text)
	line := lasting{ev, text}
	if feel != "" { // it is told at once
		line.text = ""
	}
	tell, _ := f.gist.Add(time.Now(), f.name, ev, line)
	tells := len(tell) > 0 || feel != ""
	if waits && tells {
		f.keep(ev, text)
	}
	if waits {
		return
	}
	if tells {
		f.says(text)
	}
	f.heedMoreTime(ev)
	f.settle(first, closed, ev)
	f.catchUp()
}

// lasting is a state that is told when it has lasted.
type lasting struct {
	ev   *aaep.Event
	text string
}

// lasted tells the states that have lasted, and returns when to ask again.
func (f *following) lasted() time.Time {
	tell, wake := f.gist.Due(time.Now())
	for _, state := range tell {
		if f.waits(state.ev) {
			f.keep(state.ev, state.text)
		} else {
			f.says(state.text)
		}
	}
	return wake
}

// says prints what the agent says; of several agents, the one that speaks is named when it is another than before.
func (f *following) says(text string) {
	if text == "" {
		return
	}
	if f.several() {
		var names []string
		for _, other := range f.agents {
			names = append(names, other.name)
		}
		text = announce.NotNamed(ownLanguage, text, names)
		if f.speaker != f.name {
			f.speaker = f.name
			text = announce.Speaker(f.name) + " " + text
		}
	}
	f.say("", text)
}
