package bridge

import (
	"context"
	"log/slog"
	"time"

	"github.com/aaep-go/aaep/internal/words"
)

const (
	// FirstRetry is how long it takes until a peer that is away is tried again; each further time
	// is twice as long, and never longer than LastRetry.
	FirstRetry = time.Second
	LastRetry  = time.Minute

	mostCuts   = 3           // that are told one by one, of a link that does not hold
	stableTime = time.Minute // until a link counts as one that holds
)

// A Link is one to a peer that is taken up again whenever it is cut. A person hears that it was
// cut and that it is back; of a link that does not hold, three times, and then once it holds.
type Link struct {
	Peer    string                      // what the peer is called, such as swarm
	Connect func(context.Context) error // takes the link up
	Attend  func(context.Context) error // takes what comes on it, until it is cut or ctx ends
	Note    func(text string)           // tells a sentence
	Back    func() string               // what is told once it is back, after a space; nil is nothing
	Holds   string                      // what is told once a link holds that did not, after a space
	Logger  *slog.Logger
}

// Keep attends a link that Connect has taken up, and takes it up again when it is cut, until ctx
// ends. What is announced of cuts is bounded. The error is that of ctx.
func (l *Link) Keep(ctx context.Context) error {
	for retry, cuts := FirstRetry, 0; ; {
		began := time.Now()
		holds := l.announceHolds(cuts)
		err := l.Attend(ctx)
		holds.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cut := time.Now()
		if cut.Sub(began) >= stableTime {
			retry, cuts = FirstRetry, 0
		}
		l.Logger.Warn("the link to the "+l.Peer+" was cut", "error", err)
		switch cuts++; {
		case cuts <= mostCuts:
			l.Note("The link to the " + l.Peer + " was cut; it is tried again.")
		case cuts == mostCuts+1:
			l.Note("The link to the " + l.Peer + " is cut again and again. It is tried on, and told when it holds.")
		}
		for ; ; retry = min(2*retry, LastRetry) {
			select {
			case <-time.After(retry):
			case <-ctx.Done():
				return ctx.Err()
			}
			if err = l.Connect(ctx); err == nil {
				break
			}
			l.Logger.Warn("the "+l.Peer+" cannot be reached", "error", err)
		}
		retry = min(2*retry, LastRetry)
		if cuts > mostCuts {
			continue
		}
		text := "The link to the " + l.Peer + " is back after " + words.Spoken(time.Since(cut).Round(time.Second)) + "."
		if l.Back != nil {
			text += l.Back()
		}
		l.Note(text)
	}
}

// announceHolds starts a timer that announces, after stableTime, that the link holds again, where
// it was cut so often that its returns were not announced. The caller stops the timer when the link
// is cut.
func (l *Link) announceHolds(cuts int) *time.Timer {
	return time.AfterFunc(stableTime, func() {
		if cuts > mostCuts {
			l.Note("The link to the " + l.Peer + " holds again." + l.Holds)
		}
	})
}
