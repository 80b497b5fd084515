// Package toolcall is what the bridges share that stand between an agent and its tools: the calls
// that are held, and what became of each, in a file; in which words a call is told and asked about;
// and why one was not made, in words for a model. It knows no protocol of the agent's: a bridge
// decides which calls are held, and how one reaches its tool.
package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/producer"
)

// Name names a call: its id is unique in its group alone.
type Name struct{ Group, ID string }

// Record is what the file keeps of a call, as JSON.
type Record interface {
	Name() Name
}

// Held remembers which calls are held and which of them were made, in a file if there is one. That
// a call is about to be made is in the file before it is made, so that no restart makes it again.
// P is what is kept of a call, R its result. All its methods may be called at once.
type Held[P Record, R any] struct {
	logger *slog.Logger

	mu    sync.Mutex // guards what follows
	file  *os.File   // nil: memory alone
	calls map[Name]*Call[P, R]
	// settled are those that have their outcome, oldest first. They stay known, so that one that is
	// posted again is not made again.
	settled []Name
}

// Call is a call that waits for the user's answer or, once that was yes, for its result.
type Call[P Record, R any] struct {
	Record P
	Result chan R // holds one: what the tool answered
	Cancel context.CancelCauseFunc
	sent   bool // guarded by Held.mu
}

// Left is a call that an earlier process did not settle. Sent says that it may have been made.
type Left[P Record] struct {
	Record P
	Sent   bool
}

// entry is a line of the file: the caller's key in the first, and then what became of a call.
type entry[P Record] struct {
	Key  []byte `json:"key,omitzero"`
	Pass *P     `json:"pass,omitempty"`
	Is   string `json:"is,omitzero"`
}

// What an entry says of its call.
const (
	isHeld    = "held"
	isSent    = "sent"
	isSettled = "settled"
)

// Open reads a file, or makes one with a key of the caller's, and returns the key that is in it and
// what it leaves to settle, each of which stays in the file until SettleLeft or Hold has it.
// Without a file the key is fresh.
func Open[P Record, R any](name string, fresh []byte, logger *slog.Logger) (h *Held[P, R], key []byte, left []Left[P],
	err error) {
	h = &Held[P, R]{logger: logger, calls: map[Name]*Call[P, R]{}}
	if name == "" {
		return h, fresh, nil, nil
	}
	file, content, err := bridge.OpenKept(name)
	if err != nil {
		return nil, nil, nil, err
	}
	key, left, err = readEntries[P](content)
	switch {
	case err != nil:
	case key == nil:
		key = fresh
	case len(key) != len(fresh):
		err = errors.New("its key is damaged, or it is of another bridge")
	}
	if err == nil {
		content, err = encodeEntries(key, left)
	}
	if err == nil {
		err = bridge.ReplaceContent(file, content)
	}
	if err != nil {
		file.Close()
		return nil, nil, nil, err
	}
	h.file = file
	return h, key, left, nil
}

// readEntries returns the key in a file, nil if there is none, and the calls that are not settled,
// in the order in which they were held. A torn line at the end is ignored: its call was neither
// held nor made.
func readEntries[P Record](content []byte) (key []byte, left []Left[P], err error) {
	order, state := []Name{}, map[Name]Left[P]{}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	if len(content) > 0 && len(whole) == 0 {
		return nil, nil, errNotOurs
	}
	for line := range bytes.Lines(whole) {
		var e entry[P]
		if json.Unmarshal(line, &e) != nil {
			return nil, nil, errNotOurs
		}
		switch {
		case e.Key != nil:
			key = e.Key
		case e.Pass == nil:
		case e.Is == isHeld || e.Is == isSent:
			order = append(order, (*e.Pass).Name())
			state[(*e.Pass).Name()] = Left[P]{Record: *e.Pass, Sent: e.Is == isSent}
		default:
			delete(state, (*e.Pass).Name())
		}
	}
	for _, name := range order {
		if call, known := state[name]; known {
			left = append(left, call)
			delete(state, name)
		}
	}
	return key, left, nil
}

var errNotOurs = errors.New("it is not a file of this command")

// encodeEntries returns the content of a file with a key and the calls that are not settled, a line
// for each.
func encodeEntries[P Record](key []byte, left []Left[P]) ([]byte, error) {
	all := []entry[P]{{Key: key}}
	for i := range left {
		state := isHeld
		if left[i].Sent {
			state = isSent
		}
		all = append(all, entry[P]{Pass: &left[i].Record, Is: state})
	}
	var content bytes.Buffer
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		content.Write(append(line, '\n'))
	}
	return content.Bytes(), nil
}

// SettleLeft records that the outcome of a call which an earlier process left was announced.
func (h *Held[P, R]) SettleLeft(call Left[P]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writeSettled(call.Record)
}

// writeSettled appends to the file that a call has its outcome. The caller holds h.mu.
func (h *Held[P, R]) writeSettled(p P) {
	if err := h.writeEntry(p, isSettled); err != nil {
		h.logger.Error("the file of held calls does not say that a call is settled", "error", err)
	}
}

