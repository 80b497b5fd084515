package conformance_test

import (
	"bytes"
	"context"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

// A fault makes a reader a mutant. The zero fault is none.
type fault struct {
	title  string
	caught []string // the cases that must fail or deviate, and no other may
	whole  bool     // it shows only beside the plays of other cases

	conn  func(transports.Conn, hook) transports.Conn // stands before the link
	caps  func(*aaep.Capabilities)
	runs  func(context.Context, *conformance.Hook, *reader) error
	says  func(ev *aaep.Event, text string) string // what is made of an event
	kinds func(kind string) string

	shows    aaep.Verbosity                     // whatever was chosen
	asks     aaep.Verbosity                     // the same
	answers  func(ev *aaep.Event) aaep.Decision // by itself
	decides  aaep.Decision                      // whatever the user decided
	language string                             // of the voice, whatever the text is in
	names    func() string                      // of the subscriber

	alone, logsNothing, stays, fifo bool
}

func (f fault) faultyName(s string) string {
	if f.names != nil {
		return f.names()
	}
	return s
}

func (f fault) faultyText(ev *aaep.Event, text string) string {
	if f.says != nil {
		return f.says(ev, text)
	}
	return text
}

func firstNonzero[T ~string](a, b T) T {
	if a != "" {
		return a
	}
	return b
}

func (f fault) presentedVerbosity(v aaep.Verbosity) aaep.Verbosity { return firstNonzero(f.shows, v) }
func (f fault) chosenVerbosity(v aaep.Verbosity) aaep.Verbosity    { return firstNonzero(f.asks, v) }
func (f fault) sentDecision(d aaep.Decision) aaep.Decision         { return firstNonzero(f.decides, d) }

func (f fault) userDecision(ev *aaep.Event) aaep.Decision {
	if f.answers != nil {
		return f.answers(ev)
	}
	return ""
}

func (f fault) presentedKind(kind string) string {
	if f.kinds != nil {
		return f.kinds(kind)
	}
	return kind
}

// messageMutator edits what passes a reader's link.
type messageMutator struct {
	transports.Conn
	raw     func([]byte) []byte     // of what comes, before all else; nil drops it
	in, out func(o object) []object // what comes, what goes
	bye     func([]byte) error      // ends the link upon what comes
	waiting [][]byte
}

func (m *messageMutator) Receive(ctx context.Context) ([]byte, error) {
	for {
		if len(m.waiting) > 0 {
			msg := m.waiting[0]
			m.waiting = m.waiting[1:]
			return msg, nil
		}
		msg, err := m.Conn.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if m.bye != nil {
			if err := m.bye(msg); err != nil {
				return nil, err
			}
		}
		if m.raw != nil {
			msg = m.raw(msg)
		}
		var o object
		switch {
		case msg == nil:
		case m.in == nil || jsonv2.Unmarshal(msg, &o) != nil || o == nil:
			return msg, nil
		default:
			for _, o := range m.in(o) {
				m.waiting = append(m.waiting, encodeObject(o))
			}
		}
	}
}

func (m *messageMutator) Send(ctx context.Context, msg []byte) error {
	var o object
	if m.out == nil || jsonv2.Unmarshal(msg, &o) != nil {
		return m.Conn.Send(ctx, msg)
	}
	for _, o := range m.out(o) {
		if err := m.Conn.Send(ctx, encodeObject(o)); err != nil {
			return err
		}
	}
	return nil
}

// mutateWith makes the conn of a fault. Its state is that of one link.
func mutateWith(fresh func() *messageMutator) func(transports.Conn, hook) transports.Conn {
	return func(c transports.Conn, _ hook) transports.Conn {
		m := fresh()
		m.Conn = c
		return m
	}
}

// editReceived edits what comes.
func editReceived(edit func(o object) object) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator { return &messageMutator{in: editEach(edit)} })
}

func editSent(edit func(o object) object) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator { return &messageMutator{out: editEach(edit)} })
}

func editEach(edit func(o object) object) func(object) []object {
	return func(o object) []object {
		if o = edit(o); o == nil {
			return nil
		}
		return []object{o}
	}
}

// dropReceived drops what comes.
func dropReceived(is func(o object) bool) func(transports.Conn, hook) transports.Conn {
	return editReceived(func(o object) object {
		if is(o) {
			return nil
		}
		return o
	})
}

func editOnly(typ string, change func(o object) object) func(object) object {
	return func(o object) object {
		if shortName(o) == typ {
			return change(o)
		}
		return o
	}
}

func setMembers(more object) func(object) object {
	return func(o object) object { return cloneWith(o, more) }
}

// muteOn says nothing of some events.
func muteOn(is func(ev *aaep.Event) bool) func(*aaep.Event, string) string {
	return func(ev *aaep.Event, text string) string {
		if is(ev) {
			return ""
		}
		return text
	}
}

func hasType(t aaep.Type) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool { return ev.Type() == t }
}

func hasExtension(o object, name string) bool {
	all, _ := o["extensions"].(object)
	return all[name] != nil
}

// dropReceivedBytes drops what comes by its bytes.
func dropReceivedBytes(is func([]byte) bool) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator {
		return &messageMutator{raw: func(msg []byte) []byte {
			if is(msg) && bytes.Contains(msg, []byte(`"event_id"`)) {
				return nil
			}
			return msg
		}}
	})
}

// dropCounted drops what comes late on a link.
func dropCounted(is func(n int, o object) bool) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator {
		n := 0
		return &messageMutator{in: editEach(func(o object) object {
			if n++; is(n, o) {
				return nil
			}
			return o
		})}
	})
}
