package conformance_test

import (
	"context"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/transports"
)

// A fault makes a reader a mutant. The zero fault is none.
type fault struct {
	what   string
	caught []string

	conn func(transports.Conn) transports.Conn
	caps func(*aaep.Capabilities)
	run  func(context.Context, *conformance.Hook, transports.Dialer) error

	says                                func(ev *aaep.Event, text string) string
	speaks                              func(u announce.Utterance) string
	sounds                              func(kind string) string
	wants                               aaep.Verbosity
	answers                             func(ev *aaep.Event) aaep.Decision
	decides                             aaep.Decision
	asks                                aaep.Verbosity
	keeps                               func(*aaep.Event) bool
	names                               func(string) string
	slams, alone, everOpen, logsNothing bool
}

func (f fault) name(s string) string {
	if f.names != nil {
		return f.names(s)
	}
	return s
}
func (f fault) keepsPrompts(ev *aaep.Event) bool { return f.keeps != nil && f.keeps(ev) }
func (f fault) text(ev *aaep.Event, text string) string {
	if f.says != nil {
		return f.says(ev, text)
	}
	return text
}
func (f fault) verbosity(v aaep.Verbosity) aaep.Verbosity {
	if f.wants != "" {
		return f.wants
	}
	return v
}
func (f fault) presses(ev *aaep.Event) aaep.Decision {
	if f.answers != nil {
		return f.answers(ev)
	}
	return ""
}
func (f fault) chosen(v aaep.Verbosity) aaep.Verbosity {
	if f.asks != "" {
		return f.asks
	}
	return v
}
func (f fault) decided(d aaep.Decision) aaep.Decision {
	if f.decides != "" {
		return f.decides
	}
	return d
}
func (f fault) utter(u announce.Utterance) string {
	if f.speaks != nil {
		return f.speaks(u)
	}
	return u.Text
}
func (f fault) kind(kind string) string {
	if f.sounds != nil {
		return f.sounds(kind)
	}
	return kind
}
