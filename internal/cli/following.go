package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// following is one agent that a listener follows, and what was agreed with it. Only the listener's own goroutine uses it.
type following struct {
	*listener
	name     string            // no other agent here has it
	wanted   aaep.Capabilities // what was asked for
	sub      *subscriber.Subscription
	link     subscriber.Status                         // as it was last looked at
	lost     time.Time                                 // when the link broke; the next attempt is told
	tellAt   time.Duration                             // when it has been away for so long
	told     int                                       // events of the subscription, so far
	lossTold bool                                      // that events may be lost, before the event came that says so
	remark   string                                    // of the agent, about the terms; said once
	trust    *manifest.Trust                           // nil demands no proof
	over     []string                                  // the ways to the agent, in words; empty if there is one that speaks for itself
	reach    func(context.Context) (*following, error) // of an agent that has no sub yet: follows it

	garbled garbled
	gist    announce.Gist[lasting] // of what is printed; outputs have their own

	pace       int64              // that was asked for without a word of the person's
	paceless   bool               // it was refused: the pace that is heard changes all the time, and each refusal costs a subscription
	unfinished []*unfinished      // answers, in the order in which they began
	changing   bool               // other terms are asked for
	later      *aaep.Capabilities // to ask for after that
	quiet      *time.Timer        // until it is over; nil where it is not quiet
}

// begin says who is followed, and lets the listener know what happens there, until ctx is done.
func (f *following) begin(ctx context.Context) {
	name, proof := f.identity()
	f.name = f.unlikeOthers(name)
	f.link, _ = f.sub.Status()
	said := append([]string{f.phrase(phrase.FollowingAgent, f.name+f.way())}, proof...)
	if !f.several() {
		said = append(said, f.phrase(phrase.HelpIsThere, ""), f.phrase(phrase.CtrlCEnds, ""))
	}
	f.greet(said...)
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
func (f *following) identity() (name string, proof []string) {
	who := f.sub.Accepted().Producer
	v := f.sub.Verified()
	if v == nil {
		name = f.nameOf(who.AgentName, who.AgentID)
		return name, append([]string{f.phrase(phrase.AgentUnproven, "")}, f.misled(name)...)
	}
	name, proof = f.nameOf(v.Manifest.AgentName, v.Manifest.AgentID), []string{f.phrase(phrase.AgentProven, "")}
	if v.Identity.FirstMeeting {
		proof[0] = f.phrase(phrase.AgentFirstMet, "")
	}
	proof = append(proof, f.misled(name)...)
	if like := v.Identity.LooksLike; like != "" {
		proof = append(proof, f.phrase(phrase.NameLooksLike, words.OneLine(like)))
	}
	return name, proof
}

// misled warns of a name, as nameOf makes it, that could mislead its reader.
func (f *following) misled(name string) []string {
	if manifest.NameMisleads(name) {
		return []string{f.phrase(phrase.NameMisleads, "")}
	}
	return nil
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
		unique = name + ", " + f.phrase(phrase.AgentNumber, strconv.Itoa(n))
	}
}

// note says something about the link to this agent.
func (f *following) note(sentences ...string) {
	if f.several() {
		sentences = append([]string{announce.Speaker(f.name)}, sentences...)
	}
	f.inform(sentences...)
}

// way says over what the agent is reached.
func (f *following) way() string {
	if f.link.Way >= len(f.over) {
		return ""
	}
	return " " + f.phrase(phrase.OverWay, f.over[f.link.Way])
}

// terms are what holds now; before anything was agreed on, what is wanted.
func (f *following) terms() aaep.Capabilities {
	if f.sub == nil {
		return f.wanted
	}
	return termsInForce(f.wanted, f.sub.Accepted().HonoredCapabilities)
}

// explain says what of a request the agent did not grant.
func (f *following) explain(asked aaep.Capabilities) {
	note := words.OneLine(f.sub.Accepted().NegotiationNotes)
	if note != "" && note != f.remark {
		f.note(note)
	}
	f.remark = note
	if list := notGranted(f.tongue(), asked, f.terms(), note); len(list) > 0 {
		f.note(f.phrase(phrase.NotGranted, strings.Join(list, f.tongue().comma())))
	}
}

