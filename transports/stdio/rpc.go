package stdio

import (
	"bytes"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
)

// The methods (B.6.3).
const (
	methodSubscribe   = "aaep.subscribe"
	methodRenegotiate = "aaep.renegotiate"
	methodReply       = "aaep.reply"
	methodEvent       = "aaep.event"
	methodClose       = "aaep.close"
	methodPing        = "aaep.ping"
)

// The types that do not travel as an event or a reply.
const (
	typeRequest     = "subscription.request"
	typeRenegotiate = "subscription.renegotiate"
	typeAccepted    = "subscription.accepted"
	typeRejected    = "subscription.rejected"
	typeClose       = "subscription.close"
)

// takeMessage returns the message that an object of JSON-RPC carries, for Read to return; nil if it
// carries none, as a ping. It answers requests that the producer does not answer itself, and notes
// those that it does. A fault is what its caller answers with; what breaks appendix B.6 is also
// reported.
func (f *frames) takeMessage(o rpcObject) ([]byte, *lineFault) {
	switch {
	case o.bare != nil:
		f.violations.Report("STDIO-002", "a message comes without JSON-RPC around it")
		return o.bare, nil
	case o.method == "":
		return f.acceptResponse(o)
	}
	fail := func(code int64, text string) ([]byte, *lineFault) {
		if f.producer {
			f.violations.Report(requirementOf(o.method), o.method+": "+text)
		}
		return nil, &lineFault{code, o.id, text}
	}
	methods := []string{methodEvent, methodClose, methodPing}
	if f.producer {
		methods = []string{methodSubscribe, methodRenegotiate, methodReply, methodClose, methodPing}
	}
	if !slices.Contains(methods, o.method) {
		return fail(jsonrpc2.CodeMethodNotFound, "no such method")
	}
	// Only a ping may do without params.
	if p := bytes.TrimLeft(o.params, whiteSpace); p != nil && p[0] != '{' || p == nil && o.method != methodPing {
		return fail(jsonrpc2.CodeInvalidParams, "params is not an object")
	}
	if o.method == methodPing {
		f.confirmRequest(o.id)
		return nil, nil
	}
	var fits bool
	if o.params, fits = fitMessage(o.params); !fits {
		return fail(jsonrpc2.CodeInvalidParams, "the message is too large")
	}
	if methodOf(typeOf(o.params), !f.producer) != o.method {
		return fail(jsonrpc2.CodeInvalidParams, "the message does not belong to the method")
	}
	if o.method == methodSubscribe || o.method == methodRenegotiate {
		return f.acceptRequest(o)
	}
	f.reportNeedlessID(o)
	// A reply that has an id gets the same answer whatever became of it (D-68, D-36).
	f.confirmRequest(o.id)
	return o.params, nil
}

// reportNeedlessID reports an event or a reply that has an id, as if it asked for an answer.
func (f *frames) reportNeedlessID(o rpcObject) {
	switch {
	case o.id == nil:
	case o.method == methodEvent:
		f.violations.Report("STDIO-002", "an event has an id, as if it asked for an answer")
	case o.method == methodReply:
		f.violations.Report("STDIO-006", "a reply has an id, as if it asked for an answer")
	}
}

// requirementOf returns the id of the requirement that a subscriber breaks when it misuses a
// method, for the report of a proof.
func requirementOf(method string) string {
	switch method {
	case methodRenegotiate:
		return "STDIO-005"
	case methodReply:
		return "STDIO-006"
	}
	return "STDIO-003"
}

// confirmRequest answers a request with {}; a notification has no id and gets nothing.
func (f *frames) confirmRequest(id []byte) {
	if id != nil {
		f.queueAnswer(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(",\"result\":{}}\n")))
	}
}

