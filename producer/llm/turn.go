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
	retryGrace    = 10 * time.Second
	maxRetryGrace = 70 * time.Second
	// resultTimeout is how long the results of tools may take that are not guarded.
	resultTimeout = 10 * time.Minute
)

// A turn is a session as the tap sees it: the requests to the model that belong to it, and the
// tools that it wants.
type turn struct {
	tap     *Tap
	session *producer.Session
	isOwned bool    // begun and ended here
	from    program // whose requests they are
	said    string  // names the conversation of the newest request; see request

	// Requests whose answer is not whole yet.
	openRequests   int
	guardedRunning int               // guarded tools that run, or ask
	changes        int               // grows with each request, answer and guarded tool
	lastRequest    [sha256.Size]byte // the sum of the newest request
	done           <-chan struct{}   // of the newest request's context
	retrying       bool              // the newest request failed, and may be sent again
	calls          []*call           // wanted, and not known to be over, oldest first
}

// A call is a tool that a model wants. One without a name only shows to which turn the next request
// belongs.
type call struct {
	key, name string
	// Tells that it is over; nil for a guarded tool, which tells it itself.
	complete func(error)
	err      error // what its result came with
	claimed  bool  // it is a guarded tool that has been called
}

// startRequest notes a request, with tap.mu held, and returns the calls whose results come with it.
func (x *turn) startRequest(req request) (over []*call) {
	x.openRequests++
	x.changes++
	x.lastRequest, x.done, x.retrying, x.said = req.sum, req.done, false, req.said
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

// reportThinking completes the calls whose results came with a request, and tells that the model
// thinks.
func (x *turn) reportThinking(over []*call) {
	for _, c := range over {
		if c.complete != nil {
			c.complete(c.err)
		}
	}
	x.session.Failing(nil, aaep.Text{})
	x.session.State(aaep.StateThinking, aaep.Text{})
}

// addCall notes a call that a model wants while its answer still comes.
func (x *turn) addCall(c *call) {
	done := func(error) {}
	x.tap.mu.Lock()
	if len(x.calls) >= maxCalls { // the results of the oldest never came
		if old := x.calls[0]; old.complete != nil {
			done = old.complete
		}
		x.calls = slices.Delete(x.calls, 0, 1)
	}
	x.calls = append(x.calls, c)
	x.tap.mu.Unlock()
	done(nil)
}

// forgetCall takes back that a model wants a call.
func (x *turn) forgetCall(c *call) {
	x.tap.mu.Lock()
	defer x.tap.mu.Unlock()
	x.dropCall(c)
}

// dropCall is forgetCall with tap.mu held.
func (x *turn) dropCall(c *call) {
	x.calls = slices.DeleteFunc(x.calls, func(y *call) bool { return y == c })
}

// endAnswer notes how an answer ended and announces the calls that it wanted. It ends the session
// where the turn is over.
func (x *turn) endAnswer(wanted []*call, end ending) {
	var runs []*call
	x.tap.mu.Lock()
	for _, c := range wanted {
		switch {
		case end.cause != nil && !c.claimed:
			x.dropCall(c)
		case end.cause == nil && c.name != "" && !x.tap.guarded[c.name]:
			runs = append(runs, c)
		}
	}
	x.tap.mu.Unlock()
	for _, c := range runs {
		x.announceCall(c)
	}
	x.tap.mu.Lock()
	x.openRequests--
	x.changes++
	over := x.isOwned && x.openRequests == 0 && (end.cause != nil || x.isIdle())
	if over {
		x.tap.removeTurn(x)
	}
	x.tap.mu.Unlock()
	if x.reportEnding(end, over); x.isOwned && !over {
		x.giveUpAfter(resultTimeout, x.giveUp)
	}
}

// announceCall announces that a tool runs. Its result may have come meanwhile.
func (x *turn) announceCall(c *call) {
	done, err := x.session.Invoked(producer.Tool{Name: c.name})
	x.tap.mu.Lock()
	waits := slices.Contains(x.calls, c)
	if err != nil {
		x.dropCall(c)
	} else if waits {
		c.complete = done
	}
	x.tap.mu.Unlock()
	if err == nil && !waits {
		done(c.err)
	}
}

// isWaiting reports whether the agent is to move next, with tap.mu held.
func (x *turn) isWaiting() bool { return x.openRequests == 0 && x.guardedRunning == 0 }

// isIdle reports whether nothing is left to wait for, with tap.mu held.
func (x *turn) isIdle() bool { return x.isWaiting() && len(x.calls) == 0 }

func (x *turn) giveUp() { x.session.Cancel(aaep.CancelledByTimeout, aaep.Text{}) }

// reportEnding says how an answer ended where there is something to say, and ends the session if
// over.
func (x *turn) reportEnding(end ending, over bool) {
	var text aaep.Text
	if end.words != noWords {
		text = x.tap.localize(end.words)
	}
	switch {
	case over && errors.Is(end.cause, context.Canceled):
		x.session.Cancel(aaep.CancelledByProducer, text)
	case over && end.cause != nil:
		x.session.Fail(end.cause, text)
	case over:
		x.session.Complete(text)
	case !text.IsZero():
		x.session.Progress(text, aaep.Progress{Description: x.tap.firstSentence(end.words)}, 0)
		x.session.Failing(end.cause, text) // for an agent that gives up at once
	}
}

// failRequest notes that a request got no answer. A turn that is owned here waits for the next try.
func (x *turn) failRequest(ctx context.Context, resp *http.Response, err error) {
	end, again := ending{words: phrase.ModelUnreachable, cause: &failure{what: "no answer", temporary: true}}, true
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		end, again = ending{words: noWords, cause: context.Canceled}, false
	case resp != nil:
		end, again = endingOfStatus(resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests && isQuotaSpent(resp) {
			end, _ = endingOfStatus(http.StatusPaymentRequired) // to wait is of no use, though clients do
		}
		again = again && resp.Header.Get("X-Should-Retry") != "false"
	case err != nil:
		if at := (*url.Error)(nil); errors.As(err, &at) {
			err = at.Err // the address may hold a key
		}
		end.cause = &failure{what: err.Error(), temporary: true}
	}
	if !again || !x.isOwned {
		x.endAnswer(nil, end)
		return
	}
	x.reportEnding(end, false)
	x.tap.mu.Lock()
	x.openRequests--
	x.retrying = true
	x.tap.mu.Unlock()
	x.giveUpAfter(retryDelay(resp), func() { x.reportEnding(end, true) })
}

// isQuotaSpent reports whether OpenAI says that the paid quota is used up, which it answers as too
// many requests. The error is short and is read ahead here; the client gets it as it came.
func isQuotaSpent(resp *http.Response) bool {
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
	decodeLenient(data, &in)
	return textOf(in.Error.Code) == "insufficient_quota"
}

// giveUpAfter calls giveUp if nothing changes in the turn for d.
func (x *turn) giveUpAfter(d time.Duration, giveUp func()) {
	x.tap.mu.Lock()
	defer x.tap.mu.Unlock()
	moves := x.changes
	time.AfterFunc(d, func() {
		x.tap.mu.Lock()
		gone := x.changes == moves && x.isWaiting() && slices.Contains(x.tap.turns, x)
		if gone {
			x.tap.removeTurn(x)
		}
		x.tap.mu.Unlock()
		if gone {
			giveUp()
		}
	})
}

// retryDelay returns how long the next try is waited for.
func retryDelay(resp *http.Response) time.Duration {
	if resp != nil {
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
			return min(time.Duration(min(s, 3600))*time.Second+retryGrace, maxRetryGrace)
		}
	}
	return retryGrace
}
