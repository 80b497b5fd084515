package wake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

const (
	mcpVersion = "2025-06-18" // notifications of wakes belong to this version and to those before
	mcpTimeout = 30 * time.Second
	mcpPing    = 30 * time.Second // between two looks whether the server is there
	mostAnswer = 4 << 20
)

// A connection is one session of the Model Context Protocol over HTTP.
type connection struct {
	url, token string
	http       *http.Client
	session    string
	calls      int
}

// A remoteError is what the server answers to a request that it does not fulfil.
type remoteError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *remoteError) Error() string { return "the swarm reports: " + toolwords.Label(e.Message) }

// openConnection begins a session with the server at an address. No redirect is followed, so that
// the token goes nowhere else.
func openConnection(ctx context.Context, s Server) (*connection, error) {
	c := &connection{url: s.URL, token: s.Token, http: bridge.NewClient(nil, "server")}
	events := []string{"wake/" + sentToMe, "wake/" + taskState, "wake/" + permission, "wake/" + digest}
	about := map[string]any{"protocolVersion": mcpVersion,
		"clientInfo": map[string]string{"name": "aaep", "version": aaep.Version},
		"capabilities": map[string]any{"experimental": map[string]any{
			"neo-wake-substrate": map[string]any{"version": "1.0", "supportedEvents": events}}}}
	if _, err := c.call(ctx, "initialize", about); err != nil {
		return nil, err
	}
	answer, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	// Some servers keep notifications back until they are asked for, and others do not know this.
	var unknown *remoteError
	if _, err := c.call(ctx, "logging/setLevel", map[string]string{"level": "info"}); err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	return c, nil
}

// ping reports that the server is gone, which a stream of notifications does not always do.
func (c *connection) ping(ctx context.Context) error {
	var unknown *remoteError
	if _, err := c.call(ctx, "ping", map[string]any{}); err != nil && !errors.As(err, &unknown) {
		return err
	}
	return nil
}

// manage calls the server's tool for wake subscriptions, and reads its answer into result.
func (c *connection) manage(ctx context.Context, arguments map[string]any, result any) error {
	value, err := c.call(ctx, "tools/call", map[string]any{"name": "manage_wake_subscription", "arguments": arguments})
	if err != nil {
		return err
	}
	var answer struct {
		IsError    bool           `json:"isError"`
		Structured jsontext.Value `json:"structuredContent"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := bridge.Decode(value, &answer); err != nil {
		return errUnreadable
	}
	text := []byte(answer.Structured)
	if len(text) == 0 && len(answer.Content) > 0 {
		text = []byte(answer.Content[0].Text)
	}
	if answer.IsError {
		return &remoteError{Message: string(text)}
	}
	if bridge.Decode(text, result) != nil {
		return errUnreadable
	}
	return nil
}

var errUnreadable = errors.New("the swarm's answer cannot be read")

// call makes a request and returns its result, which may come as the only answer or on a stream.
func (c *connection) call(ctx context.Context, method string, params any) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, mcpTimeout)
	defer cancel()
	c.calls++
	answer, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": c.calls, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	c.session = cmp.Or(answer.Header.Get("Mcp-Session-Id"), c.session)
	type response struct {
		ID     int            `json:"id"`
		Result jsontext.Value `json:"result"`
		Error  *remoteError   `json:"error"`
	}
	var got *response
	errGot := errors.New("the answer came")
	read := func(text []byte) error {
		var r response
		if bridge.Decode(text, &r) != nil || r.ID != c.calls {
			return nil // a notification, or the answer to nothing that was asked
		}
		r.Result = bytes.Clone(r.Result) // text is valid until read returns
		got = &r
		return errGot
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/event-stream" {
		err = bridge.ReadEvents(answer.Body, read)
	} else {
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(answer.Body, mostAnswer)); err == nil {
			err = read(body)
		}
	}
	switch {
	case got == nil:
		return nil, cmp.Or(err, errUnreadable)
	case got.Error != nil:
		return nil, got.Error
	}
	return got.Result, nil
}

// listen gives what the server sends of its own accord to take, until the stream ends. A server
// without such a stream answers 405: then listen waits for ctx.
func (c *connection) listen(ctx context.Context, take func([]byte)) error {
	answer, err := c.send(ctx, http.MethodGet, nil)
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusMethodNotAllowed {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	err = bridge.ReadEvents(answer.Body, func(data []byte) error { take(data); return nil })
	return cmp.Or(err, errors.New("the stream of notifications ended"))
}

func (c *connection) post(ctx context.Context, message any) (*http.Response, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, http.MethodPost, body)
}

// A statusError is an answer of HTTP that is none of the protocol.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string {
	if e.code == http.StatusUnauthorized || e.code == http.StatusForbidden {
		return "the server answers " + e.text + ": give it a token that it knows"
	}
	return "the server answers " + e.text
}

func (c *connection) send(ctx context.Context, method string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", mcpVersion)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", bridge.WithoutAddress(err))
	}
	if answer.StatusCode >= 300 {
		answer.Body.Close()
		return nil, &statusError{answer.StatusCode, answer.Status}
	}
	return answer, nil
}
