package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A person who missed the beginning of a question hears it from there at once, and no sooner than
// at its end it can be accepted.
func TestAgainAtOnce(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := r.addEvent(&aaep.AwaitingConfirmation{Action: "Pay $5.", Consequence: "Gone.", TimeoutSeconds: 300, DefaultDecision: aaep.Reject}, "Pay?")
	r.passTime(2 * time.Second)
	r.a.Again(r.now)
	r.passTime(6 * time.Second)
	if q := questionFor(r.a, r.now, aaep.Accept); q != nil {
		t.Error("it can be accepted before it was heard")
	}
	r.a.WhatWaits(r.now)
	r.a.WhatWaits(r.now)
	r.passTime(time.Minute)
	if q := questionFor(r.a, r.now, aaep.Accept); q != ask {
		t.Error("it cannot be accepted after it was heard")
	}
	r.wantHeard("0.0 Decide: Pay $5.", "1.5 Consequence: Gone. /", "2.0 Decide: Pay $5.", "3.5 Consequence: Gone.", "4.5 High risk.",
		"5.5 You have about 5 minutes to answer.", "9.0 No answer: it will not be done.", "12.5 One question is open: Pay $5.")
	if got, want := r.receiptsText(), "question cut 1/5, question heard 5/5, notice expired 0/1, notice heard 1/1"; got != want {
		t.Errorf("receipts: %s, want %s", got, want)
	}
}

// What was said last may have come before something else that was said sooner.
func TestAgainIsTheLast(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("First of all this. ")
	r.addSentence("And this. ")
	r.addEvent(&aaep.HandoffRequested{TargetKind: aaep.TargetHuman, Reason: "Rules."}, "Help.")
	r.passTime(30 * time.Second)
	r.heard = nil
	r.a.Again(r.now)
	r.passTime(500 * time.Millisecond)
	r.a.Again(r.now)
	r.passTime(30 * time.Second)
	r.wantHeard("30.0 And this. /", "30.5 And this.")
}

// A question that is called to mind is, when that is said again, as long open as it is then; and
// none that is closed is put again.
func TestAgainOfAQuestion(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEvent(&aaep.SessionStarted{}, "Weather.")
	ask := r.addEvent(&aaep.AwaitingClarification{Question: "Is it raining?", TimeoutSeconds: 300}, "Rain?")
	r.passTime(30 * time.Second)
	r.heard = nil
	r.a.Again(r.now)
	r.passTime(time.Minute)
	r.a.Again(r.now)
	r.passTime(time.Second)
	r.a.Settle(r.now, ask)
	r.a.Again(r.now)
	r.passTime(time.Minute)
	r.wantHeard("30.0 The question is: Is it raining?", "33.0 You have about 4 minutes 30 seconds to answer.", "90.0 The question is: Is it raining? /", "91.0 The question is no longer open.")
}

// Of a question that another was put instead of, nothing is said again before that has begun: what
// is heard last is what is accepted.
func TestAgainOfAQuestionPutAside(t *testing.T) {
	for _, while := range []string{"Decide: Pay five dollars.", "The question is: Pay five dollars."} {
		r := newRoom(t, Preferences{})
		r.askBriefly("Bank", "sess_1", "Pay five dollars.")
		r.addEventOf("Bank", "sess_1", &aaep.ExtensionPayload{Type: "acme:news"}, "News.")
		two := r.askBriefly("Bank", "sess_2", "Delete all photos.")
		for range 60 {
			if strings.Contains(r.heard[len(r.heard)-1], while) {
				break
			}
			r.passTime(time.Second / 2)
		}
		r.a.NextQuestion(r.now)
		r.a.Again(r.now)
		r.passTime(30 * time.Second)
		r.wantQuestion(two, two)
		if heard := r.heardSince(while + " /"); strings.Count(heard, "Pay five dollars.") != 1 || !strings.Contains(heard, "Decide: Delete all photos.") {
			t.Errorf("heard %s", heard)
		}
	}
}
