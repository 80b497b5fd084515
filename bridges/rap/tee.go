package rap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// The paths that the protocol fixes.
const (
	wellKnown   = "/.well-known/rap-toolset"
	invokePath  = "/invoke"
	cancelPath  = "/cancel_tool_call"
	closePath   = "/close_thread"
	callbackURL = "callback" // the kinds of our own URLs
	choiceURL   = "choice"
)

// reserved is the tool with which a runtime shows its model an event; no peer may call it.
const reserved = "receive_event__injected"

// ServeHTTP takes what the runtime and the tool server post. A body that is none of the protocol is
// answered with 400, one that is too long with 413, a URL that was not given out with 404; what is
// passed on is answered as the other side answers it, and with 502 where that cannot be reached.
func (t *Tee) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, sealed, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == wellKnown && r.Method == http.MethodGet:
		t.serveToolset(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "messages are posted here", http.StatusMethodNotAllowed)
	case r.URL.Path == invokePath:
		t.serveInvocation(w, r)
	case r.URL.Path == cancelPath || r.URL.Path == closePath:
		t.serveNotice(w, r)
	case kind == callbackURL || kind == choiceURL:
		p, err := t.sealer.openRef(kind, sealed)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusNotFound)
		case kind == callbackURL:
			t.serveCallback(w, r, p)
		default:
			t.serveChoice(w, r, p)
		}
	default:
		http.Error(w, "there are "+wellKnown+", "+invokePath+", "+cancelPath+" and "+closePath, http.StatusNotFound)
	}
}

// readBody reads a request's body of at most so many bytes. Where it cannot, it answers 413 or 400
// and reports false.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, fmt.Sprintf("the message has more than %d bytes", most), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the message broke off", http.StatusBadRequest)
	}
	return body, err == nil
}

