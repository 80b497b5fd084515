// Package present follows agents and tells one person what announce plans, over a voice, a display
// or a device that is felt.
//
//	voice, err := speech.Open(ctx, speech.Options{})
//	person := present.New(announce.Preferences{Speaks: voice.Speaks})
//	ctx, gone := context.WithCancelCause(ctx)
//	go func() { gone(person.Run(ctx, voice)) }() // a voice that dies ends it, instead of silence
//	err = present.Follow(ctx, sub, "Planner", person)
//
// Questions are put one at a time. Whatever the person answers with, a key, a button or a word,
// goes to person.Answer, which may be called at any time and never waits.
//
// A Presenter guards one announce.Announcer, which decides what is said. The goroutine of Run asks
// it what is next and drives the output; Follow feeds it from a subscription. Begin reading at Run.
package present

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Output is one way to a person. Present is called by one goroutine at a time; the other methods
// may be called at once, also during it. Where one panics, that is logged with slog and the output
// is gone.
type Output interface {
	// Present presents u and returns when that is over. Of one that returns sooner than a person
	// could have heard u, a question counts as heard when a voice at the person's pace would have
	// said it. The result is nil when it was presented whole, announce.ErrCut when the person
	// silenced it, announce.ErrLanguage when it cannot be presented and others can, ctx's error
	// when ctx ended first, which silences it at once, announce.ErrClosed after Close, and any
	// other when the output is gone. One that does not return within ten seconds of the end of ctx
	// counts as gone too, and should not be used again.
	Present(ctx context.Context, u announce.Utterance) error
	// Speaks reports whether text in a language can be presented as more than rubbish. It waits for
	// nothing: what is told over the output is planned meanwhile.
	Speaks(language string) bool
	// Close releases the output and silences it. An output that tells no words, as one that is
	// felt, has a method Wordless() bool too: by what it presents no person has had a question. One
	// that knows when the program goes on after it was stopped, as by Ctrl-Z, has a method
	// OnResume(func()), whose function it calls then: over all outputs the question that is put is
	// put anew. Run sets that function, and at its end nil.
	Close() error
}

// wordless is an Output that tells no words, such as cue.Output, where Wordless reports true.
type wordless interface{ Wordless() bool }

// resumable is an Output that knows when the program was stopped, such as terminal.Terminal.
type resumable interface{ OnResume(do func()) }

// Presenter tells what it is given, in the order an announce.Announcer chooses. All its methods may
// be called at once; none waits for the output. The zero Presenter is that of the zero Preferences.
// A nil one tells nothing: what returns an error says so.
type Presenter struct {
	// Unsaid, if it is set before Run, is called with what an output could not present, for it has
	// no voice for the language.
	Unsaid func(u announce.Utterance)

	verbosity aaep.Verbosity
	reads     bool
	text      func(source string, ev *aaep.Event) announce.Words

	mu      sync.Mutex
	a       *announce.Announcer // nil is not made yet
	wake    chan struct{}       // something happened; made with a
	used    chan struct{}       // closed when the Announcer was used; nil where nothing waits for that
	put     putQuestion         // as Put returned it last
	changed chan struct{}       // closed when put changes; nil where nothing waits for that
	runs    bool                // Run or RunAgain has not returned
	gone    bool                // there was an output, and there is none now
	reopens bool                // RunAgain tries to open another where it is gone
	movedAt time.Time           // when an utterance began or ended last
	noWords bool                // the output that there is, or was last, tells no words

	agents map[string]*following // by their names; guarded by mu, as a is
}

