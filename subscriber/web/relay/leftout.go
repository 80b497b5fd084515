package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// leftOut is what of the agent's messages does not reach the page: its person should know that something is missing.
type leftOut string

const (
	tooMuch     leftOut = "flood"
	badQuestion leftOut = "question"
	badMessage  leftOut = "message"
	lost        leftOut = "lost"
)

// unreadable notes what is left out: each flood, and once that a question or anything else was not valid. It never waits.
func (v *visit) unreadable(err error) {
	if v.r.cfg.Unreadable != nil {
		v.r.cfg.Unreadable(err)
	}
	what := badMessage
	var invalid *aaep.InvalidError
	switch {
	case errors.Is(err, subscriber.ErrFlood):
		what = tooMuch
	case errors.As(err, &invalid) && strings.Contains(invalid.Message, ".awaiting."):
		what = badQuestion
	}
	v.mu.Lock()
	told := v.told[what]
	v.told[what] = what != tooMuch
	v.mu.Unlock()
	if !told {
		v.tellOf(what)
	}
}

func (v *visit) tellOf(what leftOut) {
	select {
	case v.leftOut <- what:
	default:
	}
}

// warn tells the page what is left out, until its stream is lost. What it was not told the next stream has.
func (v *visit) warn(ctx context.Context, st transports.Stream) {
	for {
		select {
		case what := <-v.leftOut:
			notice := fmt.Appendf(nil, `{"type":"relay.left_out","what":%q}`, what)
			if st.SendEvents(ctx, []transports.Event{{Message: notice}}) != nil {
				v.tellOf(what)
				return
			}
		case <-st.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}
