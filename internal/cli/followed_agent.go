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

// followedAgent is one agent that a listener follows, and what was agreed with it. Only the
// listener's own goroutine uses it.
type followedAgent struct {
	*listener
	name     string            // no other agent here has it
	wanted   aaep.Capabilities // what was asked for
	sub      *subscriber.Subscription
	link     subscriber.Status                             // as it was last looked at
	lost     time.Time                                     // when the link broke; the next attempt is told
	tellAt   time.Duration                                 // when it has been away for so long
	told     int                                           // events of the subscription, so far
	lossTold bool                                          // that events may be lost, before the event came that says so
	remark   string                                        // of the agent, about the terms; said once
	trust    *manifest.Trust                               // nil demands no proof
	over     []string                                      // the ways to the agent, in words; empty if there is one that speaks for itself
	reach    func(context.Context) (*followedAgent, error) // of an agent that has no sub yet: follows it

	attempted chan struct{}   // of an agent that has no sub yet: is closed after the first attempt to reach it
	before    <-chan struct{} // attempted of the agent before it on the command line, or nil

	invalid    invalidMessages
	duplicates announce.Gist[lastingState] // of what is printed; outputs have their own

	pace       int64               // that was asked for without a word of the person's
	paceless   bool                // it was refused: the pace that is heard changes all the time, and each refusal costs a subscription
	unfinished []*unfinishedAnswer // answers, in the order in which they began
	changing   bool                // other terms are asked for
	later      *aaep.Capabilities  // to ask for after that
	quiet      *time.Timer         // until it is over; nil where it is not quiet
}