// New returns a Presenter, which tells nothing until Run. Where a function of the Preferences
// panics, that is logged with slog, and the Presenter goes on with what it would have without the
// function.
func New(p announce.Preferences) *Presenter {
	if speaks := p.Speaks; speaks != nil {
		p.Speaks = func(language string) bool {
			speaksIt := true
			runShielded("Preferences.Speaks", func() { speaksIt = speaks(language) })
			return speaksIt
		}
	}
	if otherwise := p.Otherwise; otherwise != nil {
		p.Otherwise = func(language string) (w announce.Words) {
			runShielded("Preferences.Otherwise", func() { w = otherwise(language) })
			return w
		}
	}
	if answering := p.Answering; answering != nil {
		p.Answering = func(question *aaep.Event) (w announce.Words) {
			runShielded("Preferences.Answering", func() { w = answering(question) })
			return w
		}
	}
	if unseen := p.Unseen; unseen != nil {
		p.Unseen = func() bool {
			isUnseen := true // a yes is then a word, which no key under a finger is
			runShielded("Preferences.Unseen", func() { isUnseen = unseen() })
			return isUnseen
		}
	}
	if text := p.Text; text != nil {
		p.Text = func(source string, ev *aaep.Event) (w announce.Words) {
			if runShielded("Preferences.Text", func() { w = text(source, ev) }) != nil {
				w = eventText(ev, p.Verbosity)
			}
			return w
		}
	}
	return &Presenter{a: announce.New(p), verbosity: p.Verbosity, reads: p.Reads, text: p.Text, wake: make(chan struct{}, 1)}
}

// runShielded calls code of others, such as of an Output or of the Preferences. A panic is logged
// and returned as an error; doing names the code.
func runShielded(doing string, f func()) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			slog.Error("present: panic, and the person is told on", "doing", doing, "panic", crash,
				"stack", string(debug.Stack()))
			err = fmt.Errorf("panic in %s: %v", doing, crash)
		}
	}()
	f()
	return nil
}

// useAnnouncer calls f with the Announcer, which no other goroutine uses meanwhile, and makes one
// first in the zero Presenter; of a nil one it does nothing. f must not keep it or call the
// Presenter.
func (p *Presenter) useAnnouncer(f func(a *announce.Announcer, now time.Time)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.a == nil {
		p.a, p.wake = announce.New(announce.Preferences{}), make(chan struct{}, 1)
	}
	f(p.a, time.Now())
	p.notifyWaiting()
}

// notifyWaiting wakes those who wait for the Presenter's use, and, if another question is put than
// before, those who wait for that. It is called with p.mu held.
func (p *Presenter) notifyWaiting() {
	if p.used != nil {
		close(p.used)
		p.used = nil
	}
	if p.changed != nil && p.findQuestion() != p.put {
		close(p.changed)
		p.changed = nil
	}
}

// putQuestion is the question that is put to a person.
type putQuestion struct {
	source   string      // the agent that asks
	question *aaep.Event // nil is none
	until    time.Time   // when it can be answered no longer, to the second
}

// findQuestion returns which question the Announcer puts now, of which agent, and until when it can
// be answered; the zero value where none is put. It is called with p.mu held.
func (p *Presenter) findQuestion() (current putQuestion) {
	if p.a == nil {
		return current
	}
	now, left := time.Now(), time.Duration(0)
	if current.source, current.question, left = p.a.OpenQuestion(now); current.question != nil {
		current.until = now.Add(left).Round(time.Second)
	}
	return current
}