// firstTold is how long a link has been broken when it is first told when it is tried next; then it is told four times as late each time.
const firstTold = time.Minute

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
	if was.Connected && !now.Connected {
		f.lost, f.tellAt = time.Now(), firstTold
	}
	switch {
	case now.Over: // left tells why
	case now.Awaits != "":
		if was.Awaits == "" {
			f.note(f.phrase(phrase.StillRefused, now.Awaits))
		}
	case !now.Connected && !was.Connected && !now.Next.IsZero() && time.Since(f.lost) >= f.tellAt:
		f.tellAt *= 4
		f.note(f.phrase(phrase.ConnectionLost, ""), phrase.Lasting(string(f.tongue()), phrase.TryingAgainIn, max(time.Until(now.Next), time.Second)))
	case was.Connected && !now.Connected && errors.Is(now.Err, aaep.ProducerShutdown):
		f.note(f.phrase(phrase.AgentHasEnded, ""), f.phrase(phrase.WaitingForAgent, ""), f.phrase(phrase.CtrlCEnds, ""))
	case was.Connected && !now.Connected:
		f.note(f.phrase(phrase.ConnectionLost, ""), f.phrase(phrase.TryingAgain, ""), f.phrase(phrase.CtrlCEnds, ""))
	case !now.Connected && isUnproven(now.Err) && !isUnproven(was.Err):
		f.note(f.phrase(phrase.StillUnproven, ""), f.phrase(phrase.NewCertificate, ""))
	case !was.Connected && now.Connected:
		said := []string{f.phrase(phrase.ConnectedAgain, "")}
		if now.Way != was.Way && now.Way < len(f.over) {
			said[0] = f.phrase(phrase.ConnectedAgainOver, f.over[now.Way])
		}
		switch {
		case was.Subscribed == now.Subscribed && now.Resumed:
		case now.Resumed:
			said = append(said, f.phrase(phrase.NothingLost, ""))
		default:
			said, f.lossTold = append(said, f.phrase(phrase.MayBeLost, "")), true
		}
		f.note(said...)
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
	t := f.tongue()
	said := []string{t.says(phrase.StandsConnected, "") + f.way()}
	switch {
	case f.link.Over && f.sub == nil:
		said[0] = t.says(phrase.StandsUnfollowed, "")
	case f.link.Over:
		said[0] = t.says(phrase.StandsEnded, "")
	case !f.link.Connected:
		said[0] = t.says(phrase.StandsApart, "")
	}
	if f.out != nil {
		var worst announce.Standing
		f.out.plan(func(a *announce.Announcer, _ time.Time) {
			s := a.Standing(f.name)
			worst = announce.Standing{Waiting: max(worst.Waiting, s.Waiting), Behind: max(worst.Behind, s.Behind),
				Missed: max(worst.Missed, s.Missed), LeftOut: max(worst.LeftOut, s.LeftOut)}
		})
		switch {
		case worst.Waiting > 0:
			said = append(said, phrase.Lasting(string(t), phrase.StandsBehind, max(worst.Behind, time.Second)))
		default:
			said = append(said, t.says(phrase.StandsUpToDate, ""))
		}
		if worst.LeftOut > 0 {
			said = append(said, t.says(phrase.StandsLeftOut, strconv.Itoa(worst.LeftOut)))
		}
		if worst.Missed > 0 {
			said = append(said, t.says(phrase.StandsToAskFor, strconv.Itoa(worst.Missed)))
		}
	}
	n := 0
	for _, q := range f.asked.All() {
		if q.Source == f.name {
			n++
		}
	}
	if n > 0 {
		said = append(said, phrase.Counted(string(t), phrase.StandsOpen, n, "open question"))
	}
	return strings.Join(said, t.comma()) + "."
}

// announce tells what an event says.
func (f *following) announce(ev *aaep.Event) {
	if ev.Type() == aaep.TypeLost && !f.json {
		if !f.lossTold {
			f.note(f.phrase(phrase.MayBeLost, ""))
		}
		f.lossTold = false
		return
	}
	if f.json {
		if msg, err := ev.MarshalJSON(); err == nil {
			f.printLine(safeJSON(string(msg)))
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
			f.says(hapticPattern(ev, f.terms()))
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
	f.out.plan(func(a *announce.Announcer, now time.Time) { a.Add(now, f.name, ev, w) })
	says, outcome := f.asked.Told(f.name, ev, w)
	if outcome && !ev.Type().Terminal() { // what comes of an answer waits for no other question
		waits = false
	}
	text := says.String()
	f.before.done(f.name, ev, text)
	if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		text = f.answerText(ev, p)
	} else if ev.Type().Terminal() {
		text = f.rest(ev.SessionID) + text
	}
	feel := hapticPattern(ev, f.terms())
	text = strings.TrimSpace(feel + " " + text)
	line := lasting{ev, text}
	if feel != "" { // it is told at once
		line.text = ""
	}
	tell, _ := f.gist.Add(time.Now(), f.name, ev, line)
	tells := len(tell) > 0 || feel != ""
	if waits && tells {
		f.keep(ev, text)
		f.offer()
	}
	if waits {
		return
	}
	if p, ok := ev.Payload.(*aaep.ToolCompleted); ok { // that it began is no news any more
		f.meanwhile = slices.DeleteFunc(f.meanwhile, func(h held) bool {
			began, ok := h.ev.Payload.(*aaep.ToolInvoked)
			return ok && h.of == f && h.ev.SessionID == ev.SessionID && began.ToolCallID == p.ToolCallID
		})
	}
	if tells {
		if outcome || len(closed) > 0 {
			f.speaker = "" // whose it is belongs to it
		}
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
		text = announce.NotNamed(string(f.tongue()), text, names)
		if f.speaker != f.name {
			f.speaker = f.name
			text = announce.Speaker(f.name) + " " + text
		}
	}
	f.printLabelled("", text)
}
