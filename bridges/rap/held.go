package rap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/aaep-go/aaep/internal/lockfile"
	"github.com/aaep-go/aaep/producer"
)

// heldCalls remembers which calls are held and which of them were made, in a file if there is one.
// That a call is about to be made is in the file before it is made, so that no restart makes it
// again.
type heldCalls struct {
	mu    sync.Mutex // guards what follows
	file  *os.File   // nil: memory alone
	calls map[callName]*heldCall
	// settled are those that have their outcome, oldest first. They stay known, so that one that is
	// posted again is not made again.
	settled []callName
}

// heldCall is a call that waits for the user's answer or, once that was yes, for its result.
type heldCall struct {
	pass   pass
	sent   bool
	result chan *callback // holds one: the result that the tool server posted
	cancel context.CancelCauseFunc
}

// leftCall is a call that an earlier Tee did not settle.
type leftCall struct {
	pass
	sent bool
}

// entry is a line of the file: the key of the URLs in the first, and then what became of a call.
type entry struct {
	Key  []byte `json:"key,omitzero"`
	Pass *pass  `json:"pass,omitzero"`
	Is   string `json:"is,omitzero"`
}

// What an entry says of its call.
const (
	isHeld    = "held"
	isSent    = "sent"
	isSettled = "settled"
)

// openHeldCalls reads a file, or makes one with a new key, and returns what it leaves to settle. It
// writes the file anew with the key alone: what is left is settled by the caller now.
func openHeldCalls(name string) (h *heldCalls, key []byte, left []leftCall, err error) {
	h = &heldCalls{calls: map[callName]*heldCall{}}
	if name == "" {
		return h, newKey(), nil, nil
	}
	file, err := lockfile.Open(name)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	order, state := []callName{}, map[callName]leftCall{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break // a torn line at the end says nothing: its call was neither held nor made
		}
		var e entry
		if err != nil || json.Unmarshal(line, &e) != nil {
			return nil, nil, nil, errors.New("it is not a file of this command")
		}
		switch {
		case e.Key != nil:
			key = e.Key
		case e.Pass != nil && e.Is == isHeld:
			order = append(order, e.Pass.name())
			state[e.Pass.name()] = leftCall{pass: *e.Pass}
		case e.Pass != nil && e.Is == isSent:
			state[e.Pass.name()] = leftCall{pass: *e.Pass, sent: true}
		case e.Pass != nil:
			delete(state, e.Pass.name())
		}
	}
	if key != nil && len(key) != keySize {
		return nil, nil, nil, errors.New("its key is damaged")
	}
	for _, name := range order {
		if call, is := state[name]; is {
			left = append(left, call)
			delete(state, name)
		}
	}
	if key == nil {
		key = newKey()
	}
	first, err := json.Marshal(entry{Key: key})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.Write(append(first, '\n')) // which appends
	}
	if err = errors.Join(err, file.Sync()); err != nil {
		return nil, nil, nil, err
	}
	h.file = file
	return h, key, left, nil
}

// write appends what became of a call to the file, with h.mu held.
func (h *heldCalls) write(p pass, is string) error {
	if h.file == nil {
		return nil
	}
	line, err := json.Marshal(entry{Pass: &p, Is: is})
	if err == nil {
		_, err = h.file.Write(append(line, '\n'))
	}
	return errors.Join(err, h.file.Sync())
}

// hold takes in a call. fresh is false if a call of this name is held or was made.
func (h *heldCalls) hold(p pass, cancel context.CancelCauseFunc) (call *heldCall, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls[p.name()] != nil {
		return nil, false, nil
	}
	if len(h.calls)-len(h.settled) >= maxHeld {
		return nil, true, fmt.Errorf("%d calls wait already", maxHeld)
	}
	call = &heldCall{pass: p, result: make(chan *callback, 1), cancel: cancel}
	h.calls[p.name()] = call
	return call, true, h.write(p, isHeld)
}

const (
	// maxHeld is how many calls may be held or wait for their results.
	maxHeld = 1024
	// maxSettled is how many calls stay known that have their outcome.
	maxSettled = 64 << 10
)

