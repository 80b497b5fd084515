package listen

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/lookalike"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// FollowedAgent is one agent that a listener follows, and what was agreed with it. Only the
// listener's own goroutine uses it, unless a method says otherwise.
type FollowedAgent struct {
	*Listener
	running *sync.WaitGroup   // what follows it
	name    string            // no other agent here has it
	wanted  aaep.Capabilities // what was asked for
	sub     *subscriber.Subscription
	ended   bool                                          // it is not followed any more
	remark  string                                        // of the agent, about the terms; said once
	trust   *manifest.Trust                               // nil demands no proof
	ways    []string                                      // to the agent, in words; empty if there is one that speaks for itself
	reach   func(context.Context) (*FollowedAgent, error) // of an agent that has no sub yet: follows it
	asked   atomic.Int64                                  // questions, at each output

	attempted chan struct{}   // of an agent that has no sub yet: is closed after the first attempt to reach it
	before    <-chan struct{} // attempted of the agent before it on the command line, or nil

	invalid invalidMessages

	pace     int64              // that was asked for without a word of the person's
	paceless bool               // it was refused: the pace that is heard changes all the time, and each refusal costs a subscription
	changing bool               // other terms are asked for
	later    *aaep.Capabilities // to ask for after that
	quiet    *time.Timer        // until it is over; nil where it is not quiet
}

// startFollowing announces who is followed, and starts the goroutines that present what the agent
// sends, until ctx is done. The listener's loop calls it; countEnded is called there when the
// subscription has ended.
func (f *FollowedAgent) startFollowing(ctx context.Context) {
	name, proof := f.describeIdentity()
	f.name = f.uniqueName(name)
	f.byName.Store(f.name, f)
	sentences := append([]string{f.PhraseText(phrase.FollowingAgent, f.name+f.describeRoute())}, proof...)
	if !f.hasSeveral() && !f.besideEditor {
		sentences = append(sentences, f.PhraseText(phrase.HelpIsThere, ""), f.PhraseText(phrase.CtrlCEnds, ""))
	}
	f.greetPerson(sentences...)
	f.explainRefusals(f.wanted)
	if isQuiet(f.currentTerms()) {
		f.startQuiet()
	}
	go f.watchInvalid(ctx)
	go f.watchLink(ctx)
	outputs := f.allOutputs()
	f.running.Go(func() {
		err := present.Follow(ctx, f.sub, f.name, outputs...)
		f.runInLoop(ctx, func() {
			f.ended = true
			f.countEnded(f, err)
		})
	})
}

// describeIdentity returns what the agent is called, and the sentences that say what that name is
// worth: unproven, proven, met for the first time, misleading, or like a known one.
func (f *FollowedAgent) describeIdentity() (name string, proof []string) {
	agent := f.sub.Accepted().Producer
	v := f.sub.Verified()
	if v == nil {
		name = f.nameOf(agent.AgentName, agent.AgentID)
		return name, append([]string{f.PhraseText(phrase.AgentUnproven, "")}, f.warnOfName(name)...)
	}
	name, proof = f.nameOf(v.Manifest.AgentName, v.Manifest.AgentID), []string{f.PhraseText(phrase.AgentProven, "")}
	if v.Identity.FirstMeeting {
		proof[0] = f.PhraseText(phrase.AgentFirstMet, "")
	}
	proof = append(proof, f.warnOfName(name)...)
	if known := v.Identity.LooksLike; known != "" {
		proof = append(proof, f.PhraseText(phrase.NameLooksLike, words.OneLine(known)))
	}
	return name, proof
}

// warnOfName returns a warning of a name, as nameOf makes it, that could mislead its reader; nil
// for any other.
func (f *FollowedAgent) warnOfName(name string) []string {
	if manifest.NameMisleads(name) {
		return []string{f.PhraseText(phrase.NameMisleads, "")}
	}
	return nil
}

// uniqueName makes a name one that no other agent here has, and that looks and sounds like none of
// theirs, so that each can be told from the others: of two, one is named with its place on the
// command line. A name that an agent once has it keeps.
func (f *FollowedAgent) uniqueName(name string) string {
	unique := name
	for n := max(slices.Index(f.agents, f), 0) + 1; ; n++ {
		isTaken := false
		for _, other := range f.agents {
			isTaken = isTaken || other != f && asHeard(other.name) == asHeard(unique)
		}
		if !isTaken {
			return unique
		}
		unique = name + ", " + f.PhraseText(phrase.AgentNumber, strconv.Itoa(n))
	}
}

// asHeard returns a name as it is compared with others: what a voice says of it, in letters of one
// shape and case.
func asHeard(name string) string {
	said := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.N) {
			return r
		}
		return -1
	}, name)
	return lookalike.Skeleton(cmp.Or(said, name), true)
}

// informOfLink prints sentences about the link to this agent, behind its name where there are
// several.
func (f *FollowedAgent) informOfLink(sentences ...string) {
	if f.hasSeveral() {
		sentences = append([]string{announce.Speaker(f.name)}, sentences...)
	}
	f.informPerson(sentences...)
}

// describeRoute returns the words for the transport over which the agent is reached, with a space
// before; "" where no agent was reached, or its way goes without saying.
func (f *FollowedAgent) describeRoute() string {
	if f.sub == nil {
		return ""
	}
	status, _ := f.sub.Status()
	if status.Way >= len(f.ways) {
		return ""
	}
	return " " + f.PhraseText(phrase.OverWay, f.ways[status.Way])
}

