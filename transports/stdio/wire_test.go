//go:build unix

package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// raw is one end of a link, and the streams of the peer at the other.
type raw struct {
	transports.Conn
	t   *testing.T
	in  *os.File // to the end
	out *bufio.Reader
}

// rawProducer returns a producer's end whose subscriber is the test.
func rawProducer(t *testing.T) *raw {
	childIn, in := newPipe(t)
	out, childOut := newPipe(t)
	return &raw{acceptEnd(t, childIn, childOut), t, in, bufio.NewReader(out)}
}

// rawSubscriber returns a subscriber's end whose producer is the test.
func rawSubscriber(t *testing.T) *raw {
	from, in := newPipe(t)
	out, to := newPipe(t)
	c := newConn(&frames{in: from, out: to}, "")
	t.Cleanup(func() { c.Close() })
	return &raw{c, t, in, bufio.NewReader(out)}
}

// writeLine sends a line to the end.
func (r *raw) writeLine(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Error(err)
	}
}

// wantLine reads a line that the end has written, which must be want.
func (r *raw) wantLine(want string) {
	r.t.Helper()
	got, err := r.readLine()
	if err != nil || got != want+"\n" {
		r.t.Fatalf("the line is %.300q, %v; want %q", got, err, want)
	}
}

// readLine returns the next line from the end.
func (r *raw) readLine() (string, error) {
	late := time.AfterFunc(time.Minute, func() { r.Conn.Close() })
	defer late.Stop()
	return r.out.ReadString('\n')
}

// wantMessage receives a message at the end, which must be want.
func (r *raw) wantMessage(want string) {
	r.t.Helper()
	if got, err := receiveSoon(r.t, r); err != nil || string(got) != want {
		r.t.Fatalf("Receive = %.300q, %v; want %q", got, err, want)
	}
}

// send has the end send a message.
func (r *raw) send(msg string) {
	r.t.Helper()
	if err := r.Send(r.t.Context(), []byte(msg)); err != nil {
		r.t.Errorf("Send(%.100q) = %v", msg, err)
	}
}

const (
	asks       = `{"type":"subscription.request"}`
	renegs     = `{"type":"subscription.renegotiate","subscription_id":"s","capabilities":{}}`
	accepts    = `{"type":"subscription.accepted"}`
	rejects    = `{"type":"subscription.rejected"}`
	closes     = `{"type":"subscription.close","subscription_id":"s"}`
	event      = `{"type":"aaep:agent.state.changed"}`
	replies    = `{"type":"confirmation.reply"}`
	clarifies  = `{"type":"clarification.reply"}`
	pingLine   = `{"jsonrpc":"2.0","id":"p","method":"aaep.ping"}`
	pongLine   = `{"jsonrpc":"2.0","id":"p","result":{}}`
	eventLine  = `{"jsonrpc":"2.0","method":"aaep.event","params":` + event + `}`
	closeLine  = `{"jsonrpc":"2.0","method":"aaep.close","params":` + closes + `}`
	repliesRPC = `{"jsonrpc":"2.0","method":"aaep.reply","params":` + replies + `}`
)

// STDIO-003, STDIO-005, STDIO-006, STDIO-007, TR-004: what a subscriber writes.
func TestSubscriberWrites(t *testing.T) {
	r := rawSubscriber(t)
	for _, tc := range [][2]string{
		{asks, `{"jsonrpc":"2.0","id":1,"method":"aaep.subscribe","params":` + asks + `}`},
		{renegs, `{"jsonrpc":"2.0","id":2,"method":"aaep.renegotiate","params":` + renegs + `}`},
		{replies, repliesRPC},
		{clarifies, `{"jsonrpc":"2.0","method":"aaep.reply","params":` + clarifies + `}`},
		// STDIO-001, TR-005
		{"{\n \"type\": \"x\"\r\n}", `{"jsonrpc":"2.0","method":"aaep.reply","params":{  "type": "x"  }}`},
		{closes, closeLine},
	} {
		r.send(tc[0])
		r.wantLine(tc[1])
	}
}

