package llm

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/aaep-go/aaep/internal/phrase"
)

// A tee is the body of an answer. Whoever reads it gets each piece as the body underneath gave it,
// when it gave it; the tee has then looked at it.
type tee struct {
	body io.ReadCloser
	ctx  context.Context // of the request

	mu     sync.Mutex
	leave  func() bool // stops waiting for the end of ctx
	turn   *turn       // nil once the answer is over
	answer *answer
	hears  hears
	frames *frames // of a streamed answer
	whole  []byte  // one that comes in one piece, so far
	depth  depth   // of it
	unread bool    // it cannot be read here
}

func newTee(ctx context.Context, resp *http.Response, x *turn, d dialect, req request) io.ReadCloser {
	t := &tee{body: resp.Body, ctx: ctx, turn: x, answer: &answer{turn: x, json: req.json}}
	t.hears = d.answer(t.answer, req)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	switch {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		t.unread = true
	case media == "text/event-stream":
		t.frames = &frames{}
	case media == "application/x-ndjson":
		t.frames = &frames{lines: true}
	case media != "application/json":
		t.unread = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave = context.AfterFunc(ctx, func() { // nothing more comes, and not every client closes what it has cancelled
		t.mu.Lock()
		defer t.mu.Unlock()
		t.end(false)
	})
	return t
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 && n <= len(p) {
		t.look(p[:n])
	}
	if err != nil {
		t.end(false)
	}
	return n, err
}

// Close may be called while Read waits.
func (t *tee) Close() error {
	err := t.body.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(true)
	return err
}

func (t *tee) look(p []byte) {
	switch {
	case t.turn == nil || t.unread:
		return
	case t.frames != nil:
		t.frames.feed(p, t.event)
		t.settle()
	case len(t.whole)+len(p) > maxWhole:
		t.unread, t.whole = true, nil
	default:
		t.whole = append(t.whole, p...)
		if t.depth.closes(p) { // many read no further than this
			t.end(false)
		}
	}
}

func (t *tee) event(name string, data []byte) {
	if !t.answer.over {
		t.hears.event(name, data)
	}
}

// end takes over that nothing more comes: after the last byte, because the link broke, or because
// the client has closed it.
func (t *tee) end(closed bool) {
	if t.turn == nil {
		return
	}
	switch {
	case t.unread:
		t.answer.end(ending{words: phrase.AnswerUnread})
	case t.frames != nil:
		t.frames.last(t.event)
		t.hears.done()
	case t.hears.whole(t.whole):
		t.answer.end(ending{words: none})
	}
	switch {
	case t.answer.over:
	case closed || errors.Is(t.ctx.Err(), context.Canceled):
		t.answer.end(ending{words: none, cause: context.Canceled})
	default:
		t.answer.end(ending{words: phrase.AnswerBroken, cause: &failure{what: "the answer broke off", temporary: true}})
	}
	t.settle()
}

// settle tells the turn once that the answer is over.
func (t *tee) settle() {
	if t.turn != nil && t.answer.over {
		x := t.turn
		t.leave()
		t.turn, t.whole, t.frames = nil, nil, nil
		t.answer.close()
		x.answered(t.answer.wanted, t.answer.ending)
	}
}

// depth finds the end of a JSON object or array, in whatever pieces it comes.
type depth struct {
	open            int
	inString, plain bool // plain is the byte after a backslash
}

// closes reports whether the outermost one ends in p.
func (d *depth) closes(p []byte) bool {
	for _, c := range p {
		switch {
		case d.plain:
			d.plain = false
		case d.inString:
			d.plain, d.inString = c == '\\', c != '"'
		case c == '"':
			d.inString = true
		case c == '{' || c == '[':
			d.open++
		case c == '}' || c == ']':
			if d.open--; d.open == 0 {
				return true
			}
		}
	}
	return false
}
