// Package llm makes an accessible agent of one that exists: it follows what the agent and its
// language model say to each other over HTTP, and tells it as AAEP. It speaks OpenAI's chat
// completions, which most gateways and local servers speak too, and Responses, Anthropic's
// messages, Google's generateContent and Ollama's chat and generate, streamed or whole, and needs
// no SDK.
//
//	tap := llm.New(p)                                                    // p is a producer.Producer
//	client := openai.NewClient(option.WithMiddleware(tap.Middleware))    // so does anthropic.NewClient
//	client := genai.ClientConfig{HTTPClient: &http.Client{Transport: tap.Transport(nil)}}
//	                                                                     // and anything with a http.Client
//	transfer = llm.Guard(tap, "transfer", describe, transfer)            // asks before it runs
//
// Which request belongs to which session is decided in tap.go; what a turn tells, and how long it
// waits for a request to come again, in turn.go. Each provider's format has a file: chat.go,
// responses.go, messages.go, gemini.go and ollama.go, with what they share in answer.go. An answer
// is read as it passes in answer_body.go, event_splitter.go and gzip.go; reasoning.go leaves out
// what the model thinks, script.go finds the language, and guard.go asks before a tool runs. The
// proxy is in proxy.go, and which of its requests are not told in background.go.
//
// # Sessions
//
// A session begins with the first request of a user's turn and ends with the answer that asks for
// no tool. Requests that bring the results of tools belong to the session of the answer that asked
// for them, so any number of conversations may go on at once. A request that failed and is sent
// again as it was within ten seconds, or after the provider's Retry-After, goes on where it failed.
//
// An agent that asks its model several times for one turn, or has more to say, begins the session
// itself and makes its requests with that session's Context: they belong to it, and the agent ends
// it. So does a server, with the context of its user's request: that alone tells, while a tool
// runs, that the user has left, and whose call a guarded tool's is.
//
//	s, err := p.StartSession(r.Context(), aaep.Say("Answering you."))
//	defer s.Close()                                     // what went wrong with the model is told by itself
//	answer, err := chat(s.Context(), r.FormValue("q"))  // the requests to the model, and the tools
//	if err == nil {
//		s.Complete(aaep.Text{})
//	}
//
// What the person should not hear, such as the request for a title, goes through a client without
// the tap.
//
// # Tools
//
// A model's answer says that it wants a tool, not that the tool runs. When the answer is whole, the
// tools in it that are not guarded are announced, and the request that brings their results
// completes them. Guarded tools are silent until they are called; Guard asks, runs them and tells
// what came of it. Guard whatever changes the world, and before the first request, under the name
// by which the model calls it: a call by a name that no request gave to a model is an error, and
// runs nothing. A guarded tool's function finds its session in its context, and can ask there for
// what it has to know; one of low risk is told and not asked about:
//
//	book = llm.Guard(tap, "book", func(in Trip) producer.Tool {
//		return producer.Tool{Risk: aaep.RiskLow, Action: aaep.Say("Looking for a train.")}
//	}, func(ctx context.Context, in Trip) (string, error) {
//		question := producer.Question{Text: aaep.Say("First or second class?"), …}
//		class, err := producer.SessionOf(ctx).AskText(ctx, question)
//
// Tools that the provider runs itself, such as its web search, are announced as they begin and end.
//
// # Languages
//
// No provider says the language of an answer. It is told as being in the agent's own, or, where its
// first letters are of another script, in the first of producer.Config's that is written so, or in
// the one that most often is.
//
// # What passes untouched
//
// The client sees every byte of the answer as it would without the tap, and when it would: nothing
// is buffered or read ahead but the reason of a 429, and no listener is waited for. Reasoning is
// not told, only that the agent thinks. Requests to other addresses and those of more than 64 MiB
// are not followed. Of an answer that is still compressed, because the client asked for that
// itself, or that is one piece of more than 16 MiB, it is told that there is one.
package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxRequest = 64 << 20 // bytes of a request that are read
	maxWhole   = 16 << 20 // bytes of an answer that comes in one piece
	maxEvent   = 4 << 20  // bytes of one event of a streamed answer
	maxTurns   = 256      // sessions, beyond which those that wait for results of tools are given up,
	maxAnswers = 4096     // and beyond which all are: some clients never read what they asked for
	maxError   = 64 << 10 // bytes of an error that are looked at
	maxCalls   = 256      // calls of tools in one session
)

// A Tap is on the line between an agent and its models. In a service with several users each has
// one of their own, as they have a producer.Producer, with a client or a choice in its middleware
// by the request's context, and with the tools that it guards. All its methods may be called at
// once.
type Tap struct {
	producer  *producer.Producer
	languages []string

	mu              sync.Mutex
	turns           []*turn // open, oldest first
	guarded         map[string]bool
	knownTools      map[string]bool // the tools that models were given, by name
	toolsIncomplete bool            // not all of the given tools are known
	speaking        uint64          // the id of the program that was told of last; see switchProgram
}