// OpenQuestion returns the question that is put to the person, or is about to be, the agent that
// asks, until when it can be answered, and a channel that is closed when one of them changes. A nil
// question is none. The time is a whole second, so that it does not change from call to call.
func (p *Presenter) OpenQuestion() (source string, question *aaep.Event, until time.Time, changed <-chan struct{}) {
	if p == nil {
		return "", nil, time.Time{}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil { // the question that was returned last is out of date
		p.put, p.changed = p.findQuestion(), make(chan struct{})
	}
	return p.put.source, p.put.question, p.put.until, p.changed
}

// standsStill is how long AwaitTold waits for an output at which nothing begins or ends, once
// another has told all. It is longer than any utterance takes; a display may hold one for as long
// as its reader likes.
const standsStill = 5 * time.Minute

// opensWithin is how long AwaitTold waits for an output that is gone to be opened again: as long as
// RunAgain tries it at short intervals.
const opensWithin = time.Minute

// AwaitTold returns once the person has been told, over each of these outputs, all that is not left
// to be asked for, and for as long as quiet nothing more is to be told; with the error of ctx where
// that is done first. An output that is gone is not waited for, or for a minute where RunAgain
// opens another; nor, once another one has told all, is one at which for five minutes nothing began
// or ended.
func AwaitTold(ctx context.Context, quiet time.Duration, outputs ...*Presenter) error {
	return awaitTold(ctx, quiet, outputs)
}

// awaitTold is AwaitTold for what agents of some names said, and this program; without names, for
// all.
func awaitTold(ctx context.Context, quiet time.Duration, outputs []*Presenter, sources ...string) error {
	outputs = slices.DeleteFunc(slices.Clone(outputs), func(p *Presenter) bool { return p == nil })
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results, toldByOne := make(chan error, len(outputs)), make(chan struct{})
	noteTold := sync.OnceFunc(func() { close(toldByOne) })
	for _, p := range outputs {
		go func() {
			err := p.awaitTold(ctx, quiet, toldByOne, sources)
			if err == nil && p.hasToldLast(sources) {
				noteTold()
			}
			results <- err
		}()
	}
	for range outputs {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

// awaitTold waits as AwaitTold does for this output. toldByOne is closed once another one has told
// all.
func (p *Presenter) awaitTold(ctx context.Context, quiet time.Duration, toldByOne <-chan struct{},
	sources []string) error {
	var calm, still <-chan time.Time
	isToldByOne := false
	for {
		p.mu.Lock()
		isOpening := p.gone && p.reopens && time.Since(p.movedAt) < opensWithin
		isTold := p.gone && !isOpening || p.a == nil || !p.a.Untold(sources...)
		if p.used == nil {
			p.used = make(chan struct{})
		}
		used, moved := p.used, p.movedAt
		p.mu.Unlock()
		switch {
		case isTold && quiet <= 0:
			return nil
		case !isTold:
			calm = nil
		case calm == nil:
			calm = time.After(quiet)
		}
		still = nil
		switch {
		case isOpening:
			still = time.After(time.Until(moved.Add(opensWithin)))
		case isToldByOne:
			still = time.After(time.Until(moved.Add(standsStill)))
		}
		select {
		case <-used:
		case <-toldByOne:
			isToldByOne, toldByOne = true, nil
		case <-calm:
			return nil
		case <-still:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasToldLast reports whether an output presents, and whether the person got the newest of what
// agents of these names said, or of all agents without names. It takes p.mu.
func (p *Presenter) hasToldLast(sources []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs || p.gone || p.a == nil {
		return false
	}
	for _, r := range slices.Backward(p.a.Receipts()) {
		if r.Source != "" && (len(sources) == 0 || slices.Contains(sources, r.Source)) {
			return r.Outcome != announce.Unsaid
		}
	}
	return false
}

// Plan has a function use the Announcer, which plans what is told, for what the methods of a
// Presenter do not offer: words of the program's own for an event, or which question is put. No
// other goroutine uses the Announcer meanwhile. The function must not keep it, call the Presenter
// or wait for anything.
func (p *Presenter) Plan(use func(a *announce.Announcer, now time.Time)) {
	if p == nil {
		return
	}
	p.useAnnouncer(use)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// eventText returns what is said of an event at a verbosity; empty is that of the event, which was
// agreed with its agent.
func eventText(ev *aaep.Event, v aaep.Verbosity) announce.Words {
	return announce.Text(ev, cmp.Or(v, ev.Verbosity, aaep.VerbosityNormal))
}

// Add takes an event of an agent that source names for the person. Follow does so with all that an
// agent says. A nil event, as the last of Subscription.Events is, tells nothing.
func (p *Presenter) Add(source string, ev *aaep.Event) {
	if p == nil || ev == nil {
		return
	}
	w := announce.Words(nil)
	if p.text != nil {
		w = p.text(source, ev)
	} else {
		w = eventText(ev, p.verbosity)
	}
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Add(now, source, ev, w) })
}

// Tell says something of the program's own.
func (p *Presenter) Tell(text string, critical bool) {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Tell(now, text, critical) })
}

// SetLanguage says what the program speaks by itself: the first of the person's languages that it
// knows; without one, English.
func (p *Presenter) SetLanguage(languages ...string) {
	p.Plan(func(a *announce.Announcer, _ time.Time) { a.SetLanguage(languages...) })
}

// Typing says that the person pressed a key that is not for this program's commands.
func (p *Presenter) Typing() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Typing(now) })
}

