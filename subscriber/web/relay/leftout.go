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

// leftOut is what of the agent's messages does not reach the page: its person should know that
// something is missing.
type leftOut string

const (
	tooMuch     leftOut = "flood"
	badQuestion leftOut = "question"
	badMessage  leftOut = "message"
	lost        leftOut = "lost"
)

// noteUnreadable tells the caller's Unreadable that a message of the agent is left out, and queues
// a notice for the page: for each flood, and once for questions and once for other messages that
// are not valid. It is the subscription's Unreadable, and never waits.
func (v *visit) noteUnreadable(err error) {
	if v.r.cfg.Unreadable != nil {
		v.r.cfg.Unreadable(err)
	}
	reason := badMessage
	var invalid *aaep.InvalidError
	switch {
	case errors.Is(err, subscriber.ErrFlood):
		reason = tooMuch
	case errors.As(err, &invalid) && strings.Contains(invalid.Message, ".awaiting."):
		reason = badQuestion
	}
	v.mu.Lock()
	isTold := v.noticed[reason]
	v.noticed[reason] = reason != tooMuch
	v.mu.Unlock()
	if !isTold {
		v.queueNotice(reason)
	}
}

// queueNotice queues a notice for the page, unless too many wait.
func (v *visit) queueNotice(reason leftOut) {
	select {
	case v.leftOut <- reason:
	default:
	}
}

// sendNotices sends the page notices of what is left out, until its stream is lost. A notice that
// could not be sent waits for the next stream.
func (v *visit) sendNotices(ctx context.Context, st transports.Stream) {
	for {
		select {
		case reason := <-v.leftOut:
			notice := fmt.Appendf(nil, `{"type":"relay.left_out","what":%q}`, reason)
			if st.SendEvents(ctx, []transports.Event{{Message: notice}}) != nil {
				v.queueNotice(reason)
				return
			}
		case <-st.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}
