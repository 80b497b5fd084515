package conformance

import (
	_ "embed"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// A invalidMessage message is one that must have no effect, or be refused: a good message of which
// some members are others. A member that is null is taken away.
type invalidMessage struct {
	What string `json:"what"` // "for a rate below one", for instance
	// Members and Capabilities are what differs in the message, and in its capabilities.
	Members      object `json:"members"`
	Capabilities object `json:"capabilities"`
	Response     any    `json:"response"` // of an answer to a clarification
	// Handshake says that it is hostile only where there was a handshake: the clients that know
	// none name no subscription.
	Handshake bool `json:"handshake"`
}

var (
	//go:embed testdata/requests.json
	requestsData []byte
	//go:embed testdata/replies.json
	repliesData []byte
	//go:embed testdata/responses.json
	responsesData []byte

	invalidRequests  = parseInvalidMessages(requestsData)
	invalidReplies   = parseInvalidMessages(repliesData)
	invalidResponses = parseInvalidMessages(responsesData)
)

// parseInvalidMessages reads a list of testdata, which is compiled in.
func parseInvalidMessages(data []byte) (list []invalidMessage) {
	if err := jsonv2.Unmarshal(data, &list, jsonv2.RejectUnknownMembers(true)); err != nil {
		panic(err) // it is part of the program
	}
	return list
}

// requestMessage is the hostile message as a subscription.request.
func (h invalidMessage) requestMessage() object {
	return withMembers(requestMessage(withMembers(usualCapabilities(), h.Capabilities)), h.Members)
}

// replyMembers returns the members by which the reply to a question differs from a good one, with
// the token of that question in the place of {token}, and with its digits in capitals in that of
// {TOKEN}.
func (h invalidMessage) replyMembers(token string) object {
	prefix, digits, _ := strings.Cut(token, "_")
	tokens := strings.NewReplacer("{token}", token, "{TOKEN}", prefix+"_"+strings.ToUpper(digits))
	more := object{}
	for name, v := range h.Members {
		switch v := v.(type) {
		case string:
			more[name] = tokens.Replace(v)
		case []any:
			list := make([]any, len(v))
			for i := range v {
				list[i] = v[i]
				if text, ok := v[i].(string); ok {
					list[i] = tokens.Replace(text)
				}
			}
			more[name] = list
		default:
			more[name] = v
		}
	}
	return more
}