// STDIO-002, STDIO-004, STDIO-007: what a producer writes. A rejection is a result, and each answer
// has its request's id.
func TestProducerWrites(t *testing.T) {
	r := rawProducer(t)
	r.writeLine(`{"jsonrpc":"2.0","id":"a\"<1>","method":"aaep.subscribe","params":` + asks + `}`)
	r.wantMessage(asks)
	r.writeLine(`{"jsonrpc":"2.0","id":-7,"method":"aaep.renegotiate","params":` + renegs + `}`)
	r.wantMessage(renegs)
	r.send(event)
	r.wantLine(eventLine)
	r.send(accepts)
	r.wantLine(`{"jsonrpc":"2.0","id":"a\"<1>","result":` + accepts + `}`)
	r.send(rejects)
	r.wantLine(`{"jsonrpc":"2.0","id":-7,"result":` + rejects + `}`)
	r.send(closes)
	r.wantLine(closeLine)
}

// STDIO-006, STDIO-008, D-68: a reply is a notification that nothing answers; with an id it gets a
// constant; so does a ping.
func TestReplies(t *testing.T) {
	r := rawProducer(t)
	r.writeLine(repliesRPC)
	r.wantMessage(replies)
	r.writeLine(`{"jsonrpc":"2.0","id":5,"method":"aaep.reply","params":` + clarifies + `}`)
	r.wantMessage(clarifies)
	r.wantLine(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	r.writeLine(`{"jsonrpc":"2.0","method":"aaep.ping"}`)
	r.writeLine(closeLine)
	r.wantMessage(closes)
	r.writeLine(pingLine)
	r.in.Close() // STDIO-009: who asks and hangs up is answered all the same
	if _, err := receiveSoon(t, r); err != io.EOF {
		t.Errorf("Receive = %v, want io.EOF", err)
	}
	r.Close()
	r.wantLine(pongLine)
	if line, err := r.readLine(); err != io.EOF {
		t.Errorf("there is more: %q", line)
	}
}

// What a subscriber reads, D-68: results and events, bare lines too; a JSON-RPC error is a
// rejection without a known reason.
func TestSubscriberReads(t *testing.T) {
	r := rawSubscriber(t)
	rejected := func(why string) {
		t.Helper()
		got, err := receiveSoon(t, r)
		m, _ := aaep.Decode(got)
		if no, ok := m.(*aaep.SubscriptionRejected); err != nil || !ok || no.ReasonCode != aaep.ReasonUnknown ||
			no.ReasonMessage != why {
			t.Fatalf("got %q, %v; want a rejection: %s", got, err, why)
		}
	}
	r.send(asks)
	r.readLine()
	r.writeLine(`{"jsonrpc":"2.0","id":9,"result":` + rejects + `}`)           // of no request
	r.writeLine(`{"jsonrpc":"2.0","id":"1","result":` + rejects + `}`)         // text is no number
	r.writeLine(`{"id":1,"result":` + accepts + `,"jsonrpc":"2.0","more":{}}`) // any order
	r.wantMessage(accepts)
	r.writeLine(`{"jsonrpc":"2.0","id":1,"result":` + rejects + `}`) // twice
	r.writeLine(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"about nothing that we asked"}}`)
	r.writeLine(eventLine)
	r.wantMessage(event)
	r.writeLine(" " + event + "\r")
	r.wantMessage(event)
	r.writeLine(`{"type":"a","type":"b"}`) // for the reader to judge
	r.wantMessage(`{"type":"a","type":"b"}`)
	r.writeLine(closeLine)
	r.wantMessage(closes)
	r.writeLine(pingLine)
	r.wantLine(pongLine)
	r.send(renegs)
	r.readLine()
	r.writeLine(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no\u001b such \u202emethod"}}`) // INV-36
	rejected("no<U+001B> such <U+202E>method")
	r.send(renegs)
	r.readLine()
	r.writeLine(`{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"a","message":"b"}}`)
	rejected("The agent refused the request.")
	r = rawSubscriber(t)
	r.send(asks)
	r.readLine()
	r.writeLine(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot read that"}}`)
	rejected("cannot read that")
}