// Rest says that the person is done with typing, as Enter does.
func (p *Presenter) Rest() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Rest(now) })
}

// Again says again what was said last; what is still being said begins anew at once.
func (p *Presenter) Again() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Again(now) })
}

// WhatWaits says which questions are open, and how much there is to hear.
func (p *Presenter) WhatWaits() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.WhatWaits(now) })
}

// WhereAreWe says how each session is doing.
func (p *Presenter) WhereAreWe() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.WhereAreWe(now) })
}

// Details says what came while the person typed, or did not fit; where there is nothing of that,
// the code that was told of last, line by line.
func (p *Presenter) Details() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Details(now) })
}

// Skip ends what is being said, and leaves what waits to be asked for, but for what is critical and
// what came of a question.
func (p *Presenter) Skip() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Skip(now) })
}

// Newest is Skip, and says the newest of what waited or, where nothing did, of what was said.
func (p *Presenter) Newest() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Newest(now) })
}

// Walk tells the next place of a kind in what the agents said, or, back, the one before, at once;
// see announce.Places. The person goes on from there. The error is announce.ErrNoPlace where there
// is none, which they are told, or says that there is no such kind.
func (p *Presenter) Walk(place announce.Place, back bool) (err error) {
	err = p.checkNil()
	p.Plan(func(a *announce.Announcer, now time.Time) { err = a.Walk(now, place, back) })
	return err
}

// Find tells the next line of what the agents said that has a text, or, back, the one before. The
// error is announce.ErrNoPlace where there is none, which the person is told.
func (p *Presenter) Find(text string, back bool) (err error) {
	err = p.checkNil()
	p.Plan(func(a *announce.Announcer, now time.Time) { err = a.Find(now, text, back) })
	return err
}

// WriteTranscript writes what the agents said and did, as they wrote it and as far as it is kept.
func (p *Presenter) WriteTranscript(w io.Writer) error {
	var b bytes.Buffer
	p.Plan(func(a *announce.Announcer, _ time.Time) { a.WriteTranscript(&b) })
	_, err := b.WriteTo(w)
	return cmp.Or(p.checkNil(), err)
}

// Spell spells what cannot be spoken in its language: the question that is put, or what was told
// last.
func (p *Presenter) Spell() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Spell(now) })
}

// Hush has nothing said but what is critical, and what the person asks for, until it is called with
// false; what waits is left to be asked for.
func (p *Presenter) Hush(on bool) {
	p.Plan(func(a *announce.Announcer, _ time.Time) { a.Hush(on) })
}

// NextQuestion puts another question that is open, for a person who wants to answer that first;
// this one comes again after it.
func (p *Presenter) NextQuestion() {
	p.Plan(func(a *announce.Announcer, now time.Time) { a.NextQuestion(now) })
}

// Status says how the person is kept up to date.
type Status struct {
	// Receipts are those of the newest announcements, oldest first.
	Receipts []announce.Receipt
	// Behind is how long it takes to tell what waits.
	Behind time.Duration
	// WordsPerMinute is how fast the person really listens; zero is not known yet.
	WordsPerMinute int64
}

// Status returns the receipts, how long it takes to say what waits, and the measured pace.
func (p *Presenter) Status() (s Status) {
	p.Plan(func(a *announce.Announcer, _ time.Time) {
		s.Receipts, s.Behind = a.Receipts(), a.Behind()
		s.WordsPerMinute, _ = a.Pace()
	})
	return s
}

