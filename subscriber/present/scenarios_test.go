package present_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/orcatest"
	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/orca"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// Each way in which agents were measured to lose, delay or garble what a person with a screen
// reader is told, on a page without an accessibility finding, is a scenario here. It runs over each
// of our own outputs, in virtual time.

// A person has a Presenter and an output, and we know what reached them.
type person struct {
	*testing.T
	*present.Presenter
	began time.Time
	told  func() []told
	press func() // the key that goes on, if there is one
	knows bool   // the output knows what was heard
}

// told is what a person got in one go.
type told struct {
	at       time.Duration
	text     string
	language string
	whole    bool
}

// atHome runs a scenario over each output.
func atHome(t *testing.T, scenario func(p *person)) {
	t.Helper()
	for name, open := range map[string]func(p *person) present.Output{"speech": bySpeech, "braille": byBraille, "orca": byOrca} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &person{T: t, began: time.Now(), press: func() {}}
				out := open(p)
				p.Presenter = present.New(announce.Preferences{WordsPerMinute: 172, Speaks: out.Speaks})
				ctx, cancel := context.WithCancel(t.Context())
				run := make(chan error, 1)
				go func() { run <- p.Presenter.Run(ctx, out) }()
				defer func() { cancel(); <-run; out.Close() }()
				synctest.Wait()
				scenario(p)
			})
		})
	}
}

func bySpeech(p *person) present.Output {
	s := &speechtest.Server{Voices: []string{"en-US", "es"}}
	p.Cleanup(s.Close)
	out, err := speech.Open(p.Context(), speech.Options{Dial: s.Dial, Force: true})
	if err != nil {
		p.Fatal(err)
	}
	p.knows = true
	p.told = func() (all []told) {
		for _, m := range s.Messages() {
			all = append(all, told{m.Begun.Sub(p.began), m.Text, m.Set["LANGUAGE"], m.Heard})
		}
		return all
	}
	return out
}

func byBraille(p *person) present.Output {
	s := brailletest.New(14)
	s.Lacks = "ẹọṣɓə\u0301\u0323"
	out, err := braille.Open(p.Context(), braille.Options{Dial: s.Dial})
	if err != nil {
		p.Fatal(err)
	}
	p.knows = true
	p.press = func() { s.Press(brailletest.Forward) }
	p.told = func() (all []told) {
		for _, state := range s.States() {
			if text := strings.TrimSpace(strings.TrimRight(state.Line, " ⠒⠶⠿")); text != "" {
				all = append(all, told{state.At.Sub(p.began), text, "", true})
			}
		}
		return all
	}
	return out
}

func byOrca(p *person) present.Output {
	o := orcatest.New(51, "en-US", "es")
	out, err := orca.Open(p.Context(), orca.Options{Bus: o.Dial})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { o.Close() })
	p.told = func() (all []told) {
		for _, call := range o.Calls() {
			if call.Method == "PresentMessage" {
				all = append(all, told{call.At.Sub(p.began), call.Argument, "", true})
			}
		}
		return all
	}
	return out
}

// says adds what the agent says.
func (p *person) says(payload aaep.Payload, text string) *aaep.Event {
	ev := event(payload, text)
	p.Add("Planner", ev)
	synctest.Wait()
	return ev
}

func (p *person) sentence(text string) {
	p.says(&aaep.OutputStreaming{Chunk: text + " ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
}

// reads lets time pass for a person who goes on reading where a display waits for them.
func (p *person) reads(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(1500 * time.Millisecond)
		p.press()
	}
	synctest.Wait()
}

// all is everything that reached the person whole, in order.
func (p *person) all() string {
	var b strings.Builder
	for _, t := range p.told() {
		if t.whole {
			b.WriteString(t.text + " ")
		}
	}
	return b.String()
}

// inOrder checks that texts reached the person whole, in this order.
func (p *person) inOrder(texts ...string) {
	p.Helper()
	rest := p.all()
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			p.Fatalf("%q did not come, or not in its place:\n%+v", text, p.told())
		}
		rest = after
	}
}

var four = []string{"The plan is ready now.", "It has two long parts.", "The first one is short.", "The second one follows it."}

