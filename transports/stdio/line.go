package stdio

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep/transports"
)

const (
	maxEnvelope = 1 << 10                             // of a line, in bytes, beside the message
	maxLine     = transports.MaxMessage + maxEnvelope // without its end
	maxSkipped  = 16 << 20                            // of one line that is too long; beyond that the link ends
	maxID       = 256                                 // of a request, in bytes
)

// readLine returns the next line without its end. One that is too long is read to its end, kept
// nowhere, and tooLong.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	n := 0
	for {
		part, err := r.ReadSlice('\n')
		if n += len(part); n > maxLine+2 {
			line, tooLong = nil, true
		} else {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), tooLong, nil
		case n > maxSkipped:
			return nil, true, transports.ErrTooLarge
		case err == bufio.ErrBufferFull:
		case err == io.EOF && n > 0:
			return nil, tooLong, io.ErrUnexpectedEOF // half a message is none
		default:
			return nil, tooLong, err
		}
	}
}

// An rpcObject is the JSON-RPC object of a line. Its values are the peer's bytes.
type rpcObject struct {
	id     []byte // nil where there is none
	method string
	params []byte
	result []byte
	error  []byte
	bare   []byte // a message without JSON-RPC around it
}

// A lineFault is what is wrong with a line.
type lineFault struct {
	code int64  // of JSON-RPC (5.1)
	id   []byte // to answer to, which may be null; nil where nothing is to be answered
	text string
}

var nullID = []byte("null")

var memberNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// jsonOptions leave repeated names to the reader of the message; invalid UTF-8 and lone surrogates
// are never JSON.
var jsonOptions = jsontext.AllowDuplicateNames(true)

// parseLine reads a line so strictly that there is only one way to read it (INV-33). With bare,
// what has a type and nothing of JSON-RPC is a message.
func parseLine(line []byte, bare bool) (rpcObject, *lineFault) {
	if !jsontext.Value(line).IsValid(jsonOptions) {
		return rpcObject{}, &lineFault{jsonrpc2.CodeParseError, nullID, "not one JSON value"}
	}
	if line = bytes.Trim(line, whiteSpace); line[0] != '{' {
		return rpcObject{}, &lineFault{jsonrpc2.CodeInvalidRequest, nullID, "not an object; there are no batches"}
	}
	values, hasType, problem := map[string][]byte{}, false, ""
	for name, value := range eachMember(line) {
		i := slices.IndexFunc(memberNames, func(known string) bool { return strings.EqualFold(known, name) })
		switch {
		case i < 0:
			hasType = hasType || name == "type"
			continue
		case memberNames[i] != name:
			problem = "a member's name is spelled in another way"
		case values[name] != nil:
			problem = "a member comes twice"
		}
		if name != "params" && name != "result" {
			value = bytes.Trim(value, whiteSpace)
		}
		values[name] = value
	}
	if bare && hasType && len(values) == 0 {
		return rpcObject{bare: line}, nil
	}
	o := rpcObject{id: values["id"], params: values["params"], result: values["result"], error: values["error"]}
	_, method := values["method"]
	var named bool
	o.method, named = unquote(values["method"])
	answer := (o.result == nil) != (o.error == nil)
	invalid := lineFault{jsonrpc2.CodeInvalidRequest, nullID, problem}
	switch {
	case problem != "":
		return rpcObject{}, &invalid
	case o.id != nil && !validID(o.id) && !(answer && string(o.id) == "null"):
		invalid.text = "the id is neither text nor a whole number, or too long"
		return rpcObject{}, &invalid
	case o.id != nil:
		invalid.id = o.id
	}
	switch {
	case string(values["jsonrpc"]) != `"2.0"`:
		invalid.text = `no "jsonrpc":"2.0"`
	case method && (!named || o.method == "" || o.result != nil || o.error != nil), !method && (o.id == nil || !answer):
		invalid.text = "neither a request nor a response"
	default:
		return o, nil
	}
	return rpcObject{}, &invalid
}

// eachMember yields the names and values of an object that is valid JSON: names as they are read,
// values as they are written, with the spaces around them.
func eachMember(object []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(object), jsonOptions)
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			start := int(d.InputOffset())
			start += bytes.IndexByte(object[start:], ':') + 1
			if err := d.SkipValue(); err != nil {
				return
			}
			end := int(d.InputOffset())
			end += len(object[end:]) - len(bytes.TrimLeft(object[end:], whiteSpace))
			if !yield(key, object[start:end]) {
				return
			}
		}
	}
}

// whiteSpace is white space within JSON.
const whiteSpace = " \t\r\n"

// fitMessage returns what a peer put where a message goes, without the spaces around it if they are
// too many, and whether it is small enough.
func fitMessage(value []byte) ([]byte, bool) {
	if len(value) > transports.MaxMessage {
		value = bytes.Trim(value, whiteSpace)
	}
	return value, len(value) <= transports.MaxMessage
}

// unquote returns the text of a JSON string.
func unquote(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	plain, err := jsontext.AppendUnquote(nil, value)
	return string(plain), err == nil
}

// validID reports whether an id is text or a whole number without a fraction or an exponent.
func validID(id []byte) bool {
	switch {
	case len(id) > maxID:
		return false
	case id[0] == '"':
		return true
	}
	return (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !bytes.ContainsAny(id, ".eE")
}

// typeOf is the type of a message that is a JSON object, or "".
func typeOf(msg []byte) string {
	for name, value := range eachMember(msg) {
		if name == "type" {
			typ, _ := unquote(bytes.Trim(value, whiteSpace))
			return typ
		}
	}
	return ""
}