// Standing returns how far a person with these outputs is with what one agent says, each number as
// it is over the output that is furthest behind. The questions that are open are the same over all.
func Standing(source string, outputs ...*Presenter) (worst announce.Standing) {
	for _, p := range outputs {
		p.Plan(func(a *announce.Announcer, _ time.Time) {
			s := a.Standing(source)
			worst = announce.Standing{Waiting: max(worst.Waiting, s.Waiting), Behind: max(worst.Behind, s.Behind),
				Missed: max(worst.Missed, s.Missed), LeftOut: max(worst.LeftOut, s.LeftOut), Open: max(worst.Open, s.Open)}
		})
	}
	return worst
}

// What AAEP can ask for as a pace, in words a minute.
const (
	slowestPace = 50
	fastestPace = 1000
)

// Pace returns which pace to ask an agent for, in words a minute (Capabilities.PaceWPM), with which
// one was agreed, or zero: that at which the person really listens, where these outputs know it and
// it differs by a quarter. Zero is that there is nothing to ask for.
func Pace(agreed int64, outputs ...*Presenter) (wordsPerMinute int64) {
	for _, p := range outputs {
		wordsPerMinute = max(wordsPerMinute, p.Status().WordsPerMinute)
	}
	if wordsPerMinute == 0 {
		return 0
	}
	wordsPerMinute = min(max(wordsPerMinute, slowestPace), fastestPace)
	isNear := wordsPerMinute*5 >= agreed*4 && wordsPerMinute*4 <= agreed*5
	if agreed != 0 && isNear {
		return 0
	}
	return wordsPerMinute
}

// TakeOver has this output tell what was told over none of the others of the same person, which are
// gone, as far as it left that to them (announce.ErrLanguage), and put the question that is open:
// of the newest 200 announcements.
func (p *Presenter) TakeOver(gone ...*Presenter) {
	waits, told := map[string]bool{}, map[string]bool{}
	for _, other := range gone {
		waiting, heard := other.toldEvents()
		maps.Copy(waits, waiting)
		maps.Copy(told, heard)
	}
	maps.DeleteFunc(waits, func(id string, _ bool) bool { return told[id] })
	p.Plan(func(a *announce.Announcer, now time.Time) { a.Retell(now, waits) })
}

// toldEvents returns the ids of events of which an output has still to tell some, and of those of
// which it has told all that it had.
func (p *Presenter) toldEvents() (waiting, heard map[string]bool) {
	waiting, heard = map[string]bool{}, map[string]bool{}
	for _, r := range p.Status().Receipts {
		switch r.Outcome {
		case announce.Waiting, announce.Speaking:
			waiting[r.EventID] = r.EventID != ""
		case announce.Heard, announce.Cut:
			heard[r.EventID] = true
		}
	}
	maps.DeleteFunc(heard, func(id string, _ bool) bool { return waiting[id] })
	return waiting, heard
}

// silenceWithin is how long an output may take to end what it presents once its ctx has ended, and
// to close: several times what those of this module take.
const silenceWithin = 10 * time.Second

// errStalled is the error of an output whose Present ignores its ctx.
var errStalled = fmt.Errorf("present: the output did not end within %v what it was to silence; it counts as gone",
	silenceWithin)

// Run presents over out until ctx is done, or out is gone: its error is then returned, nothing is
// lost, and Run may be called with another output. What was being presented when ctx ended is
// silenced; an output that does not end it within ten seconds is left, and counts as gone where
// that was to make room for something else, unless it shows lines that stay. A nil out is an error,
// and so is a Run while another has not returned: of what is said, each output would have a part. A
// caller that does not look at the error leaves the person of an output that is gone in silence;
// RunAgain opens another.
func (p *Presenter) Run(ctx context.Context, out Output) error {
	if err := p.beginRunning(out); err != nil {
		return err
	}
	defer p.endRunning()
	return p.presentOver(ctx, out)
}