// INV-33, INV-35, INV-54: a bad line costs itself and has an answer that says nothing of its bytes;
// then a good one works.
func TestBadLines(t *testing.T) {
	answer := func(id string, code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, id, code)
	}
	const parse, request, method, params = jsonrpc2.CodeParseError, jsonrpc2.CodeInvalidRequest,
		jsonrpc2.CodeMethodNotFound, jsonrpc2.CodeInvalidParams
	subscribe := `"method":"aaep.subscribe","params":` + asks
	for _, tc := range []struct{ name, line, answer string }{
		{"not JSON", `not json`, answer("null", parse)},
		{"truncated", `{"jsonrpc":"2.0","id":1,"method":"aaep.s`, answer("null", parse)},
		{"binary", "\x00\x01\xfe\xff\x1b[2J", answer("null", parse)},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"aaep.ping\",\"x\":\"\xff\"}",
			answer("null", parse)},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"method":"aaep.reply","params":{"x":"\ud83d"}}`,
			answer("null", parse)},
		{"byte order mark", "\ufeff" + pingLine, answer("null", parse)},
		{"two on a line", pingLine + pingLine, answer("null", parse)},
		{"2 MiB", `{"x":"` + strings.Repeat("y", 2<<20) + `"}`, answer("null", parse)},
		{"deep", strings.Repeat("[", 100_000), answer("null", parse)},
		{"batch", "[" + pingLine + "]", answer("null", request)},
		{"text", `"aaep.ping"`, answer("null", request)},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,` + subscribe + `}`, answer("1", request)},
		{"version as number", `{"jsonrpc":2.0,"id":1,` + subscribe + `}`, answer("1", request)},
		{"no version", `{"id":1,` + subscribe + `}`, answer("1", request)},
		{"METHOD", `{"jsonrpc":"2.0","id":1,"METHOD":"aaep.ping"}`, answer("null", request)},
		{"kelvin sign and long s", `{"jsonrpc":"2.0","id":1,"method":"aaep.reply","paramſ":{}}`,
			answer("null", request)},
		{"method twice", `{"jsonrpc":"2.0","method":"aaep.ping","m\u0065thod":"aaep.reply","params":{}}`,
			answer("null", request)},
		{"params twice", `{"jsonrpc":"2.0","id":1,"method":"aaep.reply","params":{},"params":{}}`,
			answer("null", request)},
		{"fractional id", `{"jsonrpc":"2.0","id":1.5,` + subscribe + `}`, answer("null", request)},
		{"exponent", `{"jsonrpc":"2.0","id":1e2,` + subscribe + `}`, answer("null", request)},
		{"object id", `{"jsonrpc":"2.0","id":{},` + subscribe + `}`, answer("null", request)},
		{"null id", `{"jsonrpc":"2.0","id":null,` + subscribe + `}`, answer("null", request)},
		{"endless id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("1", 300) + `",` + subscribe + `}`,
			answer("null", request)},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"aaep.ping","result":{}}`, answer("1", request)},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, answer("1", request)},
		{"nothing", `{"jsonrpc":"2.0","id":1}`, answer("1", request)},
		{"method as number", `{"jsonrpc":"2.0","id":1,"method":7}`, answer("1", request)},
		{"bare message", replies, answer("null", request)},
		{"AAEP.Subscribe", `{"jsonrpc":"2.0","id":1,"method":"AAEP.Subscribe","params":{}}`, answer("1", method)},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"aaep.shutdown","params":{}}`, answer("2", method)},
		{"the other side's method", `{"jsonrpc":"2.0","id":2,"method":"aaep.event","params":` + event + `}`,
			answer("2", method)},
		{"params as text", `{"jsonrpc":"2.0","id":2,"method":"aaep.ping","params":"x"}`, answer("2", params)},
		{"params as list", `{"jsonrpc":"2.0","id":2,"method":"aaep.reply","params":[` + replies + `]}`,
			answer("2", params)},
		{"no params", `{"jsonrpc":"2.0","id":2,"method":"aaep.reply"}`, answer("2", params)},
		{"too large by one", `{"jsonrpc":"2.0","id":2,"method":"aaep.reply","params":{"x":"` +
			strings.Repeat("y", transports.MaxMessage-7) + `"}}`, answer("2", params)},
		{"a reply that subscribes", `{"jsonrpc":"2.0","id":2,"method":"aaep.reply","params":` + asks + `}`,
			answer("2", params)},
		{"a request that replies", `{"jsonrpc":"2.0","id":2,"method":"aaep.renegotiate","params":` + replies + `}`,
			answer("2", params)},
		{"a renegotiation that nobody could answer",
			`{"jsonrpc":"2.0","id":2,"method":"aaep.renegotiate","params":{"type":"subscription.renegotiate"}}`,
			answer("2", params)},
		{"unknown notification", `{"jsonrpc":"2.0","method":"aaep.nothing","params":{}}`, ""},
		{"bad notification", `{"jsonrpc":"2.0","method":"aaep.reply","params":7}`, ""},
		{"subscribe without an id", `{"jsonrpc":"2.0",` + subscribe + `}`, ""}, // STDIO-003
		{"answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`, ""},
		{"null answer to nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, ""},
		{"empty", "", ""}, {"spaces", " \t\r", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := rawProducer(t)
			go r.writeLine(tc.line + "\n" + `{"jsonrpc":"2.0","id":"good",` + subscribe + "}\r")
			r.wantMessage(asks)
			if tc.answer != "" {
				if got, err := r.readLine(); err != nil || !strings.HasPrefix(got, tc.answer) || len(got) > 300 {
					t.Errorf("the answer is %q, %v; want %q", got, err, tc.answer)
				}
			}
			r.send(accepts)
			r.wantLine(`{"jsonrpc":"2.0","id":"good","result":` + accepts + `}`)
		})
	}
}

