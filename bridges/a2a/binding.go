package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
)

// A binding is how the requests of A2A are written as HTTP, and how their answers are read. Methods
// are named as in 1.0.
type binding interface {
	// newRequest returns a request to the agent's endpoint, without headers of its own.
	newRequest(ctx context.Context, endpoint, method string, params any) (*http.Request, error)
	// decodeResult returns the result in an answer's body or in one message of a stream, or the
	// error that it reports. The status is the answer's.
	decodeResult(body []byte, status int) (jsontext.Value, error)
}

// jsonRPC is the binding of both versions: everything is posted to one address.
type jsonRPC struct{ legacy bool } // it speaks 0.3

type rpcRequest struct {
	JSONRPC string `json:"jsonrpc"`
	ID      string `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type rpcResponse struct {
	Result jsontext.Value `json:"result"`
	Error  *remoteError   `json:"error"`
}

// newRequest returns the POST that calls a method of 1.0, under its other name where the agent
// speaks 0.3.
func (b jsonRPC) newRequest(ctx context.Context, endpoint, method string, params any) (*http.Request, error) {
	if b.legacy {
		method = cmp.Or(methods[method], method) // extensions have names of their own
	}
	body, err := json.Marshal(rpcRequest{"2.0", rand.Text(), method, params})
	if err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
}

// decodeResult returns the result in the body of a response of JSON-RPC, as it was written. The
// error is the agent's, or, for a body that cannot be read, one that names the response's status.
func (jsonRPC) decodeResult(body []byte, status int) (jsontext.Value, error) {
	var r rpcResponse
	if err := bridge.Decode(body, &r); err != nil {
		return nil, newUnreadableError(status)
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Result, nil
}

// httpJSON is the binding HTTP+JSON of 1.0: each method has a path below the agent's address, and
// results stand alone. Extensions have no methods in it.
type httpJSON struct{}

// newRequest returns the request of HTTP that calls a method of A2A at endpoint: its verb and path,
// with params as the body unless the path has all of them. A method that has no path, such as one
// of JSON-RPC alone, is an error.
func (httpJSON) newRequest(ctx context.Context, endpoint, method string, params any) (*http.Request, error) {
	verb, path := http.MethodPost, ""
	switch p := params.(type) {
	case sendParams:
		path = map[string]string{"SendMessage": "/message:send", "SendStreamingMessage": "/message:stream"}[method]
	case taskParams:
		path, params = "/tasks/"+url.PathEscape(p.ID), nil
		switch method {
		case "GetTask":
			verb = http.MethodGet
		case "CancelTask":
			path += ":cancel"
		case "SubscribeToTask":
			path += ":subscribe"
		}
	case pushParams:
		path = "/tasks/" + url.PathEscape(p.TaskID) + "/pushNotificationConfigs"
	}
	if path == "" {
		return nil, fmt.Errorf("%s needs JSON-RPC, and the agent offers HTTP+JSON alone", method)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	if params == nil {
		return http.NewRequestWithContext(ctx, verb, u.String(), nil)
	}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(ctx, verb, u.String(), bytes.NewReader(body))
}

// reasons are the codes of JSON-RPC for the reasons that HTTP+JSON gives instead.
var reasons = map[string]int{
	"TASK_NOT_FOUND":        codeNotFound,
	"TASK_NOT_CANCELABLE":   codeNotCancelable,
	"UNSUPPORTED_OPERATION": codeUnsupported,
	"METHOD_NOT_FOUND":      codeMethodNotFound,
}

// decodeResult returns the body of a response, which is the result, or the agent's error in it.
// Statuses that a server without the method answers are codeMethodNotFound.
func (httpJSON) decodeResult(body []byte, status int) (jsontext.Value, error) {
	var r struct {
		Error *struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	err := bridge.Decode(body, &r)
	switch {
	case err == nil && r.Error != nil:
		problem := &remoteError{Message: r.Error.Message}
		for _, d := range r.Error.Details {
			problem.Code = cmp.Or(problem.Code, reasons[d.Reason])
		}
		return nil, problem
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented:
		return nil, &remoteError{codeMethodNotFound, http.StatusText(status)}
	case err != nil || status >= http.StatusBadRequest:
		return nil, newUnreadableError(status)
	}
	return body, nil
}

// newUnreadableError says that an answer, of this status, is none of the protocol's.
func newUnreadableError(status int) error {
	return fmt.Errorf("the agent's answer, %d %s, cannot be read", status, http.StatusText(status))
}