// TERM-010: everything comes, in order and once, however fast it was said, and a token at a time.
func TestNothingIsLost(t *testing.T) {
	for name, say := range map[string]func(p *person){
		"a sentence every 2.5 s": func(p *person) {
			for _, s := range four {
				p.sentence(s)
				time.Sleep(2500 * time.Millisecond)
			}
		},
		"a sentence every 0.3 s": func(p *person) {
			for _, s := range four {
				p.sentence(s)
				time.Sleep(300 * time.Millisecond)
			}
		},
		"a token at a time": func(p *person) {
			for token := range strings.SplitAfterSeq(strings.Join(four, " "), " ") {
				p.says(&aaep.OutputStreaming{Chunk: token, OutputID: "o"}, "")
				time.Sleep(25 * time.Millisecond)
			}
			p.says(&aaep.OutputStreaming{OutputID: "o", Complete: true}, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			atHome(t, func(p *person) {
				say(p)
				p.reads(time.Minute)
				p.inOrder(four...)
				for _, s := range four {
					if n := strings.Count(p.all(), s); n != 1 {
						p.Errorf("%q came %d times", s, n)
					}
				}
			})
		})
	}
}

// An intended repeat is told again: silence would say that nothing goes on.
func TestRepeat(t *testing.T) {
	atHome(t, func(p *person) {
		for range 3 {
			p.says(&aaep.StateChanged{ToState: aaep.StateThinking}, "Still working.")
			p.reads(15 * time.Second)
		}
		p.inOrder("Still working.", "Still working.", "Still working.")
	})
}

// TERM-009, EVT-022, HS-063, LVL-017, LVL-040, P3: what is critical is told within 150 ms, whatever
// was under way, in a flood too, and is not overwritten; what it cut comes again.
func TestCriticalAtOnce(t *testing.T) {
	const long = "This polite text is long enough to still be under way when something happens that cannot wait at all."
	for _, flood := range []int{0, 1000} {
		atHome(t, func(p *person) {
			for range flood {
				p.sentence("Noise and more noise.")
			}
			p.sentence(long)
			time.Sleep(1200 * time.Millisecond)
			at := time.Since(p.began)
			p.says(&aaep.SessionErrored{}, "It broke.")
			time.Sleep(150 * time.Millisecond)
			now := p.told()
			if last := now[len(now)-1]; last.text != "Error." || last.at < at {
				p.Fatalf("150 ms after it broke at %v: %+v", at, last)
			}
			for percent := range 50 {
				p.says(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(float64(percent))}}, "")
			}
			if flood == 0 {
				p.reads(2 * time.Minute)
				p.inOrder("Error.", "It broke.", "This polite text", "wait at all.")
			}
		})
	}
}

// TERM-012: while the person types, nothing disturbs them, and nothing is lost: one sentence tells
// what came, and the rest is there to be asked for.
func TestWhileTyping(t *testing.T) {
	atHome(t, func(p *person) {
		for i := range 20 {
			p.Typing()
			if i%5 == 0 {
				p.sentence(four[i/5])
			}
			time.Sleep(250 * time.Millisecond)
		}
		if got := p.told(); len(got) > 0 {
			p.Errorf("while they type: %+v", got)
		}
		p.reads(90 * time.Second)
		p.inOrder("4 sentences of the answer")
		p.Details()
		p.reads(2 * time.Minute)
		p.inOrder(append([]string{"4 sentences of the answer"}, four...)...)
	})
}

// TERM-011: a bar that fills in two seconds, or a count of seconds, is told rarely; the last value
// always; and none when it is over.
func TestProgressIsThinned(t *testing.T) {
	atHome(t, func(p *person) {
		for percent := range 101 {
			p.says(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(float64(percent))}}, "")
			time.Sleep(20 * time.Millisecond)
		}
		p.reads(time.Minute)
		p.inOrder("100 percent.")
		if n := strings.Count(p.all(), "percent"); n > 3 {
			p.Errorf("%d values were told: %s", n, p.all())
		}
		for left := 14; left >= 0; left-- {
			p.says(&aaep.ProgressUpdated{Progress: aaep.Progress{Description: fmt.Sprintf("%d seconds left.", left)}}, "")
			time.Sleep(time.Second)
		}
		before := len(p.told())
		p.says(&aaep.SessionCompleted{}, "All done.")
		p.reads(time.Minute)
		for _, t := range p.told()[before:] {
			if strings.Contains(t.text, "seconds left") && !strings.HasPrefix(t.text, "0 ") && !strings.HasPrefix(t.text, "1 ") {
				p.Errorf("long after zero: %+v", t)
			}
		}
	})
}