// currentTerms returns the terms in force; before any were agreed on, those that are wanted.
func (f *FollowedAgent) currentTerms() aaep.Capabilities {
	if f.sub == nil {
		return f.wanted
	}
	return terms.InForce(f.wanted, f.sub.Accepted().HonoredCapabilities)
}

// explainRefusals says which terms of a request the agent did not grant, and its own note about
// that, if the note is new.
func (f *FollowedAgent) explainRefusals(requested aaep.Capabilities) {
	note := words.OneLine(f.sub.Accepted().NegotiationNotes)
	if note != "" && note != f.remark {
		f.informOfLink(note)
	}
	f.remark = note
	if list := terms.NotGranted(f.uiLanguage(), requested, f.currentTerms(), note); len(list) > 0 {
		f.informOfLink(f.PhraseText(phrase.NotGranted, strings.Join(list, f.uiLanguage().ListComma())))
	}
}

// firstTold is how long a link has been broken when it is first told when it is tried next; then it
// is told four times as late each time.
const firstTold = time.Minute

// watchLink announces what present.Follow does not know of the link, until ctx or the subscription
// ends: over which transport it is back, why it is not, and when it is tried next. It is a
// goroutine of its own for each agent.
func (f *FollowedAgent) watchLink(ctx context.Context) {
	previous, _ := f.sub.Status()
	var broken brokenLink
	for {
		status, changed := f.sub.Status()
		if status.Over {
			return
		}
		if previous.Connected && !status.Connected {
			broken = brokenLink{since: time.Now(), tellAfter: firstTold}
		}
		news := f.linkNews(previous, status, &broken)
		resubscribed := previous.Subscribed != status.Subscribed
		previous = status
		if news != nil || resubscribed {
			f.runInLoop(ctx, func() {
				if news != nil {
					f.informOfLink(news...)
				}
				if resubscribed && f.quiet != nil {
					f.startQuiet() // it was asked for anew
				}
			})
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// brokenLink is since when a link is broken, and for how long it has to be until it is told when it
// is tried next.
type brokenLink struct {
	since     time.Time
	tellAfter time.Duration
}

// linkNews returns the sentences about what changed between two states of the link, or nil. The
// first that fits is told. When the next attempt is told, that is due four times as late again.
func (f *FollowedAgent) linkNews(previous, status subscriber.Status, broken *brokenLink) []string {
	if status.Awaits != "" && previous.Awaits == "" {
		return []string{f.PhraseText(phrase.StillRefused, status.Awaits)}
	}
	if status.Connected {
		switch {
		case status.Resumed && status.Subscribed != previous.Subscribed && time.Since(broken.since) < hearing.OutageAfter:
			return []string{f.PhraseText(phrase.ConnectedAgain, ""), f.PhraseText(phrase.NothingLost, "")}
		case status.Way != previous.Way && status.Way < len(f.ways):
			return []string{f.PhraseText(phrase.ConnectedAgainOver, f.ways[status.Way])}
		}
		return nil
	}
	if exits.IsUnproven(status.Err) && !exits.IsUnproven(previous.Err) {
		if exits.IsOutdated(status.Err) {
			return []string{f.PhraseText(phrase.StillUnproven, ""), f.PhraseText(phrase.CertificateOutdated, "")}
		}
		return []string{f.PhraseText(phrase.StillUnproven, ""), f.PhraseText(phrase.NewCertificate, "")}
	}
	isRetried := !previous.Connected && !status.Next.IsZero() && status.Awaits == ""
	if !isRetried || time.Since(broken.since) < broken.tellAfter {
		return nil
	}
	broken.tellAfter *= 4
	return []string{phrase.Lasting(string(f.uiLanguage()), phrase.TryingAgainIn,
		max(time.Until(status.Next), time.Second))}
}

// describeState returns a sentence that says whether the agent is reached, and how far the person
// is with what it said: what waits, what was left out, how many questions are open.
func (f *FollowedAgent) describeState() string {
	t := f.uiLanguage()
	sentences := []string{t.PhraseText(phrase.StandsConnected, "") + f.describeRoute()}
	switch {
	case f.ended && f.sub == nil:
		sentences[0] = t.PhraseText(phrase.StandsUnfollowed, "")
	case f.ended:
		sentences[0] = t.PhraseText(phrase.StandsEnded, "")
	case !f.isConnected():
		sentences[0] = t.PhraseText(phrase.StandsApart, "")
	}
	if f.out != nil {
		worst := present.Standing(f.name, f.out.presenters()...)
		switch {
		case worst.Waiting > 0:
			sentences = append(sentences, phrase.Lasting(string(t), phrase.StandsBehind, max(worst.Behind, time.Second)))
		default:
			sentences = append(sentences, t.PhraseText(phrase.StandsUpToDate, ""))
		}
		if worst.LeftOut > 0 {
			sentences = append(sentences, t.PhraseText(phrase.StandsLeftOut, strconv.Itoa(worst.LeftOut)))
		}
		if worst.Missed > 0 {
			sentences = append(sentences, t.PhraseText(phrase.StandsToAskFor, strconv.Itoa(worst.Missed)))
		}
	}
	if n := f.countOpen(); n > 0 {
		sentences = append(sentences, phrase.Counted(string(t), phrase.StandsOpen, n, "open question"))
	}
	return strings.Join(sentences, t.ListComma()) + "."
}

// countOpen returns how many questions of the agent are open.
func (f *FollowedAgent) countOpen() int { return present.Standing(f.name, f.allOutputs()...).Open }

// isConnected reports whether there is a link to the agent now. An agent that is not reached yet
// has none.
func (f *FollowedAgent) isConnected() bool {
	if f.sub == nil {
		return false
	}
	status, _ := f.sub.Status()
	return status.Connected
}