// New returns a Tap that announces models' answers through p, in the languages of p's manifest. A
// Producer that New of package producer did not make gives errors later.
func New(p *producer.Producer) *Tap {
	t := &Tap{producer: p, guarded: map[string]bool{}, knownTools: map[string]bool{}}
	if m, err := p.Manifest(); err == nil { // else made says so
		t.languages = m.LanguagesSupported
	}
	return t
}

// Middleware sends r with next, returns what that returns, and follows what is said. It is of the
// type that the SDKs of OpenAI and Anthropic take, as an option that stands before those of a
// cloud, such as Vertex or Bedrock, which give requests another form.
func (t *Tap) Middleware(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if err := t.checkMade(); err != nil {
		return nil, err
	}
	d, ok := dialectOf(r)
	if !ok {
		return next(r)
	}
	r, body, ok := bodyOf(r)
	if !ok {
		return next(r)
	}
	req := readRequest(r, d, body)
	t.noteTools(body)
	return t.follow(r, d, req, next)
}

// readRequest returns what counts of r, whose body is body, for joining it to a turn: its tools'
// results, and a sum by which a repetition is known.
func readRequest(r *http.Request, d dialect, body []byte) request {
	req := d.request(body)
	req.done = r.Context().Done()
	h := sha256.New()
	fmt.Fprintln(h, r.URL)
	h.Write(body)
	h.Sum(req.sum[:0])
	return req
}

// follow sends r with next and follows the answer in the turn that req belongs to. Where no turn
// can be had, r passes unfollowed. What it returns is next's.
func (t *Tap) follow(r *http.Request, d dialect, req request, next func(*http.Request) (*http.Response, error)) (
	*http.Response, error) {
	turn := t.joinTurn(r.Context(), req)
	if turn == nil {
		return next(r)
	}
	resp, err := next(r)
	switch {
	case err != nil || resp == nil || resp.Body == nil:
		turn.failRequest(r.Context(), nil, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		turn.failRequest(r.Context(), resp, nil)
	default:
		resp.Body = newAnswerBody(r.Context(), resp, turn, d, req)
	}
	return resp, err
}

// checkMade returns what is wrong with a Tap that New did not make, or made of no Producer: nothing
// that passes would ever be heard.
func (t *Tap) checkMade() error {
	if t == nil || t.guarded == nil || t.producer == nil {
		return errors.New("llm: the Tap is nil, or was not made by New with a producer.Producer")
	}
	return nil
}

// noteTools stores the names of the tools that the model of a request may call, for Guard's check.
// A tool without a name, and a list that cannot be read, make the list incomplete, so that Guard
// complains of nothing. It takes t.mu.
func (t *Tap) noteTools(body []byte) {
	type named struct {
		Name string `json:"name"`
	}
	var in struct {
		Tools []struct {
			named    `json:",embed"`
			Function named   `json:"function"`
			Custom   named   `json:"custom"`
			Gemini   []named `json:"functionDeclarations"`
			Snake    []named `json:"function_declarations"`
		} `json:"tools"`
		Functions []named `json:"functions"`
	}
	complete := decodeLenient(body, &in)
	t.mu.Lock()
	defer t.mu.Unlock()
	functions := in.Functions
	for _, tool := range in.Tools {
		names := slices.Concat([]named{tool.named, tool.Function, tool.Custom}, tool.Gemini, tool.Snake)
		names = slices.DeleteFunc(names, func(n named) bool { return n.Name == "" })
		complete = complete && len(names) > 0 // a tool without a name is the provider's, or stands for several
		functions = append(functions, names...)
	}
	for _, f := range functions {
		if t.knownTools[clipKey(f.Name)] = true; len(t.knownTools) > maxTurns*maxCalls {
			t.knownTools, complete = map[string]bool{}, false
		}
	}
	t.toolsIncomplete = t.toolsIncomplete || !complete
}

// Transport returns a http.RoundTripper that sends with base and follows what is said. A nil base
// is http.DefaultTransport.
func (t *Tap) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return transport{t, base}
}

// A transport is what Transport returns.
type transport struct {
	tap  *Tap
	base http.RoundTripper
}

// RoundTrip sends r with base through the tap.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.tap.Middleware(r, t.base.RoundTrip)
}

// CloseIdleConnections is for http.Client, which looks for it.
func (t transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// dialectOf returns the dialect of a request by its path, and whether it is a request to a model.
func dialectOf(r *http.Request) (dialect, bool) {
	if r.Method != http.MethodPost || r.URL == nil {
		return dialect{}, false
	}
	for _, d := range dialects {
		if strings.HasSuffix(r.URL.Path, d.path) {
			return d, true
		}
	}
	return dialect{}, false
}

// bodyOf returns the bytes of a request's body, and the request to send in its place, whose body
// can still be read whole. It reports false if the body is missing, too large or broken; the
// request that it returns is to be sent all the same.
func bodyOf(r *http.Request) (*http.Request, []byte, bool) {
	if r.Body == nil || r.ContentLength > maxRequest {
		return r, nil, false
	}
	if r.GetBody == nil { // it can be read once, and was to be sent as it comes
		defer context.AfterFunc(r.Context(), func() { r.Body.Close() })()
		var read bytes.Buffer
		read.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead)
		_, err := read.ReadFrom(io.LimitReader(r.Body, maxRequest+1))
		data := read.Bytes()
		copied, rest := *r, io.Reader(r.Body) // reading rest gives the same error again
		isWhole := err == nil && len(data) <= maxRequest
		if isWhole { // a server's body must not be read any more once the answer begins
			rest = http.NoBody
			copied.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		}
		copied.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(data), rest), r.Body}
		return &copied, data, isWhole
	}
	body, err := r.GetBody()
	if err != nil {
		return r, nil, false
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxRequest+1))
	return r, data, err == nil && len(data) <= maxRequest
}