// A link has one subscription; a second request is refused, and does not take the answer of
// another.
func TestSubscribeTwice(t *testing.T) {
	r := rawProducer(t)
	r.writeLine(`{"jsonrpc":"2.0","id":1,"method":"aaep.subscribe","params":` + asks + `}`)
	r.wantMessage(asks)
	r.writeLine(`{"jsonrpc":"2.0","id":2,"method":"aaep.subscribe","params":` + asks + `}`)
	if got, err := r.readLine(); err != nil || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`) {
		t.Errorf("the answer is %q, %v", got, err)
	}
	r.writeLine(`{"jsonrpc":"2.0","id":1,"result":` + replies + `}`) // an answer to its own question
	r.writeLine(pingLine)
	r.wantLine(pongLine)
	r.send(accepts)
	r.wantLine(`{"jsonrpc":"2.0","id":1,"result":` + accepts + `}`)
	for n := range maxRequests { // INV-32: what waits for an answer is bounded
		r.writeLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"aaep.renegotiate","params":%s}`, n, renegs))
		r.wantMessage(renegs)
	}
	r.writeLine(`{"jsonrpc":"2.0","id":"more","method":"aaep.renegotiate","params":` + renegs + `}`)
	if got, err := r.readLine(); err != nil ||
		!strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"more","error":{"code":-32603,`) {
		t.Errorf("the answer is %q, %v", got, err)
	}
}

// INV-32, INV-35: so many bad lines in a row are borne, and no more; a good one between starts
// anew. A line without end is not kept, and not borne for ever. Empty lines say nothing.
func TestGarbage(t *testing.T) {
	for name, r := range map[string]*raw{"subscriber": rawSubscriber(t), "producer": rawProducer(t)} {
		good, want := eventLine, event
		if name == "producer" {
			good, want = repliesRPC, replies
			go io.Copy(io.Discard, r.out)
		}
		bad := strings.Repeat("Loading…\n", maxBad)
		go func() {
			for range 2 {
				r.writeLine(bad + strings.Repeat("\n", 10*maxBad) + good)
			}
			r.writeLine(bad + "one more")
		}()
		r.wantMessage(want)
		r.wantMessage(want)
		if _, err := receiveSoon(t, r); !errors.Is(err, errGarbage) {
			t.Errorf("%s: Receive = %v, want errGarbage", name, err)
		}
	}
	for name, blanks := range map[string]string{"empty lines": "\n", "lines of blanks": strings.Repeat(" \t", 1000) +
		"\r\n", "one line of blanks": strings.Repeat(" ", maxLine) + "\n"} {
		r := rawSubscriber(t)
		go io.Copy(r.in, strings.NewReader(strings.Repeat(blanks, 2*maxLine/len(blanks)+1)))
		if _, err := receiveSoon(t, r); !errors.Is(err, transports.ErrTooLarge) {
			t.Errorf("Receive of endless %s = %v", name, err)
		}
	}
	r := rawSubscriber(t)
	go io.CopyN(r.in, endless{}, maxSkipped+1<<20)
	if _, err := receiveSoon(t, r); !errors.Is(err, transports.ErrTooLarge) {
		t.Errorf("Receive of an endless line = %v", err)
	}
}

type endless struct{}

// Read fills b with a line that never ends.
func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TR-001, TR-002: lines may come in pieces or together; half a line at the end is no message.
func TestPieces(t *testing.T) {
	r := rawProducer(t)
	go func() {
		for _, b := range []byte(repliesRPC + "\n" + repliesRPC + "\r\n") {
			r.in.Write([]byte{b})
		}
		r.writeLine(repliesRPC + "\n" + repliesRPC)
		io.WriteString(r.in, repliesRPC)
		r.in.Close()
	}()
	for range 4 {
		r.wantMessage(replies)
	}
	if got, err := receiveSoon(t, r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a line is %q, %v", got, err)
	}
}

// What is no JSON object is refused before it can harm the link.
func TestSendRefuses(t *testing.T) {
	r := rawSubscriber(t)
	for _, msg := range []string{"", "x", "[]", `"x"`, "{}{}", `{},"method":"aaep.close"`, "{", "{\"x\":\"\n\"}",
		"{\"x\":\"\xff\"}"} {
		if err := r.Send(t.Context(), []byte(msg)); err != errNoJSON {
			t.Errorf("Send(%q) = %v", msg, err)
		}
	}
	r.send(replies)
	r.wantLine(repliesRPC)
}

// A Listener has one link; when that is over no peer can come any more.
func TestListener(t *testing.T) {
	in, _ := newPipe(t)
	_, out := newPipe(t)
	l := NewListener(in, out, nil)
	c, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second Accept = %v, want to wait", err)
	}
	second := make(chan error, 1)
	go func() { _, err := l.Accept(context.Background()); second <- err }()
	c.Close()
	if err := <-second; err != io.EOF {
		t.Errorf("Accept after the link = %v, want io.EOF", err)
	}
	l.Close()
	l.Close()
	if _, err := l.Accept(t.Context()); err != transports.ErrClosed {
		t.Errorf("Accept after Close = %v", err)
	}
	in, toIn := newPipe(t)
	_, out = newPipe(t)
	NewListener(in, out, nil).Close()
	if _, err := toIn.Write([]byte("x")); err == nil {
		t.Error("Close left the streams open though nobody had them")
	}
}
