package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
)

const (
	mcpVersion = "2025-06-18" // notifications of log messages belong to this version and to those before
	mcpTimeout = 30 * time.Second
	maxAnswer  = 32 << 20
)

// An MCPServer is where a server of the Model Context Protocol takes messages over HTTP.
type MCPServer struct {
	URL          string
	Token        string            // sent as a bearer token; empty is none
	Peer         string            // what the server is called in errors, such as swarm
	Experimental map[string]any    // the client's capabilities of that name
	Transport    http.RoundTripper // nil is http.DefaultTransport
}

// An MCPClient is one session with an MCPServer. All its methods may be called at once.
type MCPClient struct {
	server MCPServer
	http   *http.Client

	mu      sync.Mutex
	session string
	calls   int
}

// A RemoteError is what the server answers to a request that it does not fulfil.
type RemoteError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Peer    string `json:"-"`
}

// Error quotes the server's message.
func (e *RemoteError) Error() string {
	return "the " + e.Peer + " reports: " + toolwords.Label(e.Message)
}

// DialMCP begins a session with a server of the Model Context Protocol, and asks for its
// notifications. No redirect is followed, so that the token goes nowhere else. The error says why
// there is no session.
func DialMCP(ctx context.Context, s MCPServer) (*MCPClient, error) {
	c := &MCPClient{server: s, http: NewClient(s.Transport, "server")}
	capabilities := map[string]any{}
	if s.Experimental != nil {
		capabilities["experimental"] = s.Experimental
	}
	params := map[string]any{"protocolVersion": mcpVersion, "capabilities": capabilities,
		"clientInfo": map[string]string{"name": "aaep", "version": aaep.Version}}
	if _, err := c.callMethod(ctx, "initialize", params); err != nil {
		return nil, err
	}
	answer, err := c.postMessage(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	// Some servers keep notifications back until they are asked for, and others do not know this.
	var unknown *RemoteError
	if _, err := c.callMethod(ctx, "logging/setLevel", map[string]string{"level": "info"}); err != nil &&
		!errors.As(err, &unknown) {
		return nil, err
	}
	return c, nil
}

// Ping returns an error if the server cannot be reached, which a stream of notifications does not
// always show. Any answer, also one that refuses the method, shows that it can.
func (c *MCPClient) Ping(ctx context.Context) error {
	var unknown *RemoteError
	if _, err := c.callMethod(ctx, "ping", map[string]any{}); err != nil && !errors.As(err, &unknown) {
		return err
	}
	return nil
}

// CallTool calls a tool of the server, and reads its answer into result. The error is a RemoteError
// where the tool reports one. result is a pointer; what cannot be read into it is ErrUnreadable.
func (c *MCPClient) CallTool(ctx context.Context, name string, arguments, result any) error {
	value, err := c.callMethod(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments})
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
	if err := Decode(value, &answer); err != nil {
		return ErrUnreadable
	}
	text := []byte(answer.Structured)
	if len(text) == 0 && len(answer.Content) > 0 {
		text = []byte(answer.Content[0].Text)
	}
	if answer.IsError {
		return &RemoteError{Message: string(text), Peer: c.server.Peer}
	}
	if Decode(text, result) != nil {
		return ErrUnreadable
	}
	return nil
}

// Errors of answers that are none of the protocol, or longer than is read.
var (
	ErrUnreadable = errors.New("the answer cannot be read")
	ErrTooLong    = errors.New("the answer is too long to be read")
)

// callMethod makes a request and returns its result, which may come as the only answer or on a
// stream, within mcpTimeout. The error is a *RemoteError of the server, or why there is no answer.
func (c *MCPClient) callMethod(ctx context.Context, method string, params any) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, mcpTimeout)
	defer cancel()
	c.mu.Lock()
	c.calls++
	id := c.calls
	c.mu.Unlock()
	answer, err := c.postMessage(ctx, map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	c.mu.Lock()
	c.session = cmp.Or(answer.Header.Get("Mcp-Session-Id"), c.session)
	c.mu.Unlock()
	type response struct {
		ID     int            `json:"id"`
		Result jsontext.Value `json:"result"`
		Error  *RemoteError   `json:"error"`
	}
	var got *response
	errGot := errors.New("the answer came")
	read := func(text []byte) error {
		var r response
		if Decode(text, &r) != nil || r.ID != id {
			return nil // a notification, or the answer to nothing that was asked
		}
		r.Result = bytes.Clone(r.Result) // text is valid until read returns
		got = &r
		return errGot
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/event-stream" {
		err = ReadEvents(answer.Body, read)
	} else {
		var body []byte
		body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
		if len(body) > maxAnswer {
			err = ErrTooLong
		}
		if err == nil {
			err = read(body)
		}
	}
	switch {
	case got == nil:
		return nil, cmp.Or(err, ErrUnreadable)
	case got.Error != nil:
		got.Error.Peer = c.server.Peer
		return nil, got.Error
	}
	return got.Result, nil
}

// Listen gives what the server sends of its own accord to take, until the stream ends. A server
// without such a stream answers 405: then Listen waits for ctx.
func (c *MCPClient) Listen(ctx context.Context, take func([]byte)) error {
	answer, err := c.sendRequest(ctx, http.MethodGet, nil)
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusMethodNotAllowed {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	err = ReadEvents(answer.Body, func(data []byte) error { take(data); return nil })
	return cmp.Or(err, errors.New("the stream of notifications ended"))
}

// postMessage sends a message of JSON-RPC. The caller closes the answer's body.
func (c *MCPClient) postMessage(ctx context.Context, message any) (*http.Response, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return c.sendRequest(ctx, http.MethodPost, body)
}

// sendRequest makes a request in the session. An answer of 300 and above is a StatusError. body is
// nil for a request without one. The caller closes the body of the answer.
func (c *MCPClient) sendRequest(ctx context.Context, method string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.server.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", mcpVersion)
	}
	if c.server.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.server.Token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", WithoutAddress(err))
	}
	if answer.StatusCode >= 300 {
		answer.Body.Close()
		return nil, NewStatusError(answer, "server")
	}
	return answer, nil
}
