package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

const (
	// grace is how long a failed request may take to be sent again. By themselves the SDKs wait for
	// eight seconds at most.
	grace    = 10 * time.Second
	maxGrace = 70 * time.Second
	// patience is how long the results of tools may take that are not guarded.
	patience = 10 * time.Minute
)

// A turn is a session as the tap sees it: the requests to the model that belong to it, and the
// tools that it wants.
type turn struct {
	tap *Tap
	s   *producer.Session
	own bool // begun and ended here

	// Guarded by tap.mu, under which nothing is told: a session may have to wait, and other turns
	// must not.
	busy     int               // requests whose answer is not whole yet
	running  int               // guarded tools that run, or ask
	moves    int               // grows with each request, answer and guarded tool
	last     [sha256.Size]byte // the newest request,
	done     <-chan struct{}   // and its context's
	retrying bool              // it failed, and may be sent again
	calls    []*call           // wanted, and not known to be over, oldest first
}

// A call is a tool that a model wants. One without a name only shows to which turn the next request
// belongs.
type call struct {
	key, name string
	done      func(error) // tells that it is over; nil for a guarded tool, which tells it itself
	err       error       // that its result came with
	taken     bool        // a guarded tool that has been called
}

// takes takes over a request, with tap.mu held, and returns the calls whose results come with it.
func (x *turn) takes(req request) (over []*call) {
	x.busy++
	x.moves++
	x.last, x.done, x.retrying = req.sum, req.done, false
	x.calls = slices.DeleteFunc(x.calls, func(c *call) bool { return c.name == "" })
	for _, r := range req.results {
		if i := slices.IndexFunc(x.calls, func(c *call) bool { return c.key == r.key }); i >= 0 {
			x.calls[i].err = r.err
			over = append(over, x.calls[i])
			x.calls = slices.Delete(x.calls, i, i+1)
		}
	}
	return over
}

// thinks tells what came with a request that the turn has taken over, and that the model thinks.
func (x *turn) thinks(over []*call) {
	for _, c := range over {
		if c.done != nil {
			c.done(c.err)
		}
	}
	x.s.Failing(nil, aaep.Text{})
	x.s.State(aaep.StateThinking, aaep.Text{})
}

// wants takes over that a model wants a tool, while it still speaks.
func (x *turn) wants(c *call) {
	done := func(error) {}
	x.tap.mu.Lock()
	if len(x.calls) >= maxCalls { // the results of the oldest never came
		if old := x.calls[0]; old.done != nil {
			done = old.done
		}
		x.calls = slices.Delete(x.calls, 0, 1)
	}
	x.calls = append(x.calls, c)
	x.tap.mu.Unlock()
	done(nil)
}

// forget takes back that a model wants a tool.
func (x *turn) forget(c *call) {
	x.tap.mu.Lock()
	defer x.tap.mu.Unlock()
	x.drop(c)
}

func (x *turn) drop(c *call) {
	x.calls = slices.DeleteFunc(x.calls, func(y *call) bool { return y == c })
}

// answered takes over how an answer ended, and what it wanted.
func (x *turn) answered(wanted []*call, end ending) {
	var runs []*call
	x.tap.mu.Lock()
	for _, c := range wanted {
		switch {
		case end.cause != nil && !c.taken:
			x.drop(c)
		case end.cause == nil && c.name != "" && !x.tap.guarded[c.name]:
			runs = append(runs, c)
		}
	}
	x.tap.mu.Unlock()
	for _, c := range runs {
		x.announce(c)
	}
	x.tap.mu.Lock()
	x.busy--
	x.moves++
	over := x.own && x.busy == 0 && (end.cause != nil || x.idle())
	if over {
		x.tap.remove(x)
	}
	x.tap.mu.Unlock()
	if x.tell(end, over); x.own && !over {
		x.wait(patience, x.giveUp)
	}
}

// announce tells that a tool runs. Its result may have come meanwhile.
func (x *turn) announce(c *call) {
	done, err := x.s.Invoked(producer.Tool{Name: c.name})
	x.tap.mu.Lock()
	waits := slices.Contains(x.calls, c)
	if err != nil {
		x.drop(c)
	} else if waits {
		c.done = done
	}
	x.tap.mu.Unlock()
	if err == nil && !waits {
		done(c.err)
	}
}

// waits reports whether the agent is to move next, with tap.mu held.
func (x *turn) waits() bool { return x.busy == 0 && x.running == 0 }

// idle reports whether nothing is left to wait for, with tap.mu held.
func (x *turn) idle() bool { return x.waits() && len(x.calls) == 0 }

func (x *turn) giveUp() { x.s.Cancel(aaep.CancelledByTimeout, aaep.Text{}) }

// tell says how an answer ended where there is something to say, and ends the session where it is
// over.
func (x *turn) tell(end ending, over bool) {
	var text aaep.Text
	if end.words != none {
		text = x.tap.say(end.words)
	}
	switch {
	case over && errors.Is(end.cause, context.Canceled):
		x.s.Cancel(aaep.CancelledByProducer, text)
	case over && end.cause != nil:
		x.s.Fail(end.cause, text)
	case over:
		x.s.Complete(text)
	case !text.IsZero():
		x.s.Progress(text, aaep.Progress{Description: x.tap.sentence(end.words)}, 0)
		x.s.Failing(end.cause, text) // for an agent that gives up at once
	}
}

// failed takes over that there is no answer. A turn of our own waits for the next try.
func (x *turn) failed(ctx context.Context, resp *http.Response, err error) {
	end, again := ending{words: phrase.ModelUnreachable, cause: &failure{what: "no answer", temporary: true}}, true
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		end, again = ending{words: none, cause: context.Canceled}, false
	case resp != nil:
		end, again = endingOf(resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests && spent(resp) {
			end, _ = endingOf(http.StatusPaymentRequired) // to wait is of no use, though clients do
		}
		again = again && resp.Header.Get("X-Should-Retry") != "false"
	case err != nil:
		if at := (*url.Error)(nil); errors.As(err, &at) {
			err = at.Err // the address may hold a key
		}
		end.cause = &failure{what: err.Error(), temporary: true}
	}
	if !again || !x.own {
		x.answered(nil, end)
		return
	}
	x.tell(end, false)
	x.tap.mu.Lock()
	x.busy--
	x.retrying = true
	x.tap.mu.Unlock()
	x.wait(pause(resp), func() { x.tell(end, true) })
}

// spent reports whether OpenAI says that what has been paid for is used up, which it calls too many
// requests. An error is short, and is read ahead here; the client gets it as it came.
func spent(resp *http.Response) bool {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // an error comes again
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), resp.Body), resp.Body}
	var in struct {
		Error struct {
			Code jsontext.Value `json:"code"`
		} `json:"error"`
	}
	decode(data, &in)
	return words(in.Error.Code) == "insufficient_quota"
}

// wait gives the turn up if nothing moves in it for so long.
func (x *turn) wait(d time.Duration, giveUp func()) {
	x.tap.mu.Lock()
	defer x.tap.mu.Unlock()
	moves := x.moves
	time.AfterFunc(d, func() {
		x.tap.mu.Lock()
		gone := x.moves == moves && x.waits() && slices.Contains(x.tap.turns, x)
		if gone {
			x.tap.remove(x)
		}
		x.tap.mu.Unlock()
		if gone {
			giveUp()
		}
	})
}

// pause is how long the next try is waited for.
func pause(resp *http.Response) time.Duration {
	if resp != nil {
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
			return min(time.Duration(min(s, 3600))*time.Second+grace, maxGrace)
		}
	}
	return grace
}
