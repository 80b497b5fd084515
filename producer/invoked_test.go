package producer_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// What is only seen is told without waiting for anybody, and what must ask cannot be told so. (EVT-042, EVT-051, SM-003, SM-005)
func TestInvoked(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		heard := st.record()
		slow := st.listen(caps(1, aaep.BoundaryNone))
		slow.hold()
		s := st.session("Looking.")
		first, err := s.Invoked(producer.Tool{Name: "look"})
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Invoked(producer.Tool{Name: "look again", Risk: aaep.RiskMedium})
		if err != nil {
			t.Fatal(err)
		}
		first(nil)
		first(errors.New("only the first counts"))
		second(errors.New("no"))
		for _, tool := range []producer.Tool{{Name: "pay", Irreversible: true}, {Name: "pay", Risk: aaep.RiskHigh}, {Name: "pay", Confirm: true}} {
			var invalid *aaep.InvalidError
			if _, err := s.Invoked(tool); !errors.As(err, &invalid) || invalid.Violations[0].Requirement != "EVT-042" {
				t.Errorf("%+v was told of: %v", tool, err)
			}
		}
		s.Complete(aaep.Say("Done."))
		var told []string
		for _, ev := range heard.events() {
			switch p := ev.Payload.(type) {
			case *aaep.ToolInvoked:
				told = append(told, p.Tool)
			case *aaep.ToolCompleted:
				told = append(told, p.Tool+" "+string(p.Status))
			}
		}
		if want := []string{"look", "look_again", "look success", "look_again error"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if _, err := s.Invoked(producer.Tool{Name: "look"}); !errors.Is(err, producer.ErrSessionOver) {
			t.Errorf("after the end the error is %v", err)
		}
	})
}

// A session is found in its own context and what comes of it, and nowhere else.
func TestSessionOf(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		a, b := st.session("One."), st.session("Two.")
		if producer.SessionOf(a.Context()) != a || producer.SessionOf(b.Context()) != b || producer.SessionOf(t.Context()) != nil {
			t.Error("the wrong session was found")
		}
	})
}

type busy struct{ error }

func (busy) Temporary() bool { return true }

// What may pass is told as such. (EVT-018)
func TestCategories(t *testing.T) {
	for want, cause := range map[aaep.ErrorCategory]error{
		aaep.ErrorTransient:    busy{errors.New("busy")},
		aaep.ErrorRequiresUser: fs.ErrPermission,
		aaep.ErrorUnknown:      errors.New("what?"),
	} {
		bubble(t, func(t *testing.T, st *stage) {
			heard := st.record()
			st.session("Looking.").Fail(errors.Join(context.Canceled, cause), aaep.Text{})
			all := heard.events()
			if p, ok := all[len(all)-1].Payload.(*aaep.SessionErrored); !ok || p.ErrorCategory != want || *p.Recoverable != (want == aaep.ErrorTransient) {
				t.Errorf("%v was told as %+v", cause, all[len(all)-1].Payload)
			}
		})
	}
}
