package eventlog_test

import (
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
)

// A subscriber was cut off after the second event. It names that event, and reads on from there.
func Example() {
	l := eventlog.New(100)
	var last string
	for _, step := range []string{"Looking up the balance.", "Found it.", "Done."} {
		ev := &aaep.Event{Summary: aaep.Say(step)}
		if l.Append(ev) == 2 {
			last = ev.EventID
		}
	}

	at, _, known := l.Locate(last)
	events, _, err := l.Read(at.Pos, 10)
	fmt.Println(at.Pos, known, err)
	for _, ev := range events {
		fmt.Println(ev.Text(aaep.VerbosityNormal))
	}

	_, _, known = l.Locate("evt_00000000000000000000000000000000")
	fmt.Println(known)
	// Output:
	// 2 true <nil>
	// Done.
	// false
}
