package announce

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// These stand among what is heard where the question was settled, and where the person asked for
// what was said last once more.
const settled, onceMore = "0.0 settled", "0.0 once more"

// Whatever agents say, ask and withdraw, and whatever the person presses: the words that lead in
// what was said meanwhile are never heard twice without anything of an agent in between, and what a
// session says beside its question is never heard after that without these words, as if it belonged
// to the question; but for the sentence that the person asked for once more.
func TestOrder(t *testing.T) {
	rounds := 1200
	if testing.Short() {
		rounds = 200
	}
	for seed := range rounds {
		r, rnd := newRoom(t, Preferences{Answering: answerKeys}), rand.New(rand.NewPCG(uint64(seed), 9))
		words := 0
		var open *aaep.Event
		word := func(session string) string {
			words++
			return fmt.Sprintf("Word%dof%s.", words, session)
		}
		for range 60 {
			source, session := "Planner", fmt.Sprintf("sess_%d", 1+rnd.IntN(2))
			if rnd.IntN(5) == 0 {
				source, session = "Post", "sess_9"
			}
			switch rnd.IntN(13) {
			case 0, 1, 2, 3:
				r.addEventOf(source, session, &aaep.OutputStreaming{Chunk: word(session) + " ", OutputID: "out_1",
					CoalesceHint: aaep.BoundarySentence}, "")
			case 4:
				r.addEventOf(source, session, &aaep.ExtensionPayload{Type: "acme:news"}, word(session))
			case 5:
				r.addEventOf(source, session, &aaep.ToolInvoked{Tool: "look", ToolCallID: "call_1"}, word(session))
			case 6, 7:
				if open == nil {
					open = r.askBriefly("Planner", "sess_1", fmt.Sprintf("Pay %d.", words))
				}
			case 8:
				if open != nil && rnd.IntN(3) == 0 {
					open, r.heard = nil, append(r.heard, settled)
					r.addEventOf("Planner", "sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "")
				}
			case 9:
				r.a.Typing(r.now)
			case 10:
				r.heard = append(r.heard, onceMore)
				r.a.Again(r.now)
			case 11:
				r.a.WhatWaits(r.now)
			case 12:
				r.addEventOf(source, session, &aaep.ToolCompleted{Tool: "look", ToolCallID: "call_1", Status: aaep.ToolSuccess}, word(session))
			}
			r.passTime(time.Duration(rnd.IntN(4000)) * time.Millisecond)
		}
		r.passTime(2 * time.Minute)
		if broken := findDisorder(r.heard); broken != "" {
			t.Fatalf("seed %d: %s in\n%s", seed, broken, strings.Join(r.heard, "\n"))
		}
	}
}

// findDisorder is what of the heard lines breaks the rules of TestOrder.
func findDisorder(heard []string) string {
	asked, led, again := false, false, false
	var lastWord, wanted string // of an agent; and what of that the person asked for once more
	meanwhile, _ := phrase.In("en", phrase.Meanwhile, "")
	before, _ := phrase.In("en", phrase.CameBefore, "")
	for _, line := range heard {
		_, said, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, settled):
			asked, led, again = false, false, false
		case strings.HasPrefix(line, onceMore):
			again, wanted = false, lastWord
		case strings.Contains(said, before): // leads in what the question was put ahead of
			led, again = true, false
		case strings.Contains(said, "While you typed, this came: "):
			again = false
		case strings.Contains(said, meanwhile):
			if again {
				return "twice in a row: " + line
			}
			led, again = true, !strings.HasSuffix(said, "/")
		case strings.Contains(said, "Decide: "), strings.Contains(said, "The question is: "):
			if again {
				return "after words that lead in what was said meanwhile, of which nothing follows: " + line
			}
			asked, led, again = true, false, false
		case strings.Contains(said, "The agent is now: "):
			again = false
		case strings.HasPrefix(said, "The newest: "): // of what came while the person typed
		case strings.Contains(said, "Word"):
			word := said[strings.Index(said, "Word"):]
			lastWord, _, _ = strings.Cut(word, " ")
			if asked && !led && strings.Contains(said, "ofsess_1.") && lastWord != wanted {
				return "after the question, as if it belonged to it: " + line
			}
			again = false
		}
	}
	return ""
}

// Whatever agents do, fail at and end, and whatever the person asks for, in whatever order: Next
// returns, and what waits comes to its end in a while. A Presenter calls Next with its lock held,
// so one that chooses for ever silences all agents.
func TestNextReturns(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 150
	}
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 26))
		r := newRoom(t, Preferences{UntilDone: rnd.IntN(4) == 0, Reads: rnd.IntN(4) == 0, Answering: answerKeys})
		var asked []*aaep.Event
		for i := range 40 {
			source, session := "Planner", fmt.Sprintf("sess_%d", 1+rnd.IntN(3))
			if rnd.IntN(4) == 0 {
				source = "Post"
			}
			say := fmt.Sprintf("Word %d.", i)
			for _, act := range []func(){
				func() { r.addEventOf(source, session, &aaep.SessionStarted{}, say) },
				func() {
					r.addEventOf(source, session, &aaep.OutputStreaming{Chunk: say + " ", OutputID: "out_1", CoalesceHint: aaep.BoundarySentence}, "")
				},
				func() {
					r.addEventOf(source, session, &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, say)
				},
				func() { r.addEventOf(source, session, &aaep.ToolInvoked{Tool: "look", ToolCallID: "call_1"}, say) },
				func() {
					r.addEventOf(source, session, &aaep.ToolCompleted{Tool: "look", ToolCallID: "call_1", Status: aaep.ToolError}, say)
				},
				func() { r.addEventOf(source, session, &aaep.SessionErrored{}, say) },
				func() { r.addEventOf(source, session, &aaep.SessionCompleted{}, say) },
				func() { asked = append(asked, r.askBriefly(source, session, "Pay "+say)) },
				func() {
					if len(asked) > 0 {
						r.a.Settle(r.now, asked[rnd.IntN(len(asked))])
					}
				},
				func() { r.typeAnswer([]string{"y", "n", "maybe"}[rnd.IntN(3)], nil) },
				func() { r.a.Hush(rnd.IntN(2) == 0) },
				func() { r.a.Typing(r.now) },
				func() { r.a.Rest(r.now) },
				func() { r.a.Skip(r.now) },
				func() { r.a.Newest(r.now) },
				func() { r.a.Details(r.now) },
				func() { r.a.Again(r.now) },
				func() { r.a.NextQuestion(r.now) },
				func() { r.a.WhatWaits(r.now) },
				func() { r.a.WhereAreWe(r.now) },
				func() { r.a.Spell(r.now) },
				func() { r.a.Walk(r.now, Places()[rnd.IntN(len(Places()))], rnd.IntN(2) == 0) },
				func() { r.a.Outage(r.now, source, nil) },
				func() { r.a.Tell(r.now, say, rnd.IntN(2) == 0) },
			}[rnd.IntN(24):][:1] {
				act()
			}
			if rnd.IntN(3) > 0 { // else several at once
				r.passTime(time.Duration(rnd.IntN(4000)) * time.Millisecond)
			}
		}
		r.a.Hush(false)
		r.passTime(15 * time.Minute)
		if r.voice != nil {
			t.Errorf("seed %d: after a quarter of an hour %q is said", seed, r.voice.Text)
		}
	}
}
