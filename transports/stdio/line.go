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

// All in bytes.
const (
	maxEnvelope = 1 << 10                             // what JSON-RPC puts around a message
	maxLine     = transports.MaxMessage + maxEnvelope // a line without its end
	maxSkipped  = 16 << 20                            // one line that is too long; a longer one ends the link
	maxID       = 256                                 // the id of a request
)

// readLine returns the next line without its end. tooLong says that the line had more than maxLine
// bytes, and was read past. A line that the end of r cuts off is io.ErrUnexpectedEOF.
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
	id     []byte // as written; nil where there is none
	method string
	params []byte
	result []byte
	error  []byte
	bare   []byte // a message without JSON-RPC around it; nothing else is set then
}

// A lineFault says what is wrong with a line.
type lineFault struct {
	code int64  // the error code of JSON-RPC (5.1)
	id   []byte // of the request to answer, which may be null; nil where no answer is due
	text string
}

var nullID = []byte("null")

var memberNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// jsonOptions leave repeated names to the reader of the message; invalid UTF-8 and lone surrogates
// are never JSON.
var jsonOptions = jsontext.AllowDuplicateNames(true)

// parseLine parses a line so strictly that there is only one way to read it (INV-33), and checks
// that it is a request, a notification or a response of JSON-RPC. With allowBare, an object that
// has a type and no member of JSON-RPC is taken for a message without JSON-RPC around it.
func parseLine(line []byte, allowBare bool) (rpcObject, *lineFault) {
	if !jsontext.Value(line).IsValid(jsonOptions) {
		return rpcObject{}, &lineFault{jsonrpc2.CodeParseError, nullID, "not one JSON value"}
	}
	if line = bytes.Trim(line, whiteSpace); line[0] != '{' {
		return rpcObject{}, &lineFault{jsonrpc2.CodeInvalidRequest, nullID, "not an object; there are no batches"}
	}
	values, hasType, problem := map[string][]byte{}, false, ""
	for name, value := range eachMember(line) {
		i := slices.IndexFunc(memberNames, func(member string) bool { return strings.EqualFold(member, name) })
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
	if allowBare && hasType && len(values) == 0 {
		return rpcObject{bare: line}, nil
	}
	if problem != "" {
		return rpcObject{}, &lineFault{jsonrpc2.CodeInvalidRequest, nullID, problem}
	}
	return parseObject(values)
}

// parseObject makes the object of JSON-RPC whose members have these values, as written. A fault
// says why it is neither a request, nor a notification, nor a response, with the id to answer it
// under; parseLine, its caller, returns that for the answer.
func parseObject(values map[string][]byte) (rpcObject, *lineFault) {
	o := rpcObject{id: values["id"], params: values["params"], result: values["result"], error: values["error"]}
	method, hasMethod := values["method"]
	var methodIsText bool
	o.method, methodIsText = unquote(method)
	oneOutcome := (o.result == nil) != (o.error == nil) // as a response has, and nothing else
	fault := lineFault{code: jsonrpc2.CodeInvalidRequest, id: nullID}
	switch {
	case o.id != nil && !validID(o.id) && !(oneOutcome && string(o.id) == "null"):
		fault.text = "the id is neither text nor a whole number, or too long"
		return rpcObject{}, &fault
	case o.id != nil:
		fault.id = o.id
	}
	isRequest := methodIsText && o.method != "" && o.result == nil && o.error == nil
	isResponse := !hasMethod && o.id != nil && oneOutcome
	switch {
	case string(values["jsonrpc"]) != `"2.0"`:
		fault.text = `no "jsonrpc":"2.0"`
	case !isRequest && !isResponse:
		fault.text = "neither a request nor a response"
	default:
		return o, nil
	}
	return rpcObject{}, &fault
}

// eachMember yields the names and values of a valid JSON object in the order they stand: names with
// their escapes resolved, values as they are written, with the spaces around them.
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

// fitMessage returns the value that a peer put where a message goes, and whether it is small enough
// for one. The spaces around it are cut off only where it would be too large with them.
func fitMessage(value []byte) ([]byte, bool) {
	if len(value) > transports.MaxMessage {
		value = bytes.Trim(value, whiteSpace)
	}
	return value, len(value) <= transports.MaxMessage
}

// unquote returns the text of a JSON string, and whether value, which may be nil, is one.
func unquote(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

// validID reports whether an id, as written, is a string or a whole number without a fraction or an
// exponent, and not too long.
func validID(id []byte) bool {
	switch {
	case len(id) > maxID:
		return false
	case id[0] == '"':
		return true
	}
	return (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !bytes.ContainsAny(id, ".eE")
}

// typeOf returns the type of a message, which is a valid JSON object; "" if it has none.
func typeOf(msg []byte) string {
	for name, value := range eachMember(msg) {
		if name == "type" {
			typ, _ := unquote(bytes.Trim(value, whiteSpace))
			return typ
		}
	}
	return ""
}