// RunAgain is Run for an output that is opened again, by the function open, where it is gone: what
// was not presented then is presented next. It tries until ctx is done, after a second and then
// with pauses that double, up to a minute, and returns the error of ctx. It closes each output.
// note, unless it is nil, is called with the error of one that is gone, and with nil once another
// is there.
func (p *Presenter) RunAgain(ctx context.Context, out Output, open func(context.Context) (Output, error),
	note func(gone error)) error {
	if err := p.beginRunning(out); err != nil {
		return err
	}
	defer p.endRunning()
	p.useAnnouncer(func(*announce.Announcer, time.Time) { p.reopens = true })
	for {
		err := p.presentOver(ctx, out)
		p.setGone(true)
		if note != nil && ctx.Err() == nil {
			runShielded("the note of RunAgain", func() { note(err) })
		}
		closeOutput(out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out = nil
		for wait := time.Second; out == nil; wait = min(2*wait, time.Minute) {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
			out = openOutput(ctx, open)
		}
		p.setGone(false)
		if note != nil {
			runShielded("the note of RunAgain", func() { note(nil) })
		}
	}
}

// closeOutput closes an output and returns once it is closed, or after silenceWithin, while a
// goroutine goes on with it. A panic in Close is logged.
func closeOutput(out Output) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		runShielded("Output.Close", func() { _ = out.Close() })
	}()
	select {
	case <-closed:
	case <-time.After(silenceWithin):
	}
}

// openOutput opens an output, and returns nil where that fails, or once ctx is done; one that is
// opened after that is closed.
func openOutput(ctx context.Context, open func(context.Context) (Output, error)) Output {
	opened := make(chan Output)
	go func() {
		var out Output
		runShielded("the open of RunAgain", func() {
			if o, err := open(ctx); err == nil && shield.CheckNil("", o) == nil {
				out = o
			}
		})
		select {
		case opened <- out:
		case <-ctx.Done():
			if out != nil {
				closeOutput(out)
			}
		}
	}()
	select {
	case out := <-opened:
		return out
	case <-ctx.Done():
		return nil
	}
}

// Presents reports whether there is an output that has not gone.
func (p *Presenter) Presents() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs && !p.gone
}

// isRunning reports whether Run or RunAgain has not returned.
func (p *Presenter) isRunning() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

// errNilPresenter is the error of what is asked of no Presenter.
var errNilPresenter = errors.New("present: this Presenter is nil; New returns one")

// checkNil returns errNilPresenter where p is nil.
func (p *Presenter) checkNil() error {
	if p == nil {
		return errNilPresenter
	}
	return nil
}

// beginRunning makes out the output from now on, unless it is nil or there is one already.
func (p *Presenter) beginRunning(out Output) (err error) {
	if err := p.checkNil(); err != nil {
		return err
	}
	if err := shield.CheckNil("present: the Output", out); err != nil {
		return err
	}
	p.useAnnouncer(func(*announce.Announcer, time.Time) {
		if p.runs {
			err = errors.New("present: this Presenter has an Output already: Run has not returned; " +
				"a person with several outputs has a Presenter for each, and Follow takes all of them")
			return
		}
		w, ok := out.(wordless)
		p.runs, p.gone, p.noWords = true, false, ok && w.Wordless()
	})
	return err
}

// endRunning says that there is no output any more, once nothing is being presented.
func (p *Presenter) endRunning() {
	p.useAnnouncer(func(*announce.Announcer, time.Time) { p.runs, p.gone, p.reopens = false, true, false })
}

// setGone says whether the output is gone, until another is opened. It is called when nothing is
// being presented.
func (p *Presenter) setGone(gone bool) {
	p.useAnnouncer(func(_ *announce.Announcer, now time.Time) { p.gone, p.movedAt = gone, now })
}

