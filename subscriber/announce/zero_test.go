package announce

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// The zero Announcer is that of the zero Preferences: it panics nowhere, and says the same.
func TestZeroAnnouncer(t *testing.T) {
	var heard [2]string
	for i, a := range []*Announcer{New(Preferences{}), {}} {
		r := newRoom(t, Preferences{})
		r.a = a
		a.Mention(r.now, "Following.")
		a.Typing(r.now)
		a.Rest(r.now)
		a.Again(r.now)
		a.Details(r.now)
		a.WhereAreWe(r.now)
		a.Spell(r.now)
		r.passTime(time.Minute)
		r.addEvent(&aaep.SessionStarted{}, "Working.")
		r.addEvent(&aaep.ProgressUpdated{}, "Half.")
		r.addSentence("An answer. And more\n\n```\ncode\n```\n")
		r.addEventOf("Shop", "sess_2", payQuestion(), "")
		r.passTime(time.Minute)
		r.press(Step, time.Second)
		r.typeAnswer("y", nil)
		a.Hush(true)
		a.Newest(r.now)
		_ = a.Walk(r.now, linePlace, true)
		r.addEvent(&aaep.SessionErrored{}, "It failed.")
		a.Leave(r.now, "Shop", aaep.ProducerShutdown)
		r.passTime(time.Hour)
		heard[i] = r.heardFrom(0)
	}
	if heard[0] != heard[1] {
		t.Errorf("heard\n%s\nand of the zero Announcer\n%s", heard[0], heard[1])
	}
}
