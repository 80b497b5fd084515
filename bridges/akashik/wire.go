package akashik

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

const (
	protocolVersion = "0.1.0"
	callTime        = 30 * time.Second
	mostAnswer      = 8 << 20
	highestEpoch    = 1<<53 - 1 // that JSON carries exactly
)

// The codes of a field's errors that mean more than that it did not do what it was asked for.
const (
	codeNotRegistered = "AGENT_NOT_REGISTERED"
	codeTaken         = "AGENT_ID_TAKEN"
	codeUnsupported   = "UNSUPPORTED_OPERATION"
)

// An envelope is a message to the field.
type envelope struct {
	Protocol  string  `json:"protocol"`
	Version   string  `json:"version"`
	ID        string  `json:"id"`
	Operation string  `json:"operation"`
	AgentID   string  `json:"agent_id"`
	SessionID *string `json:"session_id"`
	Epoch     int64   `json:"epoch"`
	Payload   any     `json:"payload"`
}

// A fieldError is what the field answers to an operation that it does not do.
type fieldError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Advice  string `json:"suggested_action"`
}

// Error returns the field's message, code and advice, as far as it sent them, safe to show.
func (e *fieldError) Error() string {
	text := "the field reports: " + cmp.Or(toolwords.Label(e.Message), "no reason") + " (" +
		toolwords.Label(e.Code) + ")"
	if advice := toolwords.Label(e.Advice); advice != "" {
		text += "; it advises: " + advice
	}
	return text
}

// codeOf returns the code of a fieldError, or "".
func codeOf(err error) string {
	var e *fieldError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// A field is the client of one. All its methods may be called at once.
type field struct {
	url, token, agent string
	http              *http.Client

	mu    sync.Mutex
	mcp   *bridge.MCPClient // nil over plain HTTP
	clock int64             // the logical clock of this agent
}

// useTools has the field's tools called from now on.
func (f *field) useTools(tools *bridge.MCPClient) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mcp = tools
}

// callOperation does an operation of the field, over HTTP or its tools of MCP, within callTime, and
// reads its answer into result. id is that of the message: one that is sent again has the id of the
// first, and an empty id stands for a new one.
func (f *field) callOperation(ctx context.Context, operation, id string, payload, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	f.mu.Lock()
	now, tools := f.clock, f.mcp
	f.mu.Unlock()
	message := envelope{Protocol: "akashik", Version: protocolVersion, ID: cmp.Or(id, rand.Text()),
		Operation: operation, AgentID: f.agent, Epoch: now, Payload: payload}
	var answer jsontext.Value
	var err error
	if tools != nil {
		answer, err = callTool(ctx, tools, message)
	} else {
		answer, err = f.postOperation(ctx, message)
	}
	if err != nil {
		return err
	}
	return f.readAnswer(answer, result)
}

// callTool does an operation by the field's tool of the Model Context Protocol, for callOperation.
// A tool's error that is one of the field is a *fieldError.
func callTool(ctx context.Context, tools *bridge.MCPClient, message envelope) (answer jsontext.Value, err error) {
	err = tools.CallTool(ctx, "akashik_"+strings.ToLower(message.Operation), message, &answer)
	var remote *bridge.RemoteError
	if errors.As(err, &remote) {
		var e fieldError
		if bridge.Decode([]byte(remote.Message), &e) == nil && e.Code != "" {
			return nil, &e
		}
	}
	return answer, err
}

// postOperation sends an operation to the field over HTTP, and returns its answer or a *fieldError.
// An answer of more than mostAnswer bytes is an error, and so is another status, a
// *bridge.StatusError.
func (f *field) postOperation(ctx context.Context, message envelope) (jsontext.Value, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimSuffix(f.url, "/")+"/v1/"+strings.ToLower(message.Operation), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header = f.addToken(r.Header)
	answer, err := f.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the field cannot be reached: %w", bridge.WithoutAddress(err))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the field's answer broke off: %w", err)
	case len(text) > mostAnswer:
		return nil, fmt.Errorf("the field's answer has more than %d MiB", mostAnswer>>20)
	case answer.StatusCode >= 300:
		var e fieldError
		if bridge.Decode(text, &e) == nil && e.Code != "" {
			return nil, &e
		}
		return nil, bridge.NewStatusError(answer, "field")
	}
	return text, nil
}