// writeEntry appends the state of a call to the file, and syncs it, so that it outlives a crash;
// without a file it does nothing. The caller holds h.mu.
func (h *Held[P, R]) writeEntry(p P, state string) error {
	if h.file == nil {
		return nil
	}
	line, err := json.Marshal(entry[P]{Pass: &p, Is: state})
	if err == nil {
		_, err = h.file.Write(append(line, '\n'))
	}
	return errors.Join(err, h.file.Sync())
}

// Hold adds a call that waits for the user's answer. fresh is false, and call nil, if one of this
// name was added before. cancel ends the waiting.
func (h *Held[P, R]) Hold(p P, cancel context.CancelCauseFunc) (call *Call[P, R], fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls[p.Name()] != nil {
		return nil, false, nil
	}
	if len(h.calls)-len(h.settled) >= maxHeld {
		return nil, true, fmt.Errorf("%d calls wait already", maxHeld)
	}
	call = &Call[P, R]{Record: p, Result: make(chan R, 1), Cancel: cancel}
	h.calls[p.Name()] = call
	return call, true, h.writeEntry(p, isHeld)
}

const (
	// maxHeld is how many calls may be held or wait for their results.
	maxHeld = 1024
	// maxSettled is how many calls stay known that have their outcome.
	maxSettled = 64 << 10
)

// markSent records, in the file too, that a held call is about to be made. With an error it must
// not be made. A call that was made already is an error. It takes h.mu.
func (h *Held[P, R]) markSent(call *Call[P, R]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if call.sent {
		return errors.New("it was made already")
	}
	if err := h.writeEntry(call.Record, isSent); err != nil {
		return err
	}
	call.sent = true
	return nil
}

// Settle records that a call has its outcome; Ask calls it by itself. Beyond maxSettled such calls
// the oldest is forgotten, and could be held anew. It takes h.mu.
func (h *Held[P, R]) Settle(call *Call[P, R]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled = append(h.settled, call.Record.Name()); len(h.settled) > maxSettled {
		delete(h.calls, h.settled[0])
		h.settled = h.settled[1:]
	}
	h.writeSettled(call.Record)
}

// Find returns the call of a name, which is held or, with sent, was made; nil where there is none.
func (h *Held[P, R]) Find(name Name) (call *Call[P, R], sent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if call = h.calls[name]; call != nil {
		sent = call.sent
	}
	return call, sent
}

// EndGroup cancels the held calls of a group; nothing waits for their results any more.
func (h *Held[P, R]) EndGroup(group string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, call := range h.calls {
		if name.Group == group {
			call.Cancel(ErrCancelled)
		}
	}
}

// Close closes the file, if there is one.
func (h *Held[P, R]) Close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// Ask holds a call until the user has answered, makes it if that was yes, and waits for its result,
// of which read returns the text and the failure. make returns ErrNotMade if the call has certainly
// reached no tool. made says that the call was or may have been
// made; where it was not, Refusal says why, in words for a model. The caller's goroutine waits.
func (h *Held[P, R]) Ask(ctx context.Context, s *producer.Session, tool producer.Tool, call *Call[P, R],
	make func(context.Context) error, read func(R) (string, error)) (made bool, err error) {
	defer h.Settle(call)
	_, err = s.Tool(ctx, tool, func(ctx context.Context) (string, error) {
		if err := h.markSent(call); err != nil {
			return "", err
		}
		made = true
		err := make(ctx)
		if err == nil {
			select {
			case result := <-call.Result:
				return read(result)
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		if !errors.Is(err, ErrNotMade) { // what follows says that it failed, which is not known
			h.announceUnknown(s, tool)
		}
		return "", err
	})
	return made, err
}

// announceUnknown announces that a call may have been made, before the end of the call is
// announced.
func (h *Held[P, R]) announceUnknown(s *producer.Session, tool producer.Tool) {
	sentence := tool.Title + " may have been done, or not: what came of it is not known."
	err := s.Progress(bridge.Ours(sentence), aaep.Progress{Description: sentence}, 0)
	if err != nil && !errors.Is(err, producer.ErrSessionOver) {
		h.logger.Error("that a call may have been made was not told", "error", err)
	}
}

var (
	// ErrCancelled is why a held call is taken back: the agent said so.
	ErrCancelled = errors.New("the agent cancelled it")
	// ErrNotMade says that a call which was allowed has certainly reached no tool.
	ErrNotMade = errors.New("the call was not made")
)

// Refusal returns the reason why a held call was not made, in words for a model; err is that of
// Ask. Each ends by saying that it was not done.
func Refusal(err error) string {
	switch {
	case errors.Is(err, producer.ErrRejected):
		return "the user declined this action; it was not done"
	case errors.Is(err, producer.ErrTimedOut):
		return "the user did not answer in time; the action was not done"
	case errors.Is(err, producer.ErrUnreachable):
		return "no user could be asked; the action was not done"
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled), errors.Is(err, producer.ErrSessionOver):
		return "it was taken back before the user had answered; the action was not done"
	}
	return "the action could not be asked about, and was not done"
}

// AfterRestart returns what became of a call that an earlier process left, as sentences for a
// person. name is the tool's.
func (l Left[P]) AfterRestart(name string) string {
	if l.Sent {
		return "This bridge was stopped after " + name + " had been allowed. It may have been done, or not."
	}
	return "This bridge was stopped before " + name + " was allowed. It was not done."
}
