package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// dying is a voice that dies in the middle of the next thing it says.
type dying struct{ pacedVoice }

func (d *dying) Present(ctx context.Context, u announce.Utterance) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	d.pacedVoice.Present(ctx, u)
	return errors.New("the speech server died")
}

// An output that dies in the middle of a question, again and again, is opened anew. The person is
// told, the terminal tells what there is meanwhile, the question stays open, and is accepted at
// once only by a person who had all of it.
func TestOutputDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status saidLine
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := present.New(announce.Preferences{})
		ctx, cancel := context.WithCancel(t.Context())
		o := &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true}, p: p}},
			stop: cancel}
		l.out, l.announcer.out = o, o.terminalLines(&out)
		f := &followedAgent{listener: l, name: "asker"}
		l.agents = []*followedAgent{f}
		var opened atomic.Int32
		voice := &pacedVoice{}
		again := func() (present.Output, error) {
			switch opened.Add(1) {
			case 1:
				return nil, errors.New("it is not there yet")
			case 2:
				return &dying{}, nil
			}
			return voice, nil
		}
		o.running.Go(func() {
			o.tellings[0].runOutput(ctx, &o.down, &dying{}, l.informOfOutput, again)
		})
		question := event(pay(), "")
		question.Timestamp = time.Now()
		f.addQuestion(question)
		passTime(time.Second)
		f.announceEvent(in("other", event(&aaep.HandoffRequested{Reason: "Help."}, "Help.")))
		if got := out.String(); !strings.Contains(got, "Handover. ") {
			t.Errorf("while no output is left, the terminal says %q", got)
		}
		passTime(5 * time.Second)
		if l.newLineContext(time.Now()).heard || l.asked.Len() != 1 {
			t.Error("the question went, or counts as heard")
		}
		passTime(time.Minute)
		if got := voice.String(); !strings.HasPrefix(got, "Decide: Pay $20.\n") ||
			!strings.Contains(got, "Medium risk.\n") {
			t.Errorf("heard in the end: %q", got)
		}
		if aim := l.newLineContext(time.Now()); !aim.heard {
			t.Error("the question does not count as heard")
		}
		if got := status.String(); strings.Count(got,
			"The output is gone: test: the speech server died. Trying again.") != 2 ||
			strings.Count(got, "The output test is there again.") != 2 {
			t.Errorf("the person is told %q", got)
		}
		o.closeAll()
	})
}

// mute is a voice for everything but Yoruba.
type mute struct{ pacedVoice }

func (m *mute) Present(ctx context.Context, u announce.Utterance) error {
	if !m.Speaks(u.Language) {
		return announce.ErrLanguage
	}
	return m.pacedVoice.Present(ctx, u)
}

func (m *mute) Speaks(language string) bool { return language != "yo" }

// A question that could not be spoken is never accepted unheard, however often the person says yes;
// they are told so, and how else they can have it, in a language that is spoken. It is heard once
// it was spelled.
func TestNeverAcceptedUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status saidLine
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		voice := &mute{}
		p := present.New(announce.Preferences{Speaks: voice.Speaks, Answering: l.howToAnswer})
		l.out = &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true, knows: true},
			p: p, speaks: voice.Speaks}}}
		l.setLanguages([]string{"yo", "en"})
		if got := l.out.spokenFirst([]string{"yo", "es", "yo", "en"}); !slices.Equal(got,
			[]string{"es", "en", "yo", "yo"}) {
			t.Errorf("asked for %q", got)
		}
		l.status.also = func(text string) { p.Tell(text, false) }
		ctx, cancel := context.WithCancel(t.Context())
		presented := make(chan error, 1)
		go func() { presented <- p.Run(ctx, voice) }()
		f := &followedAgent{listener: l, name: "asker"}
		l.agents = []*followedAgent{f}
		asked := pay()
		asked.TimeoutSeconds = 600
		question := event(asked, "")
		question.LocalizationHints, question.Timestamp = &aaep.LocalizationHints{PrimaryLanguage: "yo"}, time.Now()
		f.addQuestion(question)
		for range 3 {
			passTime(time.Minute)
			l.answerQuestion(t.Context(), "y", l.newLineContext(time.Now()))
		}
		passTime(10 * time.Second)
		const told = "You may not have heard all of it. Type /spell to have it spelled, or /language for another language that the agent has."
		if l.asked.Len() != 1 || strings.Count(status.String(), told) != 3 {
			t.Errorf("it is open: %v; told\n%s", l.asked.Len() == 1, status.String())
		}
		heard := voice.String()
		for _, want := range []string{"There is no voice for the language Yoruba.", "Medium risk.",
			"Type y to accept or n to reject, then Enter."} {
			if !strings.Contains(heard, want) {
				t.Errorf("%q is not heard in\n%s", want, heard)
			}
		}
		l.runCommand(t.Context(), "/spell")
		passTime(2 * time.Minute)
		if aim := l.newLineContext(time.Now()); !aim.heard {
			t.Errorf("once spelled it does not count as heard:\n%s", voice.String())
		}
		cancel()
		<-presented
	})
}

// How to have more time is heard with the first questions, and then only read.
func TestHintOfMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status saidLine
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		voice := &pacedVoice{}
		p := present.New(announce.Preferences{Answering: l.howToAnswer})
		l.out = &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true, knows: true},
			p: p}}}
		ctx, cancel := context.WithCancel(t.Context())
		presented := make(chan error, 1)
		go func() { presented <- p.Run(ctx, voice) }()
		f := &followedAgent{listener: l, name: "asker"}
		l.agents = []*followedAgent{f}
		for range hinted + 2 {
			question := event(pay(), "")
			question.Timestamp = time.Now()
			f.addQuestion(question)
			passTime(time.Minute)
			l.closeQuestion("Answer sent: reject.")
			passTime(10 * time.Second)
		}
		const hint = "/more asks for more time."
		if heard, read := strings.Count(voice.String(), hint), strings.Count(out.String(), hint); heard != hinted ||
			read != hinted+2 {
			t.Errorf("heard %d times and read %d times:\n%s", heard, read, voice.String())
		}
		cancel()
		<-presented
	})
}
