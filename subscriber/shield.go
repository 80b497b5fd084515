package subscriber

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var errNotDialed = errors.New("subscriber: this Subscription was not made by Dial")

// dialed reports whether s was made by Dial. Of one that was not, nothing would ever come.
func (s *Subscription) dialed() bool { return s != nil && s.done != nil }

// shield calls code of others on a goroutine of the subscription's: a Dialer, its Conn, and the functions of Config. A panic there is logged
// with its stack, and the error; it does not end the program.
func (s *Subscription) shield(doing string, f func() error) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			s.cfg.Logger.Error("panic, and the subscription goes on", "doing", doing, "panic", crash, "stack", string(debug.Stack()))
			err = fmt.Errorf("subscriber: panic in %s: %v", doing, crash)
		}
	}()
	return f()
}

// unreadable tells Config.Unreadable.
func (s *Subscription) unreadable(err error) {
	if s.cfg.Unreadable != nil {
		_ = s.shield("Config.Unreadable", func() error { s.cfg.Unreadable(err); return nil })
	}
}