// startFollowing says who is followed, and starts the goroutines that hand events and changes of
// the link to the listener's loop, until ctx is done.
func (f *followedAgent) startFollowing(ctx context.Context) {
	name, proof := f.describeIdentity()
	f.name = f.uniqueName(name)
	f.link, _ = f.sub.Status()
	said := append([]string{f.phraseText(phrase.FollowingAgent, f.name+f.describeRoute())}, proof...)
	if !f.hasSeveral() {
		said = append(said, f.phraseText(phrase.HelpIsThere, ""), f.phraseText(phrase.CtrlCEnds, ""))
	}
	f.greetPerson(said...)
	f.explainRefusals(f.wanted)
	if isQuiet(f.currentTerms()) {
		f.startQuiet()
	}
	go f.watchInvalid(ctx)
	go func() {
		for ev, err := range f.sub.Events(ctx) {
			f.runInLoop(ctx, func() {
				f.checkLink()
				if err != nil {
					f.endSubscription(err)
					return
				}
				f.announceEvent(ev)
				f.told++
				f.checkLink()
			})
			if err != nil {
				return
			}
		}
		f.runInLoop(ctx, func() { f.endSubscription(nil) })
	}()
	go func() {
		for {
			status, changed := f.sub.Status()
			if status.Over {
				return // and the events say why
			}
			select {
			case <-changed:
				f.runInLoop(ctx, f.checkLink)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// describeIdentity returns what the agent is called, and the sentences that say what that name is
// worth.
func (f *followedAgent) describeIdentity() (name string, proof []string) {
	who := f.sub.Accepted().Producer
	v := f.sub.Verified()
	if v == nil {
		name = f.nameOf(who.AgentName, who.AgentID)
		return name, append([]string{f.phraseText(phrase.AgentUnproven, "")}, f.warnOfName(name)...)
	}
	name, proof = f.nameOf(v.Manifest.AgentName, v.Manifest.AgentID), []string{f.phraseText(phrase.AgentProven, "")}
	if v.Identity.FirstMeeting {
		proof[0] = f.phraseText(phrase.AgentFirstMet, "")
	}
	proof = append(proof, f.warnOfName(name)...)
	if like := v.Identity.LooksLike; like != "" {
		proof = append(proof, f.phraseText(phrase.NameLooksLike, words.OneLine(like)))
	}
	return name, proof
}

// warnOfName warns of a name, as nameOf makes it, that could mislead its reader.
func (f *followedAgent) warnOfName(name string) []string {
	if manifest.NameMisleads(name) {
		return []string{f.phraseText(phrase.NameMisleads, "")}
	}
	return nil
}

// uniqueName makes a name one that no other agent here has, so that each can be told from the
// others: of two, one is named with its place on the command line. A name that an agent once has it
// keeps.
func (f *followedAgent) uniqueName(name string) string {
	unique := name
	for n := max(slices.Index(f.agents, f), 0) + 1; ; n++ {
		taken := false
		for _, other := range f.agents {
			taken = taken || other != f && strings.EqualFold(other.name, unique)
		}
		if !taken {
			return unique
		}
		unique = name + ", " + f.phraseText(phrase.AgentNumber, strconv.Itoa(n))
	}
}

// informOfLink prints sentences about the link to this agent, behind its name where there are
// several.
func (f *followedAgent) informOfLink(sentences ...string) {
	if f.hasSeveral() {
		sentences = append([]string{announce.Speaker(f.name)}, sentences...)
	}
	f.informPerson(sentences...)
}

// describeRoute says over what the agent is reached.
func (f *followedAgent) describeRoute() string {
	if f.link.Way >= len(f.over) {
		return ""
	}
	return " " + f.phraseText(phrase.OverWay, f.over[f.link.Way])
}

// currentTerms returns the terms in force; before any were agreed on, those that are wanted.
func (f *followedAgent) currentTerms() aaep.Capabilities {
	if f.sub == nil {
		return f.wanted
	}
	return termsInForce(f.wanted, f.sub.Accepted().HonoredCapabilities)
}

// explainRefusals says which terms of a request the agent did not grant.
func (f *followedAgent) explainRefusals(asked aaep.Capabilities) {
	note := words.OneLine(f.sub.Accepted().NegotiationNotes)
	if note != "" && note != f.remark {
		f.informOfLink(note)
	}
	f.remark = note
	if list := notGranted(f.uiLanguage(), asked, f.currentTerms(), note); len(list) > 0 {
		f.informOfLink(f.phraseText(phrase.NotGranted, strings.Join(list, f.uiLanguage().listComma())))
	}
}

// firstTold is how long a link has been broken when it is first told when it is tried next; then it
// is told four times as late each time.
const firstTold = time.Minute

// checkLink says what became of the link since the last check. It does nothing before every event
// that was received is announced, so that the news of the link come behind what the agent said.
func (f *followedAgent) checkLink() {
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
		f.out.signalLost()
		f.lost, f.tellAt = time.Now(), firstTold
	}
	switch {
	case now.Over: // endSubscription tells why
	case now.Awaits != "":
		if was.Awaits == "" {
			f.informOfLink(f.phraseText(phrase.StillRefused, now.Awaits))
		}
	case !now.Connected && !was.Connected && !now.Next.IsZero() && time.Since(f.lost) >= f.tellAt:
		f.tellAt *= 4
		f.informOfLink(f.phraseText(phrase.ConnectionLost, ""),
			phrase.Lasting(string(f.uiLanguage()), phrase.TryingAgainIn, max(time.Until(now.Next), time.Second)))
	case was.Connected && !now.Connected && errors.Is(now.Err, aaep.ProducerShutdown):
		f.informOfLink(f.phraseText(phrase.AgentHasEnded, ""), f.phraseText(phrase.WaitingForAgent, ""),
			f.phraseText(phrase.CtrlCEnds, ""))
	case was.Connected && !now.Connected:
		f.informOfLink(f.phraseText(phrase.ConnectionLost, ""), f.phraseText(phrase.TryingAgain, ""),
			f.phraseText(phrase.CtrlCEnds, ""))
	case !now.Connected && isUnproven(now.Err) && !isUnproven(was.Err):
		f.informOfLink(f.phraseText(phrase.StillUnproven, ""), f.phraseText(phrase.NewCertificate, ""))
	case !was.Connected && now.Connected:
		said := []string{f.phraseText(phrase.ConnectedAgain, "")}
		if now.Way != was.Way && now.Way < len(f.over) {
			said[0] = f.phraseText(phrase.ConnectedAgainOver, f.over[now.Way])
		}
		switch {
		case was.Subscribed == now.Subscribed && now.Resumed:
		case now.Resumed:
			said = append(said, f.phraseText(phrase.NothingLost, ""))
		default:
			said, f.lossTold = append(said, f.phraseText(phrase.MayBeLost, "")), true
		}
		f.informOfLink(said...)
	}
	if was.Subscribed == now.Subscribed {
		return
	}
	f.loseQuestions() // they went with the subscription they came on
	if f.quiet != nil {
		f.startQuiet() // it was asked for anew
	}
}

// endSubscription counts an agent whose subscription is over, and takes its questions away.
func (f *followedAgent) endSubscription(err error) {
	f.loseQuestions()
	f.countEnded(f, err)
}

// describeState says whether the agent is reached, and how far the person is with what it said.
func (f *followedAgent) describeState() string {
	t := f.uiLanguage()
	said := []string{t.phraseText(phrase.StandsConnected, "") + f.describeRoute()}
	switch {
	case f.link.Over && f.sub == nil:
		said[0] = t.phraseText(phrase.StandsUnfollowed, "")
	case f.link.Over:
		said[0] = t.phraseText(phrase.StandsEnded, "")
	case !f.link.Connected:
		said[0] = t.phraseText(phrase.StandsApart, "")
	}
	if f.out != nil {
		var worst announce.Standing
		f.out.planAll(func(a *announce.Announcer, _ time.Time) {
			s := a.Standing(f.name)
			worst = announce.Standing{Waiting: max(worst.Waiting, s.Waiting), Behind: max(worst.Behind, s.Behind),
				Missed: max(worst.Missed, s.Missed), LeftOut: max(worst.LeftOut, s.LeftOut)}
		})
		switch {
		case worst.Waiting > 0:
			said = append(said, phrase.Lasting(string(t), phrase.StandsBehind, max(worst.Behind, time.Second)))
		default:
			said = append(said, t.phraseText(phrase.StandsUpToDate, ""))
		}
		if worst.LeftOut > 0 {
			said = append(said, t.phraseText(phrase.StandsLeftOut, strconv.Itoa(worst.LeftOut)))
		}
		if worst.Missed > 0 {
			said = append(said, t.phraseText(phrase.StandsToAskFor, strconv.Itoa(worst.Missed)))
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
	return strings.Join(said, t.listComma()) + "."
}

// announceEvent prints an event, holds it back while a question is on the screen, or puts it where
// it is a question.
func (f *followedAgent) announceEvent(ev *aaep.Event) {
	if ev.Type() == aaep.TypeLost && !f.json {
		if !f.lossTold {
			f.informOfLink(f.phraseText(phrase.MayBeLost, ""))
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
		if text := strings.TrimSpace(f.flushUnfinished(ev.SessionID)); f.asked.Len() > 0 {
			f.holdLine(ev, text)
		} else {
			f.printSaid(text)
		}
		if f.canAnswer(ev) {
			f.printSaid(hapticPattern(ev, f.currentTerms()))
			f.duplicates.Add(time.Now(), f.name, ev, lastingState{}) // the state that says so too
			f.addQuestion(ev)
			return
		}
	}
	first, waits := f.asked.First(), f.mustWait(ev)
	closed, told := f.asked.Heed(time.Now(), f.name, ev)
	if told {
		return
	}
	w := f.eventWords(ev)
	f.out.planAll(func(a *announce.Announcer, now time.Time) { a.Add(now, f.name, ev, w) })
	says, outcome := f.asked.Told(f.name, ev, w)
	if outcome && !ev.Type().Terminal() { // what comes of an answer waits for no other question
		waits = false
	}
	text := says.String()
	f.lastQuestion.recordStart(f.name, ev, text)
	if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		text = f.printableText(ev, p)
	} else if ev.Type().Terminal() {
		text = f.takeUnfinished(ev.SessionID) + text
	}
	feel := hapticPattern(ev, f.currentTerms())
	text = strings.TrimSpace(feel + " " + text)
	line := lastingState{ev, text}
	if feel != "" { // it is told at once
		line.text = ""
	}
	tell, _ := f.duplicates.Add(time.Now(), f.name, ev, line)
	tells := len(tell) > 0 || feel != ""
	if waits && tells {
		f.holdLine(ev, text)
		f.offerHeld()
	}
	if waits {
		return
	}
	if p, ok := ev.Payload.(*aaep.ToolCompleted); ok { // that it began is no news any more
		f.waiting = slices.DeleteFunc(f.waiting, func(h heldLine) bool {
			began, ok := h.ev.Payload.(*aaep.ToolInvoked)
			return ok && h.of == f && h.ev.SessionID == ev.SessionID && began.ToolCallID == p.ToolCallID
		})
	}
	if tells {
		if outcome || len(closed) > 0 {
			f.speaker = "" // whose it is belongs to it
		}
		f.printSaid(text)
	}
	f.noteMoreTime(ev)
	f.settleQuestions(first, closed, ev)
	f.catchUp()
}

// lastingState is a state that is printed once it has lasted.
type lastingState struct {
	ev   *aaep.Event
	text string
}

// announceLasting tells the states that have lasted, and returns when to ask again.
func (f *followedAgent) announceLasting() time.Time {
	tell, wake := f.duplicates.Due(time.Now())
	for _, state := range tell {
		if f.mustWait(state.ev) {
			f.holdLine(state.ev, state.text)
		} else {
			f.printSaid(state.text)
		}
	}
	return wake
}

// printSaid prints what the agent says; of several agents, the one that speaks is named when it is
// another than before.
func (f *followedAgent) printSaid(text string) {
	if text == "" {
		return
	}
	if f.hasSeveral() {
		var names []string
		for _, other := range f.agents {
			names = append(names, other.name)
		}
		text = announce.NotNamed(string(f.uiLanguage()), text, names)
		if f.speaker != f.name {
			f.speaker = f.name
			text = announce.Speaker(f.name) + " " + text
		}
	}
	f.printLabelled("", text)
}