// send notes that a held call is about to be made. With an error it must not be.
func (h *heldCalls) send(call *heldCall) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if call.sent {
		return errors.New("it was made already")
	}
	if err := h.write(call.pass, isSent); err != nil {
		return err
	}
	call.sent = true
	return nil
}

// settle notes that a call has its outcome.
func (h *heldCalls) settle(call *heldCall) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled = append(h.settled, call.pass.name()); len(h.settled) > maxSettled {
		delete(h.calls, h.settled[0])
		h.settled = h.settled[1:]
	}
	return h.write(call.pass, isSettled)
}

// find returns a call that is held or was made, or nil.
func (h *heldCalls) find(name callName) (call *heldCall, sent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if call = h.calls[name]; call != nil {
		sent = call.sent
	}
	return call, sent
}

// endGroup takes back the calls of a group that are held, and waits for no result any more.
func (h *heldCalls) endGroup(group string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, call := range h.calls {
		if name.group == group {
			call.cancel(errCancelled)
		}
	}
}

// close closes the file.
func (h *heldCalls) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// errCancelled is why a held call is taken back: the runtime said so.
var errCancelled = errors.New("the agent cancelled it")

// ask holds a call until the user has answered, makes it if that was yes, and waits for its result.
// It is a goroutine of its own; body is what the tool server gets.
func (t *Tee) ask(ctx context.Context, s *producer.Session, about producer.Tool, call *heldCall, body []byte) {
	made := false
	defer func() {
		if err := t.held.settle(call); err != nil {
			t.cfg.Logger.Error("rap: the file does not say that a call is settled", "error", err)
		}
	}()
	_, err := s.Tool(ctx, about, func(ctx context.Context) (string, error) {
		if err := t.held.send(call); err != nil {
			return "", err
		}
		made = true
		if err := t.postInvocation(ctx, body); err != nil {
			return "", err
		}
		select {
		case result := <-call.result:
			t.tell(call.pass.Group, func(th *thread) { th.result(result) })
			return result.text(), result.failure()
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	var reached *unreachedError
	switch {
	case err == nil:
	case !made:
		t.refuse(call.pass, refusalOf(err))
	case errors.As(err, &reached):
		t.refuse(call.pass, "the tool server did not take the call: "+reached.Error())
	}
}

// refusalOf returns why a held call was not made, in words for the model.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, producer.ErrRejected):
		return "the user declined this action; it was not done"
	case errors.Is(err, producer.ErrTimedOut):
		return "the user did not answer in time; the action was not done"
	case errors.Is(err, producer.ErrUnreachable):
		return "no user could be asked; the action was not done"
	case errors.Is(err, errCancelled), errors.Is(err, context.Canceled), errors.Is(err, producer.ErrSessionOver):
		return "it was taken back before the user had answered; the action was not done"
	}
	return "the action could not be asked about, and was not done"
}

// refuse posts the result of a call that was not made to the runtime, again after 1 s, 2 s and so
// on where the runtime cannot take it. A runtime that says no to it is not asked again.
func (t *Tee) refuse(p pass, why string) {
	body, err := json.Marshal(struct {
		Type    string `json:"type"`
		GroupID string `json:"group_id"`
		ID      string `json:"id"`
		CallID  string `json:"call_id,omitzero"`
		Text    string `json:"text"`
	}{toolResult, p.Group, p.Call, p.Echo, "Error: " + why})
	if err == nil {
		err = t.postAgain(p.To, body)
	}
	if err != nil {
		t.cfg.Logger.Error("rap: the runtime was not told that a call was not made", "tool", p.Tool, "error", err)
	}
}

// postInvocation posts a held call to the tool server, once.
func (t *Tee) postInvocation(ctx context.Context, body []byte) error {
	t.mu.Lock()
	set := t.tools
	t.mu.Unlock()
	if set == nil {
		return &unreachedError{errors.New("its toolset is not known")}
	}
	status, _, err := t.post(ctx, set.Endpoint, bytes.NewReader(body))
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("it answered %d", status)
	}
	if err != nil {
		return &unreachedError{err}
	}
	return nil
}

// unreachedError says that the tool server did not accept a call.
type unreachedError struct{ error }
