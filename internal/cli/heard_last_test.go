package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A person who only hears has the next question put at once, and is not told then that another
// waits; that an answer was sent they hear before the question after it. CONF-013, LVL-023
func TestNextAsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status saidLine
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := present.New(announce.Preferences{Answering: l.howToAnswer})
		l.status.also = func(text string) { p.Tell(text, false) }
		v, run := &pacedVoice{}, make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { run <- p.Run(ctx, v) }()
		defer func() { cancel(); <-run }()
		l.out = &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true, knows: true},
			p: p}}}
		f := &followedAgent{listener: l, name: "asker"}
		l.agents = []*followedAgent{f}
		ask := func(session, action string) {
			c := pay()
			c.Action = action
			ev := in(session, event(c, ""))
			ev.Timestamp = time.Now()
			f.addQuestion(ev)
		}
		f.announceEvent(in("a", event(&aaep.Extension{Type: "acme:news"}, "The bill is due today.")))
		passTime(100 * time.Millisecond)
		ask("a", "Pay it.")
		passTime(time.Second)
		ask("b", "Burn it.")
		passTime(5 * time.Second)
		if got := out.String(); !strings.Contains(got,
			"Another question waits. It comes after this one. /next puts it first.\n") {
			t.Errorf("the terminal says\n%s", got)
		}
		l.handleTyped(ctx, typedLine{text: "/next", at: time.Now()})
		passTime(time.Minute)
		l.closeQuestion("Answer sent: accept.")
		passTime(time.Minute)
		heard := v.String()
		for _, want := range []string{"The bill is due today. /", "/\nDecide: Burn it.",
			"Type y to accept or n to reject, then Enter.\n", "The bill is due today.\n",
			"Answer sent: accept.\nDecide: Pay it.", "Type y to accept or n to reject, then Enter.\n"} {
			_, after, ok := strings.Cut(heard, want)
			if !ok {
				t.Fatalf("no %q in\n%s\nof\n%s", want, heard, v.String())
			}
			heard = after
		}
		if all := v.String(); strings.Contains(all, "Another question waits.") || strings.Count(all, "Pay it.") > 2 {
			t.Errorf("heard\n%s", all)
		}
		ask("c", "Sell it.")
		passTime(10 * time.Second)
		if all := v.String(); !strings.HasSuffix(all, "Another question waits.\nIt comes after this one.\n") {
			t.Errorf("when another waits, heard\n%s", all)
		}
	})
}
