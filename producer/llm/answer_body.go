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

// An answerBody is the body of an answer. Its reader gets each piece as the body underneath gave
// it, at the same time; the answerBody has looked at it before.
type answerBody struct {
	body io.ReadCloser
	ctx  context.Context // of the request

	mu           sync.Mutex
	stopWatch    func() bool // stops waiting for the end of ctx
	turn         *turn       // nil once the answer is over
	answer       *answer
	reader       answerReader
	splitter     *eventSplitter // of a streamed answer
	whole        []byte         // an answer in one piece, so far
	depth        jsonDepth      // of whole
	decoder      *gzipDecoder   // of a compressed answer
	isUnreadable bool           // the answer cannot be read here
}

// newAnswerBody wraps the body of resp, the answer to req, so that what the client reads of it is
// followed in the turn x. The Content-Type decides how the answer is read; an answer of another
// type or coding passes unread. When ctx ends, the answer has broken off.
func newAnswerBody(ctx context.Context, resp *http.Response, x *turn, d dialect, req request) io.ReadCloser {
	t := &answerBody{body: resp.Body, ctx: ctx, turn: x, answer: &answer{turn: x, json: req.json}}
	t.reader = d.answer(t.answer, req)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	switch {
	case coding != "" && !strings.EqualFold(coding, "identity") && !strings.EqualFold(coding, "gzip"):
		t.isUnreadable = true
	case media == "text/event-stream":
		t.splitter = &eventSplitter{}
	case media == "application/x-ndjson":
		t.splitter = &eventSplitter{isLines: true}
	case media != "application/json":
		t.isUnreadable = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if strings.EqualFold(coding, "gzip") && !t.isUnreadable {
		t.decoder = newGzipDecoder()
	}
	t.stopWatch = context.AfterFunc(ctx, func() {
		// nothing more comes, and not every client closes what it has cancelled
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endBody(false)
	})
	return t
}

// Read reads from the body underneath, and looks at what came before it returns that. The client
// gets the bytes and the error unchanged.
func (t *answerBody) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 && n <= len(p) {
		t.inspectBytes(p[:n])
	}
	if err != nil {
		t.endBody(false)
	}
	return n, err
}

// Close closes the body underneath, and ends the answer if it is not over. It may be called while
// Read waits.
func (t *answerBody) Close() error {
	err := t.body.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endBody(true)
	return err
}

// inspectBytes parses the next bytes of the body, which may be compressed. Once something cannot be
// read, the rest passes unread. The caller holds mu.
func (t *answerBody) inspectBytes(p []byte) {
	switch {
	case t.turn == nil || t.isUnreadable:
	case t.decoder == nil:
		t.inspectText(p)
	default:
		readable := t.decoder.decode(p, func(text []byte) bool {
			t.inspectText(text)
			return t.turn != nil && !t.isUnreadable
		})
		t.isUnreadable = t.isUnreadable || !readable
	}
}

// inspectText parses the next bytes of the answer, decompressed: events of a stream at once, an
// answer in one piece when it is whole. The caller holds mu.
func (t *answerBody) inspectText(p []byte) {
	switch {
	case t.splitter != nil:
		t.splitter.splitEvents(p, t.passEvent)
		t.reportEnd()
	case len(t.whole)+len(p) > maxWhole:
		t.isUnreadable, t.whole = true, nil
	default:
		t.whole = append(t.whole, p...)
		if t.depth.closesIn(p) { // many clients do not read on to the end of the body
			t.endBody(false)
		}
	}
}

// passEvent gives one event to the reader, unless the answer is over.
func (t *answerBody) passEvent(name string, data []byte) {
	if !t.answer.ended {
		t.reader.readEvent(name, data)
	}
}

// endBody handles that nothing more comes: after the last byte, because the link broke, or, with
// closed, because the client closed the body. The answer is ended if it was not. The caller holds
// mu.
func (t *answerBody) endBody(closed bool) {
	if t.turn == nil {
		return
	}
	switch {
	case t.isUnreadable:
		t.answer.setEnding(ending{words: phrase.AnswerUnread})
	case t.splitter != nil:
		t.splitter.splitLast(t.passEvent)
		t.reader.finishStream()
	case t.reader.readWhole(t.whole):
		t.answer.setEnding(ending{words: noWords})
	}
	switch {
	case t.answer.ended:
	case closed || errors.Is(t.ctx.Err(), context.Canceled):
		t.answer.setEnding(ending{words: noWords, cause: context.Canceled})
	default:
		t.answer.setEnding(ending{words: phrase.AnswerBroken,
			cause: &failure{problem: "the answer broke off", temporary: true}})
	}
	t.reportEnd()
}

// reportEnd reports to the turn, once, that the answer is over, if it has ended. The caller holds
// mu.
func (t *answerBody) reportEnd() {
	if t.turn != nil && t.answer.ended {
		x := t.turn
		t.stopWatch()
		t.turn, t.whole, t.splitter = nil, nil, nil
		if t.decoder != nil {
			t.decoder.stop()
		}
		t.answer.closeOpen()
		x.endAnswer(t.answer.calls, t.answer.ending)
	}
}

// A jsonDepth finds the end of a JSON object or array, in whatever pieces it comes.
type jsonDepth struct {
	open            int
	inString, plain bool // plain is the byte after a backslash
}

// closesIn reports whether the outermost object or array ends in p, the next bytes of a text of
// JSON.
func (d *jsonDepth) closesIn(p []byte) bool {
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