// serveToolset answers with the toolset of the tool server, fetched anew, with an endpoint that has
// its calls come here; 502 where it cannot be had.
func (t *Tee) serveToolset(w http.ResponseWriter, r *http.Request) {
	body, err := t.fetchToolset(r.Context())
	if err == nil {
		body, err = replaceMember(body, "endpoint", t.cfg.URL+invokePath)
	}
	if err != nil {
		t.cfg.Logger.Warn("rap: the toolset could not be had", "error", err)
		http.Error(w, toolcall.Line(err.Error()), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

// fetchToolset fetches the toolset, keeps what it says of its tools for findTool, and returns it as
// it is. A toolset of more than maxToolset bytes, or of another form, is an error.
func (t *Tee) fetchToolset(ctx context.Context) ([]byte, error) {
	address := t.toolset.JoinPath(wellKnown)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the tool server answered %d to %s", resp.StatusCode, address)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxToolset+1))
	if err == nil && len(body) > maxToolset {
		err = fmt.Errorf("the toolset has more than %d bytes", maxToolset)
	}
	if err != nil {
		return nil, err
	}
	set, err := decodeToolset(body, t.toolset)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.tools = set
	t.mu.Unlock()
	return body, nil
}

// knowTools returns the endpoint of the tool server, for which it fetches the toolset if that was
// not fetched yet, as where a runtime kept it from before.
func (t *Tee) knowTools(ctx context.Context) (endpoint string, err error) {
	t.mu.Lock()
	set := t.tools
	t.mu.Unlock()
	if set == nil {
		if _, err := t.fetchToolset(ctx); err != nil {
			return "", err
		}
		t.mu.Lock()
		set = t.tools
		t.mu.Unlock()
	}
	return set.Endpoint, nil
}

// readInvocation reads a call of a tool from a request; body is the call as it came. Where it is
// invalid, it answers why and reports false.
func readInvocation(w http.ResponseWriter, r *http.Request) (in *invocation, body []byte, ok bool) {
	if body, ok = readBody(w, r, maxInvocation); !ok {
		return nil, nil, false
	}
	in = &invocation{}
	err := bridge.Decode(body, in)
	if err == nil {
		err = bridge.CheckMembers(body, "operation", "arguments", "id", "call_id", "callback_url", "group_id")
	}
	if err == nil {
		err = in.checkInvocation()
	}
	if err != nil {
		refuseInvocation(w, err)
		return nil, nil, false
	}
	return in, body, true
}

// refuseInvocation answers why a message is no call of a tool.
func refuseInvocation(w http.ResponseWriter, err error) {
	http.Error(w, "this is no call of a tool: "+toolcall.Line(err.Error()), http.StatusBadRequest)
}

// serveInvocation takes a runtime's call: it sends it on to the tool server at once, or holds it
// until the user answers; then it answers 200, and the result is posted. Another call with a held
// call's id gets 409, and one whose tool server cannot be reached gets 502.
func (t *Tee) serveInvocation(w http.ResponseWriter, r *http.Request) {
	in, body, ok := readInvocation(w, r)
	if !ok {
		return
	}
	p := in.makeRef()
	sealed, err := t.sealURL(callbackURL, p)
	if err == nil {
		body, err = replaceMember(body, "callback_url", sealed)
	}
	if err != nil {
		refuseInvocation(w, err)
		return
	}
	if call, _ := t.held.Find(p.Name()); call != nil && !call.Record.isSameCall(p) {
		http.Error(w, "another call of this group had the same id, so this one was not passed on", http.StatusConflict)
		return
	}
	endpoint, err := t.knowTools(r.Context())
	if err != nil {
		http.Error(w, "the tool server cannot be reached: "+toolcall.Line(err.Error()), http.StatusBadGateway)
		return
	}
	tool, held, err := t.describeCall(in)
	if held {
		t.holdCall(p, tool, body, err)
		return // with 200: what comes of it is posted
	}
	t.queueForGroup(in.GroupID, func(th *thread) { th.BeginCall(in.ID, tool) })
	t.relayMessage(w, r, endpoint, body)
}

// holdCall has the user asked about a call, or refuses it if that cannot be, for unaskable or for
// another reason. A call that is posted again is not asked about again, and not made again.
func (t *Tee) holdCall(p callRef, tool producer.Tool, body []byte, unaskable error) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	call, fresh, err := t.held.Hold(p, cancel)
	if !fresh {
		cancel(nil)
		return
	}
	if unaskable == nil {
		unaskable = err
	}
	isTold := unaskable == nil && t.queueForGroup(p.Group, func(th *thread) {
		s := th.Session()
		if s == nil {
			t.work.Go(func() { t.refuseCall(p, "the user could not be asked; the action was not done") })
			return
		}
		t.work.Go(func() {
			defer cancel(nil)
			t.askHeld(ctx, s, tool, call, body)
		})
	})
	if isTold {
		return
	}
	cancel(nil)
	if call != nil {
		t.held.Settle(call)
	}
	why := "too much waits to be asked; the action was not done"
	if unaskable != nil {
		why = unaskable.Error() + ", so the user could not be asked; the action was not done"
		name := tool.Title
		t.queueForGroup(p.Group, func(th *thread) {
			th.AnnounceNotice("The agent wanted to use " + name + ", but " + unaskable.Error() + ". It was not done.")
		})
	}
	t.work.Go(func() { t.refuseCall(p, why) })
}

// notice says that a call is cancelled or a group is over.
type notice struct {
	ThreadID   string `json:"thread_id"`
	ToolCallID string `json:"tool_call_id"`
	body       []byte // as it came
}

// readNotice reads a notice from a request, or answers why it cannot and reports false.
func readNotice(w http.ResponseWriter, r *http.Request) (n notice, ok bool) {
	if n.body, ok = readBody(w, r, maxInvocation); !ok {
		return n, false
	}
	if bridge.Decode(n.body, &n) != nil || n.ThreadID == "" {
		http.Error(w, "this is no notice: thread_id must be there", http.StatusBadRequest)
		return n, false
	}
	return n, true
}

// serveNotice passes on that a call is cancelled or a group is over, and withdraws what is held of
// it. A call that is still held is not passed on, for the tool server does not know it.
func (t *Tee) serveNotice(w http.ResponseWriter, r *http.Request) {
	notice, ok := readNotice(w, r)
	if !ok {
		return
	}
	if r.URL.Path == closePath {
		t.held.EndGroup(notice.ThreadID)
		t.endThread(notice.ThreadID)
	} else {
		call, sent := t.held.Find(toolcall.Name{Group: notice.ThreadID, ID: notice.ToolCallID})
		if call != nil && !sent {
			call.Cancel(toolcall.ErrCancelled)
			return // the tool server does not know it
		}
		t.queueForGroup(notice.ThreadID, func(th *thread) { th.cancelCall(notice.ToolCallID) })
	}
	t.relayMessage(w, r, t.toolset.JoinPath(r.URL.Path).String(), notice.body)
}

// serveCallback forwards to the runtime what a tool server posts for the call p, and announces it
// once the runtime has it. A message that names another call is answered as if it had been taken,
// and dropped: only the call's own URL can end it.
func (t *Tee) serveCallback(w http.ResponseWriter, r *http.Request, p callRef) {
	body, ok := readBody(w, r, maxCallback)
	if !ok {
		return
	}
	var c callback
	if err := bridge.Decode(body, &c); err != nil || c.Type == "" {
		http.Error(w, "this is no message of a tool", http.StatusBadRequest)
		return
	}
	call, sent := t.held.Find(p.Name())
	isHeld := call != nil && !sent // the tool server does not know it
	namesOther := c.GroupID != p.Group || c.callID() != "" && c.callID() != p.Call
	if namesOther || isHeld {
		t.cfg.Logger.Warn("rap: a message of a tool for a call that is not its own goes nowhere", "tool",
			toolwords.Label(p.Tool))
		return
	}
	answers := callRef{To: c.ResponseURL, Group: p.Group, Call: p.Call, Tool: p.Tool}
	if c.Type == userChoice {
		err := checkPeerURL("response_url", c.ResponseURL)
		var sealed string
		if err == nil {
			sealed, err = t.sealURL(choiceURL, answers)
		}
		if err == nil {
			body, err = replaceMember(body, "response_url", sealed)
		}
		if err != nil {
			http.Error(w, "this is no choice: "+toolcall.Line(err.Error()), http.StatusBadRequest)
			return
		}
	}
	switch {
	case !t.relayMessage(w, r, p.To, body):
	case c.Type == userChoice:
		t.askChoice(answers, &c)
	default:
		t.announceCallback(p, &c)
	}
}

// announceCallback announces a message that the runtime has received; the result of a held call
// goes to the goroutine that waits for it.
func (t *Tee) announceCallback(p callRef, c *callback) {
	if call, _ := t.held.Find(p.Name()); call != nil && c.Type == toolResult {
		select {
		case call.Result <- c:
		default: // a second result of one call changes nothing
			return
		}
	}
	t.queueForGroup(p.Group, func(th *thread) {
		switch c.Type {
		case toolResult:
			th.endCall(p.Call, c)
			if c.Subscription {
				th.noteSubscription(p.Call, p.Tool)
			}
		case subscriptionEvent:
			th.announceEvent(c)
		case signIn:
			th.signIn(c.AuthURL)
		}
	})
}

// relayMessage passes a message on and answers as the other side does. It reports whether that took
// it.
func (t *Tee) relayMessage(w http.ResponseWriter, r *http.Request, to string, body []byte) bool {
	status, answer, err := t.postMessage(r.Context(), to, bytes.NewReader(body))
	if err != nil {
		t.cfg.Logger.Warn("rap: the other side cannot be reached", "error", err)
		http.Error(w, "the other side cannot be reached", http.StatusBadGateway)
		return false
	}
	w.WriteHeader(status)
	w.Write(answer)
	return status/100 == 2
}

// askHeld holds a call until the user has answered, makes it if that was yes, and waits for its
// result. It is a goroutine of its own; body is what the tool server gets.
func (t *Tee) askHeld(ctx context.Context, s *producer.Session, tool producer.Tool, call *heldCall, body []byte) {
	sent, err := t.held.Ask(ctx, s, tool, call,
		func(ctx context.Context) error { return t.postInvocation(ctx, body) },
		func(result *callback) (string, error) {
			t.queueForGroup(call.Record.Group, func(th *thread) { th.announceResult(result) })
			return result.resultText(), result.resultFailure()
		})
	var post *postError
	switch {
	case err == nil:
	case !sent:
		t.refuseCall(call.Record, toolcall.Refusal(err))
	case errors.Is(err, toolcall.ErrNotMade):
		t.refuseCall(call.Record, "the tool server did not take the call, and the action was not done: "+err.Error())
	case errors.As(err, &post):
		t.refuseCall(call.Record,
			"it is not known whether the tool server took the call; the action may have been done: "+err.Error())
	}
}

// heldCall is a call that is held or was made.
type heldCall = toolcall.Call[callRef, *callback]

// refuseCall posts the result of a call that was not made to the runtime, again after 1 s, 2 s and
// so on where the runtime cannot take it. A runtime that says no to it is not asked again.
func (t *Tee) refuseCall(p callRef, why string) {
	body, err := json.Marshal(struct {
		Type    string `json:"type"`
		GroupID string `json:"group_id"`
		ID      string `json:"id"`
		CallID  string `json:"call_id,omitzero"`
		Text    string `json:"text"`
	}{toolResult, p.Group, p.Call, p.Echo, "Error: " + why})
	if err == nil {
		err = t.postAgain(t.ctx, p.To, body, attempts)
	}
	if err != nil {
		t.cfg.Logger.Error("rap: the runtime was not told that a call was not made", "tool", p.Tool, "error", err)
	}
}

// postInvocation posts an accepted call to the tool server, once. The error is a *postError, and
// also toolcall.ErrNotMade where that server has certainly not taken it.
func (t *Tee) postInvocation(ctx context.Context, body []byte) error {
	t.mu.Lock()
	set := t.tools
	t.mu.Unlock()
	if set == nil {
		return &postError{errors.New("its toolset is not known"), true}
	}
	status, _, err := t.once.postMessage(ctx, set.Endpoint, bytes.NewReader(body))
	var dial *net.OpError
	switch {
	case err != nil:
		return &postError{bridge.WithoutAddress(err), errors.As(err, &dial) && dial.Op == "dial"}
	case status/100 != 2:
		return &postError{fmt.Errorf("it answered %d", status), status/100 == 4}
	}
	return nil
}

// postError says that the tool server did not accept a call, or is not known to have.
type postError struct {
	error
	notMade bool
}

// Is reports whether the error is toolcall.ErrNotMade.
func (e *postError) Is(target error) bool { return e.notMade && target == toolcall.ErrNotMade }

// describeCall returns a tool call as it is announced or asked about, and whether it is held until
// the user answers: where the toolset marks the tool as destructive, or does not have it. The error
// says why a held call cannot be asked about: the user must hear all of it.
func (t *Tee) describeCall(in *invocation) (about producer.Tool, held bool, err error) {
	known := t.findTool(in.Operation)
	about = producer.Tool{Name: in.Operation, Title: toolcall.ToolName(in.Operation), Risk: aaep.RiskMedium,
		Timeout: t.cfg.AnswerTime}
	switch {
	case known == nil || known.Annotations.Destructive:
		held = true
	case known.Annotations.ReadOnly:
		about.Risk = aaep.RiskLow
	default:
		held = t.cfg.AskAll
	}
	if !held {
		return about, false, nil
	}
	description := ""
	if known != nil {
		description = known.Description
	}
	about.Irreversible = known == nil || known.Annotations.Destructive
	about, err = toolcall.Question(about, description, in.Arguments)
	return about, true, err
}

// findTool returns what the toolset says of a tool, or nil for one that it does not list. It takes
// t.mu.
func (t *Tee) findTool(name string) *tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil {
		return nil
	}
	for i := range t.tools.Tools {
		if t.tools.Tools[i].Name == name {
			return &t.tools.Tools[i]
		}
	}
	return nil
}
