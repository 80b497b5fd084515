package present_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A person who scans gets more time when they select it, and is told the same over each of their
// outputs. What they were about to send is not, where the link is cut and the question goes with
// it.
func TestScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, agents)
		did := bank.asks("Pay five dollars.")
		l.asked()
		press := func(p string, wait time.Duration) {
			l.Answer(p)
			time.Sleep(wait)
		}
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second) // what follows
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second)
		press(announce.Select, time.Minute) // more time, and what waits is told
		for range 3 {
			press(announce.Step, 5*time.Second)
		}
		press(announce.Select, 10*time.Second)
		if l.heard("accept, 2 of 6.") != 2 || l.heard("To send: accept: Pay five dollars. 1 of 2.") != 1 || l.heard("There is more time to answer.") != 1 {
			t.Errorf("heard %q", l.lines())
		}
		select {
		case <-did:
			t.Fatal("it was done before it was sent")
		default:
		}
		press(announce.Select, time.Second)
		if !<-did {
			t.Errorf("it was not done; heard %q", l.lines())
		}
		did = bank.asks("Pay ten dollars.")
		l.asked()
		for _, p := range []string{announce.Step, announce.Step, announce.Select} {
			press(p, 5*time.Second)
		}
		bank.cut()
		press(announce.Select, 20*time.Second)
		if <-did || l.heard("To send: accept: Pay ten dollars. 1 of 2.") != 1 || l.heard("Answer sent") != 1 {
			t.Errorf("what was cut was done; heard %q", l.lines())
		}
		l.end(agents)
	})
	synctest.Test(t, func(t *testing.T) {
		voices := []*voice{{}, {}}
		people := []*present.Presenter{present.New(announce.Preferences{}), present.New(announce.Preferences{})}
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, agents)
		l.stop() // what follows is for two outputs of one person
		<-l.ended["Bank"]
		delete(l.ended, "Bank")
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range people {
			go p.Run(t.Context(), voices[i])
		}
		go present.Follow(t.Context(), sub, "Bank", people...)
		synctest.Wait()
		did := bank.asks("Pay five dollars.")
		time.Sleep(2 * time.Minute)
		for _, p := range []string{announce.Step, announce.Step, announce.Select, announce.Select} {
			present.Answer(time.Time{}, p, people...)
			time.Sleep(10 * time.Second)
		}
		if !<-did {
			t.Error("it was not done")
		}
		for i, v := range voices {
			for _, want := range []string{"reject, 1 of 6.", "accept, 2 of 6.", "To send: accept: Pay five dollars. 1 of 2."} {
				if n := strings.Count(strings.Join(v.lines(), "|"), want); n != 1 {
					t.Errorf("output %d: %q %d times in %q", i, want, n, v.lines())
				}
			}
		}
		sub.Close()
		l.end(agents)
	})
}