// I18N-021: each text is told in its own language, and where there is no voice for it, that is said
// once.
func TestOwnLanguage(t *testing.T) {
	atHome(t, func(p *person) {
		say := func(tag, text string) {
			p.says(&aaep.OutputStreaming{Chunk: text + " ", OutputID: tag, Language: tag, CoalesceHint: aaep.BoundarySentence}, "")
		}
		var unsaid []string
		p.Unsaid = func(u announce.Utterance) { unsaid = append(unsaid, u.Text) }
		say("es", "Hola a todos.")
		say("yo", "Ẹ káàárọ̀ o.")
		say("yo", "Ó dàbọ̀ o.")
		say("en-US", "And so on.")
		p.reads(2 * time.Minute)
		p.inOrder("Hola a todos.", "And so on.")
		if n := strings.Count(strings.Join(strings.Fields(p.all()), " "), "no voice for the"); n != 1 {
			p.Errorf("told %d times that there is no voice: %s", n, p.all())
		}
		got := p.told()
		if got[0].language != "" && (got[0].language != "es" || len(unsaid) != 2) {
			p.Errorf("%+v, unsaid %q", got, unsaid)
		}
	})
}

// CONF-013, LVL-025, SEC-002, INV-58: a question is told whole, choices included; it can be
// accepted only after that, and not by a person who types; of those that come at once, each is told
// when the one before is settled.
func TestQuestions(t *testing.T) {
	atHome(t, func(p *person) {
		var asked []*aaep.Event
		for _, action := range []string{"Pay Ada.", "Delete it.", "Send it."} {
			asked = append(asked, p.says(&aaep.AwaitingConfirmation{Action: action, Consequence: "It is done at once.", TimeoutSeconds: 3600,
				RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}, ""))
		}
		asked = append(asked, p.says(&aaep.AwaitingClarification{Question: "Which one?", TimeoutSeconds: 3600,
			Choices: []aaep.Choice{{Value: "a", Label: "The red one"}, {Value: "b", Label: "The blue one"}}}, ""))
		open := func() *aaep.Event { return meant(p.Presenter, time.Now(), aaep.Accept) }
		time.Sleep(4 * time.Second)
		if open() != nil {
			p.Fatal("it can be accepted before it was told")
		}
		for i, words := range [][]string{{"Decide: Pay Ada."}, {"Decide: Delete it."}, {"Decide: Send it."}, {"Which one?", "The red one", "The blue one"}} {
			p.Typing()
			p.reads(5 * time.Minute)
			p.inOrder(words...)
			if open() != asked[i] {
				p.Errorf("question %d was told, and is not the one that is answered", i+1)
			}
			p.Typing() // "hello agent": the keys are for something else
			if open() != nil {
				p.Error("somebody types, and a question can be accepted")
			}
			if i == 0 && strings.Contains(p.all(), "Delete") {
				p.Errorf("two questions are put: %s", p.all())
			}
			p.Plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, asked[i]) })
		}
	})
}

// LVL-014, LVL-015, LVL-016, EVT-012, EVT-016: the beginning, a tool, the end and how it ended, and
// what is unknown: each is told, and cannot be taken for another.
func TestEachIsTold(t *testing.T) {
	atHome(t, func(p *person) {
		for _, tc := range []struct {
			payload aaep.Payload
			text    string
			want    string
		}{
			{&aaep.SessionStarted{}, "Planning.", "Planning."},
			{&aaep.ToolInvoked{Tool: "send_mail"}, "", "Using the tool send mail."},
			{&aaep.ExtensionPayload{Type: "acme:lunch"}, "Lunch is ready.", "Lunch is ready."},
			{&aaep.SessionCompleted{}, "All planned.", "Done. All planned."},
			{&aaep.SessionErrored{}, "It broke.", "Error. It broke."},
			{&aaep.SessionCancelled{}, "You stopped it.", "Cancelled. You stopped it."},
		} {
			p.says(tc.payload, tc.text)
			p.reads(30 * time.Second)
			p.inOrder(tc.want)
		}
	})
}
