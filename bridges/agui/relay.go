package agui

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

const (
	maxResumptions = 100              // of one run
	keepAlive      = 15 * time.Second // between the comments that keep the link to the app while the person is asked
)

// relayStream copies the events of a run to the web app until it ends, and announces them. Where
// the user answers an interrupt, the run that resumes it continues the same stream. The error is
// that of the link to the agent.
func (x *run) relayStream(app io.Writer, body io.ReadCloser) error {
	for resumed := 0; ; resumed++ {
		stop, err := x.passEvents(app, body, resumed > 0)
		body.Close()
		if stop == nil {
			return err
		}
		answers, done, ok := x.askWhileAlive(app, stop.interrupts)
		if !ok || resumed >= maxResumptions {
			done(errors.New("agui: the web app is to ask"))
			app.Write(stop.raw)
			x.endRun(nil, "Answer it in the app.")
			return nil
		}
		if body, err = x.resumeRun(answers); err != nil {
			done(err)
			x.reportFailure(app, err)
			return nil
		}
		done(nil) // of a call the result is yet to come, and completes it
	}
}

var (
	errUnserved = &failure{"the agent did not begin a run"}
	errBroken   = &failure{"the agent broke off"}
	errGone     = &failure{"the web app is gone"}
)

// A failure is one that may pass.
type failure struct{ problem string }

// Error names the problem.
func (f *failure) Error() string { return "agui: " + f.problem }

// Temporary reports true: the run may be tried again.
func (f *failure) Temporary() bool { return true }

// A stop is the event with which a run ended, to ask.
type stop struct {
	raw        []byte // as the web app would have it
	interrupts []interrupt
}

// passEvents passes on events until the stream ends, and the session with it, or until a run stops
// to ask what can be asked here. stop is what it asks; it is nil at the end. resumed says that the
// run goes on after answers, so that the app sees one run. The error is that of the stream or the
// app.
func (x *run) passEvents(app io.Writer, body io.Reader, resumed bool) (*stop, error) {
	ended := false
	chunkOf := "" // the id of the message or call that chunks without one belong to
	for frames := newFrameReader(body); ; {
		raw, data, readErr := frames.nextFrame()
		var e event
		if data != nil && !ended && bridge.Decode(data, &e) == nil {
			switch {
			case resumed && e.Type == "RUN_STARTED":
				continue // for the web app the run goes on
			case resumed && e.Type == "RUN_FINISHED":
				raw = x.asOwnRun(raw, data)
			}
			interrupts, canAsk := e.interrupts(), !x.transport.cfg.Observe
			switch {
			case len(interrupts) > 0 && canAsk:
				return &stop{bytes.Clone(raw), interrupts}, nil
			case len(interrupts) > 0:
				x.announceInterrupts(interrupts)
			}
			if id := e.MessageID + e.ToolCallID; id != "" && strings.HasSuffix(e.Type, "_CHUNK") {
				chunkOf = id
			}
			x.history.recordEvent(&e, chunkOf)
			ended = x.followEvent(&e)
		}
		if len(raw) > 0 {
			if _, err := app.Write(raw); err != nil { // the app is gone
				x.endRun(errGone, "")
				return nil, err
			}
		}
		if readErr != nil {
			if !ended {
				x.endRun(errBroken, "The agent broke off before its end.")
			}
			if readErr == io.EOF {
				readErr = nil
			}
			return nil, readErr
		}
	}
}

// asOwnRun returns the frame of an event with the run id that the web app knows, or raw where the
// event in data cannot have one.
func (x *run) asOwnRun(raw, data []byte) []byte {
	rewritten, err := withRunID(data, x.input.RunID)
	if err != nil {
		return raw
	}
	return fmt.Appendf(nil, "data: %s\n\n", rewritten)
}

// followEvent announces an event in the run's session, and reports whether it ended the run.
func (x *run) followEvent(e *event) bool {
	switch e.Type {
	case "RUN_FINISHED":
		x.endRun(nil, "")
	case "RUN_ERROR":
		x.endRun(errAgent, "The agent reports an error: "+words.Sentence(toolwords.Label(e.Message)))
	default:
		x.announceEvent(e)
		return false
	}
	return true
}

// resumeRun sends the run's request once more with the answers, as a run with a new id that goes
// on, and returns its stream, which the caller closes. A reply that is no stream is an error.
func (x *run) resumeRun(answers []resumeEntry) (io.ReadCloser, error) {
	body, err := x.history.resumptionBody(rand.Text(), answers)
	if err != nil {
		return nil, err
	}
	resp, err := x.transport.cfg.Transport.RoundTrip(withBody(x.request, body))
	if err != nil {
		return nil, err
	}
	if !isStream(resp) {
		resp.Body.Close()
		return nil, fmt.Errorf("agui: the agent answered %s", resp.Status)
	}
	return resp.Body, nil
}

// reportFailure ends a run that could not be resumed, for the web app and for the person.
func (x *run) reportFailure(app io.Writer, err error) {
	const says = "The agent could not go on after the answer."
	data, _ := json.Marshal(map[string]string{"type": "RUN_ERROR", "message": says})
	fmt.Fprintf(app, "data: %s\n\n", data)
	x.endRun(err, says)
}

// askWhileAlive calls askInterrupts, and meanwhile writes comments to the web app so that its link
// stays alive; where the app is gone, the questions are withdrawn. The results are askInterrupts's.
func (x *run) askWhileAlive(app io.Writer, interrupts []interrupt) (answers []resumeEntry, done func(error), ok bool) {
	ctx, cancel := context.WithCancel(x.ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(keepAlive)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := io.WriteString(app, ": the user is asked\n\n"); err != nil {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	answers, done, ok = x.askInterrupts(ctx, interrupts)
	cancel()
	beating.Wait()
	return answers, done, ok
}