// acceptRequest notes a subscribe or a renegotiate whose answer the producer will send, and returns
// its message. The producer's answers have no id and come in the order of the requests, so a
// request that the producer would not answer must not be noted: it is refused here.
func (f *frames) acceptRequest(o rpcObject) ([]byte, *lineFault) {
	fail := func(code int64, text string) ([]byte, *lineFault) {
		f.violations.Report(requirementOf(o.method), o.method+": "+text)
		return nil, &lineFault{code, o.id, text}
	}
	if o.id == nil {
		return fail(jsonrpc2.CodeInvalidParams, "a request without an id cannot be answered")
	}
	if o.method == methodRenegotiate {
		if _, err := aaep.Decode(o.params); err != nil {
			return fail(jsonrpc2.CodeInvalidParams, "the renegotiation cannot be read")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case o.method == methodSubscribe && f.subscribed:
		return fail(jsonrpc2.CodeInvalidRequest, "there is a subscription on this link")
	case len(f.requests) >= maxRequests:
		return fail(jsonrpc2.CodeInternalError, "too many requests wait for an answer")
	}
	f.subscribed = f.subscribed || o.method == methodSubscribe
	f.requests = append(f.requests, pendingRequest{string(o.id), o.method})
	return o.params, nil
}

// acceptResponse returns the message in the response to a request of this end. For an error of
// JSON-RPC it makes a subscription.rejected with the error's text. A response to no request, and
// one that is too large, is a fault of the peer, which takeMessage answers.
func (f *frames) acceptResponse(o rpcObject) ([]byte, *lineFault) {
	if !f.forgetRequest(string(o.id)) {
		f.violations.Report("STDIO-004", "a response has an id that no request had")
		return nil, &lineFault{jsonrpc2.CodeMethodNotFound, nil, "the answer to nothing that was asked"}
	}
	if o.error == nil {
		msg, fits := fitMessage(o.result)
		if !fits {
			return nil, &lineFault{jsonrpc2.CodeInvalidParams, nil, "the answer is too large"}
		}
		return msg, nil // even if it is no message, so that the waiting caller gets an answer
	}
	f.violations.Report("STDIO-004",
		"a request is refused by an error of JSON-RPC, not by a subscription.rejected as its result")
	var e jsonrpc2.Error
	if jsonv2.Unmarshal(o.error, &e) != nil { // an error that cannot be read still refuses
		e.Message = ""
	}
	reason := "The agent refused the request."
	if text := []rune(aaep.SafeText(e.Message)); len(text) > 0 {
		reason = string(text[:min(len(text), 1000)])
	}
	msg, err := aaep.Encode(&aaep.SubscriptionRejected{ReasonCode: aaep.ReasonUnknown, ReasonMessage: reason})
	if err != nil {
		return nil, &lineFault{jsonrpc2.CodeInvalidParams, nil, "the refusal cannot be told"}
	}
	f.mu.Lock()
	f.substitute = msg
	f.mu.Unlock()
	return msg, nil
}

// forgetRequest removes the request of this end that a response with this id answers, and reports
// whether there was one. The first request, aaep.subscribe, may be answered with the id null, as an
// error is whose sender could not read the request: nothing else has been sent then.
func (f *frames) forgetRequest(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.producer {
		return false
	}
	i := slices.IndexFunc(f.requests, func(r pendingRequest) bool { return r.id == id })
	if i < 0 && id == "null" && len(f.requests) == 1 && f.requests[0].method == methodSubscribe {
		i = 0
	}
	if i < 0 {
		return false
	}
	f.requests = slices.Delete(f.requests, i, i+1)
	return true
}

// methodOf returns the method of JSON-RPC that a message of the type typ travels by, in the
// direction that fromProducer says.
func methodOf(typ string, fromProducer bool) string {
	switch {
	case typ == typeClose:
		return methodClose
	case fromProducer:
		return methodEvent
	case typ == typeRequest:
		return methodSubscribe
	case typ == typeRenegotiate:
		return methodRenegotiate
	}
	return methodReply
}

// wrapMessage returns the line of JSON-RPC that carries msg, a valid JSON object. The producer's
// answer becomes the response to the oldest request; a request of this end gets an id and is noted.
// A line end in msg can only be white space between its parts, and becomes a space (TR-005):
// nothing else changes, and an application's pretty-printed data does not cost it the link.
func (f *frames) wrapMessage(msg []byte) []byte {
	line := make([]byte, 0, len(msg)+96)
	line = append(line, `{"jsonrpc":"2.0",`...)
	typ := typeOf(msg)
	method := methodOf(typ, f.producer)
	f.mu.Lock()
	switch {
	case f.producer && (typ == typeAccepted || typ == typeRejected) && len(f.requests) > 0:
		line = append(line, `"id":`+f.requests[0].id+`,"result":`...)
		f.requests = slices.Delete(f.requests, 0, 1)
	case method == methodSubscribe || method == methodRenegotiate:
		f.lastID++
		id := strconv.FormatUint(f.lastID, 10)
		f.requests = append(f.requests, pendingRequest{id, method})
		line = append(line, `"id":`+id+`,"method":"`+method+`","params":`...)
	default:
		line = append(line, `"method":"`+method+`","params":`...)
	}
	f.mu.Unlock()
	start := len(line)
	line = append(line, msg...)
	for i, b := range line[start:] {
		if b == '\n' || b == '\r' {
			line[start+i] = ' '
		}
	}
	return append(line, "}\n"...)
}
