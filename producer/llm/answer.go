package llm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// A dialect is the protocol of a family of providers: how its requests and answers are read.
type dialect struct {
	path    string // what the path of the address ends with
	request func(body []byte) request
	answer  func(*answer, request) answerReader
}

var dialects = []dialect{
	{"/chat/completions", chatRequest, newChatAnswer},
	{"/responses", responsesRequest, newResponsesAnswer},
	{"/v1/messages", messagesRequest, newMessagesAnswer},
	{":streamGenerateContent", geminiRequest, newGeminiAnswer},
	{":generateContent", geminiRequest, newGeminiAnswer},
	{"/api/chat", ollamaRequest, newOllamaAnswer},
	{"/api/generate", ollamaRequest, newOllamaAnswer},
}

// An answerReader reads one answer in the form of its provider and reports to the answer what it
// means. The answerBody calls it with its mu held.
type answerReader interface {
	// readEvent reads one event of a streamed answer; data is nil if it was too large.
	readEvent(name string, data []byte)
	// readWhole reads an answer in one piece. It reports false if data is none.
	readWhole(data []byte) bool
	// finishStream is called once no more events come.
	finishStream()
}

// A request is what counts here of a request to a model.
type request struct {
	keys    []string          // the calls it mentions
	results []result          // of tools
	json    bool              // the answer is to be JSON
	prefix  string            // names the conversation where calls have no ids
	from    program           // that made it; zero where the tap is a program's own
	before  string            // names what was said before the model's newest answer
	said    string            // names all that was said; both are empty where from is zero
	sum     [sha256.Size]byte // equal for a request that is sent again
	done    <-chan struct{}   // of its context
}

// A result is what a request says of a call: which one, and why the tool failed, or nil.
type result struct {
	key string
	err error
}

// addResult adds the result of the call key to the request. texts are the values that may hold the
// tool's result, in which the words of Guard say that it refused the call.
func (q *request) addResult(key string, failed bool, texts ...jsontext.Value) {
	r := result{key: key}
	switch {
	case slices.ContainsFunc(texts, isRefusal):
		r.err = errNotDone
	case failed:
		r.err = errTool
	}
	q.keys, q.results = append(q.keys, key), append(q.results, r)
}

// errNotDone is the error of a call that was refused, or that Guard did not run, so that the person
// hears that it was not done.
var errNotDone = fmt.Errorf("the tool's result says that it was not done: %w", producer.ErrRejected)

// isRefusal reports whether a tool's result is what Guard returned instead of running the tool.
func isRefusal(result jsontext.Value) bool {
	text := string(result)
	hasReason := slices.ContainsFunc([]string{refusedNo, refusedLate, refusedAlone}, func(reason string) bool {
		return strings.Contains(text, reason)
	})
	return strings.Contains(text, "Not done: ") && hasReason || strings.Contains(text, unknownTool)
}

var errTool = errors.New("the tool's result says that it failed")

// An ending is how an answer ended.
type ending struct {
	words phrase.ID // noWords where there is nothing to say
	cause error     // why there is no answer, or not all of it
}

const noWords phrase.ID = ""

// A failure is why there is no answer. It holds nothing that the provider said.
type failure struct {
	problem   string
	temporary bool // sending the request again may help
}

// Error names the problem.
func (f *failure) Error() string { return "llm: " + f.problem }

// Temporary reports whether sending the request again may help.
func (f *failure) Temporary() bool { return f.temporary }

// endingOfStatus returns what an HTTP status other than 2xx means for the person, and whether it
// may pass, so that the client may try again.
func endingOfStatus(status int) (end ending, temporary bool) {
	f := &failure{problem: fmt.Sprintf("the provider answered %d %s", status, http.StatusText(status)),
		temporary: true}
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529:
		end.words = phrase.ModelBusy
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusConflict:
		end.words = phrase.ModelFault
	default:
		end.words, f.temporary = phrase.ModelRefused, false
	}
	end.cause = f
	return end, f.temporary
}

// endingOfErrorName returns what an error in the middle of an answer means for the person, by the
// words in its name; one that is not known is the provider's fault.
func endingOfErrorName(name string) ending {
	name = strings.ToLower(name)
	status := http.StatusInternalServerError
	switch {
	case strings.Contains(name, "insufficient_quota"), strings.Contains(name, "invalid"),
		strings.Contains(name, "denied"), strings.Contains(name, "authentication"), strings.Contains(name, "not_found"):
		status = http.StatusBadRequest
	case strings.Contains(name, "overload"), strings.Contains(name, "rate_limit"), strings.Contains(name, "quota"),
		strings.Contains(name, "exhausted"):
		status = http.StatusTooManyRequests
	}
	end, _ := endingOfStatus(status)
	return end
}

var (
	endedWhole    = ending{words: noWords}
	endedTooLong  = ending{words: phrase.AnswerCut}
	endedDeclined = ending{words: phrase.AnswerDeclined,
		cause: &failure{problem: "the model or its provider declined to answer"}}
)

