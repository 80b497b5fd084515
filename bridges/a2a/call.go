package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// The errors of A2A that are told apart here.
const (
	codeNotFound       = -32001
	codeNotCancelable  = -32002
	codeUnsupported    = -32004
	codeMethodNotFound = -32601
)

// A remoteError is what the agent answers to a request that it does not fulfil.
type remoteError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error quotes the agent's message.
func (e *remoteError) Error() string {
	return fmt.Sprintf("the agent reports: %s", toolwords.Label(e.Message))
}

// codeOf returns the code of the agent's error that err wraps, or zero where the agent sent none.
func codeOf(err error) int {
	var e *remoteError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// binding returns the binding in which requests are sent now: JSON-RPC or HTTP+JSON, of version 1.0
// or 0.3.
func (a *Agent) binding() binding {
	if a.overREST {
		return httpJSON{}
	}
	return jsonRPC{a.legacy.Load()}
}

// postRequest sends a request, whose method is named as in 1.0, with the token and the version, and
// returns the answer, whose body the caller closes. An answer of 401 or 403 is an error that asks
// for another token; any other status is the caller's to judge.
func (a *Agent) postRequest(ctx context.Context, method string, params any) (*http.Response, error) {
	req, err := a.binding().newRequest(ctx, a.endpoint, method, params)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("A2A-Version", a.Version())
	if slices.ContainsFunc(a.card.Capabilities.Extensions, func(e extension) bool { return e.URI == EngramURI }) {
		req.Header.Set("A2A-Extensions", EngramURI)
		req.Header.Set("X-A2A-Extensions", EngramURI) // as 0.3 calls it
	}
	a.addToken(req)
	answer, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the agent cannot be reached: %w", bridge.WithoutAddress(err))
	}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		answer.Body.Close()
		return nil, fmt.Errorf("the agent answers %s: give it a token that it knows", answer.Status)
	}
	return answer, nil
}

// callMethod sends a request, whose method is named as in 1.0, and returns the result in its
// answer, within callTimeout. The error is the agent's, or why there is no answer.
func (a *Agent) callMethod(ctx context.Context, method string, params any) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := a.postRequest(ctx, method, params)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return a.readResult(answer)
}

// readResult reads an answer, and returns the result in it, or the error that it reports. More than
// maxAnswer bytes is an error.
func (a *Agent) readResult(answer *http.Response) (jsontext.Value, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the agent's answer broke off: %w", err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the agent's answer has more than %d MiB", maxAnswer>>20)
	}
	return a.binding().decodeResult(body, answer.StatusCode)
}

// A stream is a stream of updates. Updates is closed at its end, and err is then why, or nil.
type stream struct {
	updates chan update
	err     error
	cancel  context.CancelFunc
}

// openStream sends a request that begins a stream, on a goroutine, and returns at once. s.updates
// gets each update; it is closed at the end, and s.err says then why it ended. An agent without
// streams answers with one update.
func (a *Agent) openStream(ctx context.Context, method string, params any) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{updates: make(chan update), cancel: cancel}
	take := func(value jsontext.Value, err error) error {
		if err != nil {
			return err
		}
		u, err := readUpdate(value)
		if err != nil {
			a.cfg.Logger.Warn("a2a: the agent sent an update that cannot be read", "error", err)
			u = update{Unreadable: true}
		}
		select {
		case s.updates <- u:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		defer close(s.updates)
		defer cancel()
		answer, err := a.postRequest(ctx, method, params)
		if err != nil {
			s.err = err
			return
		}
		defer answer.Body.Close()
		if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "text/event-stream" {
			s.err = take(a.readResult(answer)) // an error, or the one answer of an agent that has no streams
			return
		}
		s.err = bridge.ReadEvents(answer.Body, func(data []byte) error {
			return take(a.binding().decodeResult(data, answer.StatusCode))
		})
	}()
	return s
}
