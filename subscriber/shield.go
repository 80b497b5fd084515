package subscriber

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shield"
)

var errNotDialed = errors.New("subscriber: this Subscription was not made by Dial")

// isDialed reports whether s was made by Dial. Any other would wait for ever.
func (s *Subscription) isDialed() bool { return s != nil && s.done != nil }

// callShielded calls code of others on a goroutine of the subscription's: a Dialer, its Conn, and
// the functions of Config. A panic there is logged with its stack and returned as an error; it does
// not end the program.
func (s *Subscription) callShielded(doing string, f func() error) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			s.cfg.Logger.Error("panic, and the subscription goes on", "doing", doing, "panic", crash, "stack",
				string(debug.Stack()))
			err = fmt.Errorf("subscriber: panic in %s: %v", doing, crash)
		}
	}()
	return shield.CheckError(f())
}

// reportUnreadable reports that a message is not among the events: to Config.Unreadable or, where
// that is nil, by one event in the place of all such messages up to the next event; where a
// question is among them, by one that says so. Only the reading goroutine calls it.
func (s *Subscription) reportUnreadable(err error) {
	switch {
	case s.cfg.Unreadable != nil:
		_ = s.callShielded("Config.Unreadable", func() error { s.cfg.Unreadable(err); return nil })
	case asksQuestion(err):
		if s.gapAsked {
			return
		}
		s.gap, s.gapAsked = true, true
		s.reportLost(true)
	case !s.gap:
		s.gap = true
		s.reportLost(false)
	}
}

// asksQuestion reports whether a message that is not valid was to be a question.
func asksQuestion(err error) bool {
	invalid, ok := errors.AsType[*aaep.InvalidError](err)
	if !ok {
		return false
	}
	t := aaep.CompactType(invalid.Message)
	return t == aaep.TypeAwaitingConfirmation || t == aaep.TypeAwaitingClarification
}