// An answer is what is known so far of one answer of a model. The answerBody guards it.
type answer struct {
	turn  *turn
	json  bool             // the text is JSON
	out   *producer.Output // open while text comes
	lang  string           // of the text, once it is known
	calls []*call          // that the agent is to run
	// The tools that the provider runs, by key: the function that completes one; nil once it ended.
	providerTools map[string]func(error)
	ended         bool
	ending        ending // once ended is set
}

// writeText writes text that the model says to the user to the session's output, which it opens
// first if need be. Text after the ending is dropped.
func (a *answer) writeText(text string) {
	if text == "" || a.ended {
		return
	}
	if a.out == nil {
		a.openOutput()
	}
	if a.lang == "" || a.lang == "zh" { // Japanese and Korean text may begin with Chinese characters
		if lang := languageOf(text, a.turn.tap.languages); lang != a.lang &&
			(a.lang == "" || lang == "ja" || lang == "ko") {
			a.lang = lang
			a.out.SetLanguage(lang)
		}
	}
	a.out.WriteString(text)
}

// openOutput opens the session's output for the answer. If the answer announced before was for
// another program, the name of this program is announced first.
func (a *answer) openOutput() {
	x := a.turn
	if x.tap.switchProgram(x.from) && x.from.name != "" {
		x.session.State(aaep.StateWritingOutput, phrase.Text(x.tap.languages, phrase.AnswerTo, x.from.name))
	}
	a.out = x.session.Output()
	if a.json {
		a.out.SetContentType("application/json")
	}
	if a.lang != "" {
		a.out.SetLanguage(a.lang)
	}
}

// closeOutput ends the output, because something else than text follows.
func (a *answer) closeOutput() {
	if a.out != nil {
		a.out.Close()
		a.out = nil
	}
}

// addCall closes the output and adds a tool call of the answer, which the agent is to run.
func (a *answer) addCall(key, name string) {
	if a.closeOutput(); len(a.calls) < maxCalls && !a.ended {
		c := &call{key: clipKey(key), name: clipKey(name)}
		a.calls = append(a.calls, c)
		a.turn.addCall(c)
	}
}

// dropCall takes back addCall for the call of a key, since the provider has run the tool itself; an
// unknown key does nothing.
func (a *answer) dropCall(key string) {
	i := slices.IndexFunc(a.calls, func(c *call) bool { return c.key == clipKey(key) })
	if i >= 0 {
		a.turn.forgetCall(a.calls[i])
		a.calls = slices.Delete(a.calls, i, i+1)
	}
}

// beginProviderTool announces a tool that the provider runs, under a key by which endProviderTool
// finds it. One that is begun already, or beyond maxCalls, is left out.
func (a *answer) beginProviderTool(key, name string) {
	a.closeOutput()
	if _, twice := a.providerTools[clipKey(key)]; twice || len(a.providerTools) >= maxCalls {
		return
	}
	if complete, err := a.turn.session.Invoked(producer.Tool{Name: clipKey(name)}); err == nil {
		if a.providerTools == nil {
			a.providerTools = map[string]func(error){}
		}
		a.providerTools[clipKey(key)] = complete
	}
}

// endProviderTool announces the end of the tool that the provider ran under a key, as failed or
// not. A key that was not begun changes nothing.
func (a *answer) endProviderTool(key string, failed bool) {
	if complete := a.providerTools[clipKey(key)]; complete != nil {
		a.providerTools[clipKey(key)] = nil
		var err error
		if failed {
			err = errTool
		}
		complete(err)
	}
}

// setEnding marks the answer as over and stores how it ended. Only the first call counts.
func (a *answer) setEnding(end ending) {
	if !a.ended {
		a.ended, a.ending = true, end
	}
}

// finishStream does nothing. Dialects that do not say themselves when an answer is over replace it.
func (a *answer) finishStream() {}

// closeOpen ends the output and the provider's tools that are open.
func (a *answer) closeOpen() {
	a.closeOutput()
	for key := range a.providerTools {
		a.endProviderTool(key, a.ending.cause != nil)
	}
}

// callKey returns the key of a call: its id if it has one, else its tool's name with prefix, which
// names the conversation before it.
func callKey(id, name, prefix string) string {
	if id != "" {
		return clipKey(id)
	}
	return clipKey("\x00" + prefix + "\x00" + name)
}

// clipKey cuts a name or an id that came from outside to 512 bytes.
func clipKey(s string) string { return s[:min(len(s), 512)] }

// decodeLenient decodes the JSON of a client or a provider into the value that target points to,
// and reports whether it could. Repeated names and invalid Unicode do not matter here. After a
// failure a part may be decoded.
func decodeLenient(data []byte, target any) bool {
	return len(data) > 0 &&
		json.Unmarshal(data, target, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil
}

// textOf returns a JSON string, or the text in an array of parts, or "" for any other value.
func textOf(v jsontext.Value) string {
	var s string
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	switch v.Kind() {
	case '"':
		decodeLenient(v, &s)
	case '[':
		decodeLenient(v, &parts)
		var b strings.Builder
		for _, p := range parts {
			if p.Type == "text" || p.Type == "output_text" {
				b.WriteString(p.Text)
			}
		}
		return b.String()
	}
	return s
}