// presentOver presents over one output, until ctx is done or the output is gone, with the error of
// that.
func (p *Presenter) presentOver(ctx context.Context, out Output) error {
	d := &driver{p: p, out: out, over: make(chan presented, 1), cancel: func() {}}
	defer d.silenceOutput()
	if r, ok := out.(resumable); ok {
		r.OnResume(p.putAnew)
		defer r.OnResume(nil)
	}
	timer := time.NewTimer(math.MaxInt64) // set below
	defer timer.Stop()
	for ctx.Err() == nil {
		var do announce.Do
		var wakeAt time.Time
		p.useAnnouncer(func(a *announce.Announcer, now time.Time) { do, wakeAt = a.Next(now) })
		switch {
		case do.Cancel:
			d.cancel()
			if !p.reads { // lines that stay need no silencing, and the person may stop them, as by Ctrl-S
				d.stalled = time.After(silenceWithin)
			}
		case do.Say != nil:
			d.startUtterance(ctx, *do.Say)
			continue // it may have to make room at once
		}
		if wakeAt.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(wakeAt))
		}
		select {
		case e := <-d.over:
			if err := d.endUtterance(e); err != nil {
				return err
			}
		case <-d.stalled:
			return d.endUtterance(presented{*d.saying, errStalled})
		case <-p.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// putAnew puts the question that is put anew, over this output and the others of the same person:
// they were away from it, for the program was stopped.
func (p *Presenter) putAnew() {
	outputs := map[*Presenter]bool{p: true}
	p.Plan(func(*announce.Announcer, time.Time) {
		for _, f := range p.agents {
			for _, other := range f.people {
				outputs[other] = true
			}
		}
	})
	for p := range outputs {
		p.Plan(func(a *announce.Announcer, now time.Time) { a.PutAnew(now) })
	}
}

// driver presents over one output, one utterance at a time. The goroutine of Run owns it.
type driver struct {
	p       *Presenter
	out     Output
	over    chan presented      // gets each utterance that has ended; there is room for one
	cancel  context.CancelFunc  // silences what is being presented; it does nothing where nothing is
	saying  *announce.Utterance // what is being presented, or nil
	stalled <-chan time.Time    // when that counts as not to be silenced; nil where it need not end
}

// presented is an utterance, and what Output.Present returned for it.
type presented struct {
	u   announce.Utterance
	err error
}

// startUtterance presents an utterance over the output in a new goroutine, which sends the result
// on d.over.
func (d *driver) startUtterance(ctx context.Context, u announce.Utterance) {
	ctx, stop := context.WithCancel(ctx)
	d.cancel, d.saying = stop, &u
	d.p.noteMoved()
	go func() {
		defer stop()
		var err error
		crash := runShielded("Output.Present", func() { err = shield.CheckError(d.out.Present(ctx, u)) })
		if crash != nil {
			err = crash
		}
		d.over <- presented{u, err}
	}()
}

// endUtterance tells the Announcer what became of an utterance: heard, cut, unsaid for want of a
// voice, or waiting to be said again. It returns the error of an output that is gone, and else nil.
// The goroutine of Run calls it.
func (d *driver) endUtterance(e presented) error {
	d.saying, d.stalled = nil, nil
	d.p.noteMoved()
	outcome := announce.Heard
	switch {
	case e.err == nil:
	case errors.Is(e.err, announce.ErrCut):
		outcome = announce.Cut
	case errors.Is(e.err, announce.ErrLanguage):
		outcome = announce.Unsaid
		if d.p.Unsaid != nil {
			runShielded("Presenter.Unsaid", func() { d.p.Unsaid(e.u) })
		}
	default:
		outcome = announce.Waiting
	}
	d.p.Plan(func(a *announce.Announcer, now time.Time) { a.Ended(now, e.u.ID, outcome) })
	if outcome == announce.Waiting && !errors.Is(e.err, context.Canceled) {
		return e.err
	}
	return nil
}

// noteMoved records that an utterance begins or ends now.
func (p *Presenter) noteMoved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.movedAt = time.Now()
}

// silenceOutput ends what is presented, and waits for that, but no longer than silenceWithin.
func (d *driver) silenceOutput() {
	d.cancel()
	if d.saying == nil {
		return
	}
	select {
	case e := <-d.over:
		_ = d.endUtterance(e)
	case <-time.After(silenceWithin):
		_ = d.endUtterance(presented{*d.saying, errStalled})
	}
}