// addToken adds the token to the headers of a request.
func (f *field) addToken(h http.Header) http.Header {
	if f.token != "" {
		h.Set("Authorization", "Bearer "+f.token)
	}
	return h
}

// readAnswer reads an answer, which may come bare or in an envelope, into result, and moves the
// clock to its epoch. The error is a *fieldError, that of another protocol or version, or
// bridge.ErrUnreadable.
func (f *field) readAnswer(answer jsontext.Value, result any) error {
	var head struct {
		Protocol string         `json:"protocol"`
		Version  string         `json:"version"`
		Payload  jsontext.Value `json:"payload"`
		Epoch    jsontext.Value `json:"epoch"`
		Code     string         `json:"code"`
	}
	if bridge.Decode(answer, &head) != nil {
		return bridge.ErrUnreadable
	}
	if head.Protocol != "" || head.Version != "" {
		if head.Protocol != "akashik" || head.Version != protocolVersion {
			return fmt.Errorf("the field speaks %s %s, want akashik %s",
				toolwords.Label(head.Protocol), toolwords.Label(head.Version), protocolVersion)
		}
		if answer = head.Payload; len(answer) == 0 || bridge.Decode(answer, &head) != nil {
			return bridge.ErrUnreadable
		}
	}
	if epoch, ok := epochOf(head.Epoch); ok {
		f.advanceClock(epoch)
	}
	if head.Code != "" {
		var e fieldError
		if bridge.Decode(answer, &e) == nil {
			return &e
		}
	}
	if bridge.Decode(answer, result) != nil {
		return bridge.ErrUnreadable
	}
	return nil
}

// advanceClock moves the clock past an epoch that the field sent.
func (f *field) advanceClock(epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = min(max(f.clock, epoch)+1, highestEpoch)
}

// pushAddress returns the URL of the link for notifications, from an answer of the field. It must
// be at the field's own host, because the token is sent there.
func (f *field) pushAddress(address string) (*url.URL, error) {
	base, err := url.Parse(f.url)
	if err != nil {
		return nil, err
	}
	resolved, err := base.Parse(address)
	if err != nil || resolved.User != nil {
		return nil, errors.New("the address at which the field pushes cannot be read")
	}
	web := map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[resolved.Scheme]
	if resolved.Host != base.Host || web != base.Scheme {
		return nil, fmt.Errorf("the field pushes at %s, which is not where it is itself; nothing is shown there",
			toolwords.Label(resolved.Scheme+"://"+resolved.Host))
	}
	return resolved, nil
}

// unquoteValue returns a number or truth value as text, without the quotes of one that was sent as
// a JSON string.
func unquoteValue(v jsontext.Value) string {
	var text string
	if v.Kind() == '"' && json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

// epochOf reads an epoch: a whole number from 0 to highestEpoch. ok is false for anything else.
func epochOf(v jsontext.Value) (int64, bool) {
	n, err := strconv.ParseFloat(unquoteValue(v), 64)
	if err != nil || n < 0 || n > highestEpoch || n != math.Trunc(n) {
		return 0, false
	}
	return int64(n), true
}

// relevanceOf reads a relevance from 0 to 1. Where it is missing or invalid it is 1, so that
// nothing is hidden; ok is false for an invalid one.
func relevanceOf(v jsontext.Value) (relevance float64, ok bool) {
	n, err := strconv.ParseFloat(unquoteValue(v), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1 {
		return 1, len(v) == 0
	}
	return n, true
}
