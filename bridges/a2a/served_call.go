package a2a

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
)

const (
	codeParse     = -32700
	codeInvalid   = -32600
	codeParams    = -32602
	codeInternal  = -32603
	codeNoPush    = -32003
	codeVersion   = -32009
	writeDeadline = 30 * time.Second // for a client that does not read
	keepAlive     = 15 * time.Second // of a stream on which nothing happens
)

// A call is one request of a client.
type call struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Message       *message `json:"message"`
		ID            string   `json:"id"`
		Configuration struct {
			Return   bool  `json:"returnImmediately"`
			Blocking *bool `json:"blocking"` // of 0.3
		} `json:"configuration"`
	} `json:"params"`
}

// serveCall reads one request of JSON-RPC from principal, and answers it. A request of another
// form, or of more than maxRequest bytes, gets a status of HTTP; a version that is not spoken, an
// error of JSON-RPC.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, principal string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || kind != "application/json" {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "requests are posted as application/json", http.StatusMethodNotAllowed)
		return
	}
	var c call
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, "the request has more than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		return
	}
	a := answerer{w: w, id: jsontext.Value("null")}
	if err := bridge.Decode(body, &c); err != nil {
		a.writeError(codeParse, "the request cannot be read")
		return
	}
	if len(c.ID) > 0 {
		a.id = c.ID
	}
	v := r.Header.Get("A2A-Version")
	if v != "" && !strings.HasPrefix(v, "1.") && v != "1" && !strings.HasPrefix(v, "0.3") {
		a.writeError(codeVersion, "1.0 and 0.3 are spoken here")
		return
	}
	s.callMethod(&a, r, &c, principal)
}

// callMethod calls the method that a request names, by its name in 1.0 or in 0.3, which decides the
// form of the answer too. A principal sees only its own tasks. An unknown method or task is an
// error of JSON-RPC, which a writes.
func (s *Server) callMethod(a *answerer, r *http.Request, c *call, principal string) {
	method := c.Method
	for newer, older := range methods {
		if method == older {
			method, a.legacy = newer, true
		}
	}
	switch method {
	case "SendMessage", "SendStreamingMessage":
		s.serveMessage(a, r, c, principal, method == "SendStreamingMessage")
	case "GetTask", "CancelTask", "SubscribeToTask":
		t := s.findTask(principal, c.Params.ID)
		switch {
		case t == nil:
			a.writeError(codeNotFound, "there is no such task")
		case method == "CancelTask":
			s.cancelTask(a, r, t)
		case method == "SubscribeToTask":
			if _, isOver, _ := t.updatesAfter(0); isOver {
				a.writeError(codeUnsupported, "the task is over")
				return
			}
			a.streamTask(r, t)
		default:
			task, _ := a.encodeTask(t)
			a.writeResult(task)
		}
	default:
		if strings.Contains(method, "PushNotificationConfig") || strings.Contains(method, "pushNotificationConfig") {
			a.writeError(codeNoPush, "there are no push notifications here")
			return
		}
		a.writeError(codeMethodNotFound, "the method is not known here")
	}
}

// serveMessage starts a task with a message of a client and answers with the task: with its updates
// as they come where stream is set, else when it has ended, or at once where the client asks for
// that.
func (s *Server) serveMessage(a *answerer, r *http.Request, c *call, principal string, stream bool) {
	m := c.Params.Message
	switch {
	case m == nil || m.MessageID == "" || len(m.Parts) == 0:
		a.writeError(codeParams, "a message with an id and parts is needed")
		return
	case m.TaskID != "" && s.findTask(principal, m.TaskID) == nil:
		a.writeError(codeNotFound, "there is no such task")
		return
	case m.TaskID != "":
		a.writeError(codeUnsupported, "a task takes one message; send another with the same contextId and no taskId")
		return
	}
	t, err := s.startTask(principal, *m)
	if err != nil {
		s.cfg.Logger.Warn("a2a: no turn began", "error", err)
		text := "the agent cannot begin now"
		if errors.Is(err, errBusy) || errors.Is(err, errShare) || errors.Is(err, errOver) {
			text = err.Error()
		}
		a.writeError(codeInternal, text)
		return
	}
	if stream {
		a.streamTask(r, t)
		return
	}
	configuration := c.Params.Configuration
	isBlocking := configuration.Blocking == nil || *configuration.Blocking // as 0.3 calls it
	if !configuration.Return && isBlocking {
		http.NewResponseController(a.w).SetWriteDeadline(time.Time{})
		if t.awaitEnd(r.Context()) != nil {
			return // the client is gone; the task goes on
		}
	}
	task, _ := a.encodeTask(t)
	a.writeResult(a.encodeItem("task", task))
}

// cancelTask ends the session of a task, waits until the task shows that, and answers with it. A
// task that is over is an error of JSON-RPC.
func (s *Server) cancelTask(a *answerer, r *http.Request, t *servedTask) {
	if _, isOver, _ := t.updatesAfter(0); isOver {
		a.writeError(codeNotCancelable, "the task is over")
		return
	}
	t.session.Cancel(aaep.CancelledBySystem, bridge.Ours("The agent that asked for it cancelled it."))
	http.NewResponseController(a.w).SetWriteDeadline(time.Time{})
	if t.awaitEnd(r.Context()) != nil {
		return
	}
	task, _ := a.encodeTask(t)
	a.writeResult(task)
}

// An answerer writes the answer to one request.
type answerer struct {
	dialect
	w  http.ResponseWriter
	id jsontext.Value
}

// writeResult answers with the result of the method.
func (a *answerer) writeResult(value any) {
	writeJSON(a.w, map[string]any{"jsonrpc": "2.0", "id": a.id, "result": value})
}

// writeError answers that the method was not done, by a code of JSON-RPC or of A2A.
func (a *answerer) writeError(code int, text string) {
	writeJSON(a.w, map[string]any{"jsonrpc": "2.0", "id": a.id, "error": map[string]any{"code": code, "message": text}})
}

// writeJSON answers with a value. What a client did not read is its own loss.
func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.MarshalWrite(w, value)
}

// streamTask sends the task as it is now, and each update until its end. A client that goes away
// ends the stream and not the task. Every keepAlive a comment shows that the stream lives.
func (a *answerer) streamTask(r *http.Request, t *servedTask) {
	control := http.NewResponseController(a.w)
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-store")
	write := func(text []byte, err error) error {
		if err != nil {
			return err
		}
		control.SetWriteDeadline(time.Now().Add(writeDeadline))
		if _, err := a.w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
	send := func(value any) error {
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.id, "result": value})
		return write(fmt.Appendf(nil, "data: %s\n\n", text), err)
	}
	task, n := a.encodeTask(t)
	if send(a.encodeItem("task", task)) != nil {
		return
	}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		more, isOver, moved := t.updatesAfter(n)
		n += len(more)
		for _, u := range more {
			if send(a.encodeUpdate(t, u)) != nil {
				return
			}
		}
		if isOver {
			return
		}
		select {
		case <-moved:
		case <-alive.C:
			if write([]byte(": still here\n\n"), nil) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
