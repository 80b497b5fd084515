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

	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// A dialect is how a family of providers says it.
type dialect struct {
	path    string // that the address ends with
	request func(body []byte) request
	answer  func(*answer, request) hears
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

// hears is told what a provider says in one answer, and tells the answer what that means.
type hears interface {
	event(name string, data []byte) // one event of a streamed answer; data is nil if it was too large
	whole(data []byte) bool         // an answer in one piece; false if it is none
	done()                          // nothing more comes
}

// A request is what matters here of one.
type request struct {
	keys    []string          // the calls it speaks of
	results []result          // of tools
	json    bool              // the answer is to be JSON
	prefix  string            // what the conversation is known by where calls have no ids
	sum     [sha256.Size]byte // tells whether it is sent again
	done    <-chan struct{}   // of its context
}

type result struct {
	key string
	err error
}

func (q *request) result(key string, failed bool, says ...jsontext.Value) {
	r := result{key: key}
	switch {
	case slices.ContainsFunc(says, isRefusal):
		r.err = errNotDone
	case failed:
		r.err = errTool
	}
	q.keys, q.results = append(q.keys, key), append(q.results, r)
}

// errNotDone is of a call that was refused, or that Guard did not take: whoever hears of it hears
// that it was not done.
var errNotDone = fmt.Errorf("the tool's result says that it was not done: %w", producer.ErrRejected)

// isRefusal reports whether a tool's result is what Guard returned instead of running the tool.
func isRefusal(says jsontext.Value) bool {
	text := string(says)
	return strings.Contains(text, "Not done: ") &&
		slices.ContainsFunc([]string{refusedNo, refusedLate, refusedAlone}, func(why string) bool {
			return strings.Contains(text, why)
		}) ||
		strings.Contains(text, unknownTool)
}

var errTool = errors.New("the tool's result says that it failed")

// An ending is how an answer ended.
type ending struct {
	words phrase.ID // none where there is nothing to say
	cause error     // why there is no answer, or not all of it
}

const none phrase.ID = ""

// A failure is why there is no answer. It holds nothing that the provider said.
type failure struct {
	what      string
	temporary bool
}

func (f *failure) Error() string   { return "llm: " + f.what }
func (f *failure) Temporary() bool { return f.temporary }

// endingOf says what an HTTP status means, and whether it may pass.
func endingOf(status int) (end ending, temporary bool) {
	f := &failure{what: fmt.Sprintf("the provider answered %d %s", status, http.StatusText(status)), temporary: true}
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

// faultOf says what an error in the middle of an answer means, by the name it has.
func faultOf(name string) ending {
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
	end, _ := endingOf(status)
	return end
}

var (
	whole    = ending{words: none}
	tooLong  = ending{words: phrase.AnswerCut}
	declined = ending{words: phrase.AnswerDeclined,
		cause: &failure{what: "the model or its provider declined to answer"}}
)

// An answer is what is known of one so far.
type answer struct {
	turn    *turn
	json    bool             // it is JSON
	out     *producer.Output // open while text comes
	lang    string           // that it is in, once that can be seen
	wanted  []*call
	running map[string]func(error) // tools that the provider runs; nil once they ended
	over    bool
	ending  ending
}

// text is said by the model to the user.
func (a *answer) text(text string) {
	if text == "" || a.over {
		return
	}
	if a.out == nil {
		a.out = a.turn.s.Output()
		if a.json {
			a.out.SetContentType("application/json")
		}
		if a.lang != "" {
			a.out.SetLanguage(a.lang)
		}
	}
	if a.lang == "" || a.lang == "zh" { // which Japanese may begin as
		if lang := languageOf(text, a.turn.tap.languages); lang != a.lang &&
			(a.lang == "" || lang == "ja" || lang == "ko") {
			a.lang = lang
			a.out.SetLanguage(lang)
		}
	}
	a.out.WriteString(text)
}

// pause says that something else than text follows.
func (a *answer) pause() {
	if a.out != nil {
		a.out.Close()
		a.out = nil
	}
}

// call is a tool that the agent is to run.
func (a *answer) call(key, name string) {
	if a.pause(); len(a.wanted) < maxCalls && !a.over {
		c := &call{key: clip(key), name: clip(name)}
		a.wanted = append(a.wanted, c)
		a.turn.wants(c)
	}
}

// ran says that somebody else has run a tool that seemed the agent's to run.
func (a *answer) ran(key string) {
	i := slices.IndexFunc(a.wanted, func(c *call) bool { return c.key == clip(key) })
	if i >= 0 {
		a.turn.forget(a.wanted[i])
		a.wanted = slices.Delete(a.wanted, i, i+1)
	}
}

// begins is a tool that the provider runs, and ends is its end.
func (a *answer) begins(key, name string) {
	a.pause()
	if _, twice := a.running[clip(key)]; twice || len(a.running) >= maxCalls {
		return
	}
	if done, err := a.turn.s.Invoked(producer.Tool{Name: clip(name)}); err == nil {
		if a.running == nil {
			a.running = map[string]func(error){}
		}
		a.running[clip(key)] = done
	}
}

func (a *answer) ends(key string, failed bool) {
	if done := a.running[clip(key)]; done != nil {
		a.running[clip(key)] = nil
		var err error
		if failed {
			err = errTool
		}
		done(err)
	}
}

// end says that the answer is over. Only the first counts.
func (a *answer) end(how ending) {
	if !a.over {
		a.over, a.ending = true, how
	}
}

// done is for the dialects that say themselves when an answer is over.
func (a *answer) done() {}

// close ends what is open.
func (a *answer) close() {
	a.pause()
	for key := range a.running {
		a.ends(key, a.ending.cause != nil)
	}
}

// keyOf names a call, by its id where it has one.
func keyOf(id, name, prefix string) string {
	if id != "" {
		return clip(id)
	}
	return clip("\x00" + prefix + "\x00" + name)
}

func clip(s string) string { return s[:min(len(s), 512)] }

// decode reads JSON that others wrote: what is doubled or no Unicode does not matter here.
func decode(data []byte, into any) bool {
	return len(data) > 0 &&
		json.Unmarshal(data, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil
}

// words returns a JSON string, or the text in an array of parts, or "".
func words(v jsontext.Value) string {
	var s string
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	switch v.Kind() {
	case '"':
		decode(v, &s)
	case '[':
		decode(v, &parts)
		for _, p := range parts {
			if p.Type == "text" || p.Type == "output_text" {
				s += p.Text
			}
		}
	}
	return s
}