// localize returns one of the SDK's own sentences in the languages of the agent.
func (t *Tap) localize(id phrase.ID) aaep.Text { return phrase.Text(t.languages, id, "") }

// aboutRequest returns what a session of a request is about: the program that made it, where its
// name is known, in the agent's languages.
func (t *Tap) aboutRequest(from program) aaep.Text {
	if from.name == "" {
		return t.localize(phrase.Request)
	}
	return phrase.Text(t.languages, phrase.RequestOf, from.name)
}

// switchProgram makes p the program that announcements are about, and reports whether the last one
// was about another program.
func (t *Tap) switchProgram(p program) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	previous := t.speaking
	t.speaking = p.id
	return previous != 0 && previous != p.id
}

// firstSentence returns one of the SDK's own sentences in the agent's first language.
func (t *Tap) firstSentence(id phrase.ID) string {
	sentence, _ := phrase.In(strings.Join(t.languages[:min(1, len(t.languages))], ""), id, "")
	return sentence
}

// joinTurn returns the turn that a request belongs to, a new one with its session where it begins
// one, and counts the request as open. It returns nil where nothing is to be announced.
func (t *Tap) joinTurn(ctx context.Context, req request) *turn {
	s := producer.SessionOf(ctx)
	x, finished := t.assignRequest(s, req, nil)
	if x == nil {
		newTurn := &turn{tap: t, session: s}
		switch {
		case s == nil:
			var err error
			if newTurn.session, err = t.producer.StartSession(context.WithoutCancel(ctx),
				t.aboutRequest(req.from)); err != nil {
				return nil
			}
			newTurn.isOwned, newTurn.from = true, req.from
			t.switchProgram(req.from)
		case s.Context().Err() != nil:
			return nil
		}
		x, finished = t.assignRequest(newTurn.session, req, newTurn)
	}
	x.reportThinking(finished)
	return x
}

// assignRequest starts a request in the open turn that it belongs to, or else in newTurn, which is
// then open. It returns the turn, nil if there is none, and the calls whose results came with the
// request. A turn that has to make room for newTurn is cancelled.
func (t *Tap) assignRequest(s *producer.Session, req request, newTurn *turn) (x *turn, finished []*call) {
	var evicted *turn
	t.mu.Lock()
	if x = t.findTurn(s, req); x == nil && newTurn != nil {
		x, evicted = newTurn, t.addTurn(newTurn)
	}
	if x != nil {
		finished = x.startRequest(req)
	}
	t.mu.Unlock()
	if evicted != nil && evicted.isOwned {
		evicted.session.Cancel(aaep.CancelledByProducer, aaep.Text{})
	}
	return x, finished
}

// findTurn returns the open turn that a request belongs to, or nil. Some local servers give the
// first tool call of each answer the same id. Of several turns that wait for it, the request then
// belongs to the one of its own conversation, or else to the newest. The caller holds t.mu.
func (t *Tap) findTurn(s *producer.Session, req request) (found *turn) {
	for _, x := range t.turns {
		switch {
		case s != nil && x.session == s:
			return x
		case s != nil || x.from.id != req.from.id:
		case x.retrying && x.lastRequest == req.sum:
			return x
		case !slices.ContainsFunc(x.calls, func(c *call) bool { return slices.Contains(req.keys, c.key) }):
		case req.before != "" && x.said == req.before:
			return x
		default:
			found = x
		}
	}
	return found
}

// addTurn adds a turn to the open ones, until its session ends; t.mu is held. If there are too
// many, it removes and returns the oldest that waits for results, or the oldest of all.
func (t *Tap) addTurn(x *turn) (evicted *turn) {
	if len(t.turns) >= maxTurns {
		if i := slices.IndexFunc(t.turns, (*turn).isWaiting); i >= 0 || len(t.turns) >= maxAnswers {
			evicted = t.turns[max(i, 0)]
			t.removeTurn(evicted)
		}
	}
	t.turns = append(t.turns, x)
	context.AfterFunc(x.session.Context(), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.removeTurn(x)
	})
	return evicted
}

// removeTurn forgets a turn that is over; t.mu is held.
func (t *Tap) removeTurn(x *turn) {
	t.turns = slices.DeleteFunc(t.turns, func(y *turn) bool { return x == y })
}
