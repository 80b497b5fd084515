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
	// retryGrace is how long a failed request may take to be sent again, beside the provider's
	// Retry-After. By themselves the SDKs wait for eight seconds at most.
	retryGrace = 10 * time.Second
	// maxRetryGrace is the most that it may take, whatever Retry-After says.
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
	// Reports that the tool has ended; nil for a guarded tool, which reports that itself.
	complete func(error)
	err      error // what its result came with
	claimed  bool  // it is a guarded tool that has been called
}

// startRequest counts a request of the turn as open, and removes and returns the calls whose
// results come with it. The caller holds tap.mu.
func (x *turn) startRequest(req request) (finished []*call) {
	x.openRequests++
	x.changes++
	x.lastRequest, x.done, x.retrying, x.said = req.sum, req.done, false, req.said
	x.calls = slices.DeleteFunc(x.calls, func(c *call) bool { return c.name == "" })
	for _, r := range req.results {
		if i := slices.IndexFunc(x.calls, func(c *call) bool { return c.key == r.key }); i >= 0 {
			x.calls[i].err = r.err
			finished = append(finished, x.calls[i])
			x.calls = slices.Delete(x.calls, i, i+1)
		}
	}
	return finished
}

// reportThinking completes the finished calls, whose results came with a request, and reports that
// the model thinks.
func (x *turn) reportThinking(finished []*call) {
	for _, c := range finished {
		if c.complete != nil {
			c.complete(c.err)
		}
	}
	x.session.Failing(nil, aaep.Text{})
	x.session.State(aaep.StateThinking, aaep.Text{})
}

// addCall adds a call that a model wants while its answer still comes. Beyond maxCalls, the oldest
// call, whose result never came, counts as ended.
func (x *turn) addCall(c *call) {
	completeOldest := func(error) {}
	x.tap.mu.Lock()
	if len(x.calls) >= maxCalls {
		if oldest := x.calls[0]; oldest.complete != nil {
			completeOldest = oldest.complete
		}
		x.calls = slices.Delete(x.calls, 0, 1)
	}
	x.calls = append(x.calls, c)
	x.tap.mu.Unlock()
	completeOldest(nil)
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

// endAnswer closes an answer with its ending, and announces those of its calls that are not
// guarded. If the turn is over with it, the session is ended; otherwise the results have
// resultTimeout to come.
func (x *turn) endAnswer(calls []*call, end ending) {
	var runs []*call
	x.tap.mu.Lock()
	for _, c := range calls {
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
	isOver := x.isOwned && x.openRequests == 0 && (end.cause != nil || x.isIdle())
	if isOver {
		x.tap.removeTurn(x)
	}
	x.tap.mu.Unlock()
	if x.reportEnding(end, isOver); x.isOwned && !isOver {
		x.giveUpAfter(resultTimeout, x.giveUp)
	}
}

// announceCall announces that a tool runs, and completes it at once if its result has come
// meanwhile. It takes the tap's mu, after the session was told.
func (x *turn) announceCall(c *call) {
	complete, err := x.session.Invoked(producer.Tool{Name: c.name})
	x.tap.mu.Lock()
	awaitsResult := slices.Contains(x.calls, c)
	if err != nil {
		x.dropCall(c)
	} else if awaitsResult {
		c.complete = complete
	}
	x.tap.mu.Unlock()
	if err == nil && !awaitsResult {
		complete(c.err)
	}
}

// isWaiting reports whether the agent is to move next, with tap.mu held.
func (x *turn) isWaiting() bool { return x.openRequests == 0 && x.guardedRunning == 0 }

// isIdle reports whether nothing is left to wait for, with tap.mu held.
func (x *turn) isIdle() bool { return x.isWaiting() && len(x.calls) == 0 }

// giveUp ends the session of a turn whose results never came.
func (x *turn) giveUp() { x.session.Cancel(aaep.CancelledByTimeout, aaep.Text{}) }

// reportEnding announces how an answer ended, if there are words for it. If isOver, it ends the
// session as the answer ended.
func (x *turn) reportEnding(end ending, isOver bool) {
	var text aaep.Text
	if end.words != noWords {
		text = x.tap.localize(end.words)
	}
	switch {
	case isOver && errors.Is(end.cause, context.Canceled):
		x.session.Cancel(aaep.CancelledByProducer, text)
	case isOver && end.cause != nil:
		x.session.Fail(end.cause, text)
	case isOver:
		x.session.Complete(text)
	case !text.IsZero():
		x.session.Progress(text, aaep.Progress{Description: x.tap.firstSentence(end.words)}, 0)
		x.session.Failing(end.cause, text) // for an agent that gives up at once
	}
}

// failRequest handles a request with ctx that got no answer: resp is a response with another status
// than 2xx, or nil, and err the error of sending it. If it may be sent again, a turn that is owned
// here waits for that; otherwise the request ends as an answer does.
func (x *turn) failRequest(ctx context.Context, resp *http.Response, err error) {
	end := ending{words: phrase.ModelUnreachable, cause: &failure{problem: "no answer", temporary: true}}
	mayRetry := true
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		end, mayRetry = ending{words: noWords, cause: context.Canceled}, false
	case resp != nil:
		end, mayRetry = endingOfStatus(resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests && isQuotaSpent(resp) {
			end, _ = endingOfStatus(http.StatusPaymentRequired) // clients try again, though it is of no use
		}
		mayRetry = mayRetry && resp.Header.Get("X-Should-Retry") != "false"
	case err != nil:
		if urlErr := (*url.Error)(nil); errors.As(err, &urlErr) {
			err = urlErr.Err // without the address, which may hold a key
		}
		end.cause = &failure{problem: err.Error(), temporary: true}
	}
	if !mayRetry || !x.isOwned {
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

// giveUpAfter removes the turn and calls giveUp if the agent does nothing for d: no request, answer
// or guarded tool has begun or ended by then.
func (x *turn) giveUpAfter(d time.Duration, giveUp func()) {
	x.tap.mu.Lock()
	defer x.tap.mu.Unlock()
	changes := x.changes
	time.AfterFunc(d, func() {
		x.tap.mu.Lock()
		isAbandoned := x.changes == changes && x.isWaiting() && slices.Contains(x.tap.turns, x)
		if isAbandoned {
			x.tap.removeTurn(x)
		}
		x.tap.mu.Unlock()
		if isAbandoned {
			giveUp()
		}
	})
}

// retryDelay returns how long a failed request may take to be sent again; resp is its response, or
// nil.
func retryDelay(resp *http.Response) time.Duration {
	if resp != nil {
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
			return min(time.Duration(min(s, 3600))*time.Second+retryGrace, maxRetryGrace)
		}
	}
	return retryGrace
}
