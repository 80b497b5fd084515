package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/transports"
)

// stage is an agent that talks to a model of ours, and one person who hears all of it.
type stage struct {
	t     *testing.T
	p     *producer.Producer
	tap   *llm.Tap
	model *fakemodel.Server
	// The agent's own.
	language string

	mu     sync.Mutex
	answer aaep.Decision // to every question; none is silence
	change []byte        // that it makes
	// answering is called before each answer; it may be nil.
	answering func()
	told      []string
	order     []string // the ids of the sessions, in which they began
	spoke     []string // the sessions that answered or asked, by their number in order, from 1
	raw       bytes.Buffer
}

// play runs f in virtual time, with a model that answers one thing after the other. Afterwards the
// events are checked.
func play(t *testing.T, f func(st *stage), answers ...fakemodel.Answer) {
	t.Helper()
	playIn(t, "en-US", f, answers...)
}

func playIn(t *testing.T, language string, f func(st *stage), answers ...fakemodel.Answer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &stage{t: t, model: fakemodel.New(answers...), language: language}
		var err error
		if st.p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}, Language: language,
			AnyLanguage: true}); err != nil {
			t.Fatal(err)
		}
		st.tap = llm.New(st.p)
		theirs, ours := transports.Pipe()
		go st.p.ServeConn(ours)
		go st.listen(theirs)
		st.p.WaitSubscriber(t.Context())
		f(st)
		st.p.Shutdown(context.Background())
		synctest.Wait()
		var c check.Checker
		for line, msg := range check.Messages(&st.raw, &err) {
			for _, found := range c.Message(line, msg) {
				if !found.Note {
					t.Errorf("event %d, %s: %s", line, found.Type, found.Problem)
				}
			}
		}
	})
}

func (st *stage) listen(link transports.Conn) {
	ctx := context.Background()
	send := func(m aaep.Message) { msg, _ := aaep.Encode(m); link.Send(ctx, msg) }
	send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader", Capabilities: aaep.Capabilities{
		SupportsConfirmationReply: new(true), CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}}})
	id, said := "", map[string]string{}
	for {
		data, err := link.Receive(ctx)
		if err != nil {
			return
		}
		m, _ := aaep.Decode(data)
		if a, ok := m.(*aaep.SubscriptionAccepted); ok {
			id = a.SubscriptionID
		}
		ev, ok := m.(*aaep.Event)
		if !ok {
			continue
		}
		st.mu.Lock()
		st.raw.Write(append(data, '\n'))
		line := ""
		switch p := ev.Payload.(type) {
		case *aaep.SessionStarted:
			line = "start: " + ev.Summary.Normal
			st.order = append(st.order, ev.SessionID)
		case *aaep.StateChanged:
			line = string(p.ToState)
			if strings.HasPrefix(ev.Summary.Normal, "The answer to ") {
				line += ": " + ev.Summary.Normal
			}
		case *aaep.OutputStreaming:
			if said[p.OutputID] += p.Chunk; p.Complete {
				line = "say: " + said[p.OutputID]
				if p.ContentType != "text/plain" {
					line = p.ContentType + ": " + said[p.OutputID]
				}
				if p.Language != st.language {
					line = p.Language + " " + line
				}
				st.spoke = append(st.spoke, fmt.Sprint(1+slices.Index(st.order, ev.SessionID)))
			}
		case *aaep.ToolInvoked:
			line = "invoked: " + p.Tool
		case *aaep.ToolCompleted:
			line = "done: " + p.Tool + " " + string(p.Status)
		case *aaep.AwaitingConfirmation:
			line = "ask: " + p.Action
			st.spoke = append(st.spoke, fmt.Sprint(1+slices.Index(st.order, ev.SessionID)))
			if st.answering != nil {
				st.answering()
			}
			if st.answer != "" {
				send(&aaep.ConfirmationReply{ReplyToken: p.ReplyToken, Decision: st.answer, ModifiedAction: st.change,
					SubscriptionID: id, Timestamp: time.Now()})
			}
		case *aaep.SessionErrored:
			line = "failed: " + string(p.ErrorCategory) + ": " + ev.Summary.Normal
		case *aaep.SessionCancelled:
			line = "cancelled by " + string(p.CancelledBy)
		default:
			line = strings.TrimPrefix(string(ev.Type()), "aaep:agent.") + ": " + ev.Summary.Normal
		}
		if line != "" {
			st.told = append(st.told, line)
		}
		st.mu.Unlock()
	}
}

// heard compares what was told since the last time.
func (st *stage) heard(want ...string) {
	st.t.Helper()
	synctest.Wait()
	st.mu.Lock()
	defer st.mu.Unlock()
	if !slices.Equal(st.told, want) {
		st.t.Errorf("told:\n\t%s\nwant:\n\t%s", strings.Join(st.told, "\n\t"), strings.Join(want, "\n\t"))
	}
	st.told = nil
}

// toldSoFar returns what was told since the last time.
func (st *stage) toldSoFar() []string {
	synctest.Wait()
	st.mu.Lock()
	defer st.mu.Unlock()
	told := st.told
	st.told = nil
	return told
}

// line is one thing in a conversation.
type line struct {
	user   string
	model  *fakemodel.Answer
	result *result
}

type result struct {
	id, name, text string
	failed         bool
}

func user(text string) line            { return line{user: text} }
func model(a fakemodel.Answer) line    { return line{model: &a} }
func gives(id, name, text string) line { return line{result: &result{id, name, text, false}} }
func fails(id, name, text string) line { return line{result: &result{id, name, text, true}} }

type object = map[string]any

// A request is what counts here of a request to a model.
func request(dialect string, stream bool, lines ...line) *http.Request {
	body := object{"model": "fake"}
	if dialect != fakemodel.Gemini {
		body["stream"] = stream
	}
	var all []any
	for _, l := range lines {
		all = append(all, spoken(dialect, l)...)
	}
	body[map[string]string{fakemodel.Responses: "input", fakemodel.Gemini: "contents"}[dialect]] = all
	if _, ok := body[""]; ok {
		delete(body, "")
		body["messages"] = all
	}
	data, _ := json.Marshal(body)
	r, _ := http.NewRequest("POST", "https://model.example"+fakemodel.Path(dialect, stream)+"?alt=sse",
		bytes.NewReader(data))
	return r
}

func spoken(dialect string, l line) (out []any) {
	r := l.result
	switch {
	case dialect == fakemodel.Gemini && r != nil:
		key := "output"
		if r.failed {
			key = "error"
		}
		response := object{"name": r.name, "response": object{key: r.text}}
		if r.id != "" {
			response["id"] = r.id
		}
		return []any{object{"role": "user", "parts": []any{object{"functionResponse": response}}}}
	case dialect == fakemodel.Gemini && l.model != nil:
		var whole struct {
			Candidates []struct{ Content any }
		}
		json.Unmarshal(fakemodel.Whole(dialect, *l.model), &whole)
		return []any{whole.Candidates[0].Content}
	case dialect == fakemodel.Gemini:
		return []any{object{"role": "user", "parts": []any{object{"text": l.user}}}}
	case dialect == fakemodel.Responses && r != nil:
		return []any{object{"type": "function_call_output", "call_id": r.id, "output": r.text}}
	case dialect == fakemodel.Responses && l.model != nil:
		var whole struct{ Output []any }
		json.Unmarshal(fakemodel.Whole(dialect, *l.model), &whole)
		return whole.Output
	case dialect == fakemodel.Messages && r != nil:
		return []any{object{"role": "user",
			"content": []any{object{"type": "tool_result", "tool_use_id": r.id, "content": r.text,
				"is_error": r.failed}}}}
	case dialect == fakemodel.Messages && l.model != nil:
		var whole struct{ Content any }
		json.Unmarshal(fakemodel.Whole(dialect, *l.model), &whole)
		return []any{object{"role": "assistant", "content": whole.Content}}
	case dialect == fakemodel.Ollama && r != nil:
		return []any{object{"role": "tool", "tool_name": r.name, "content": r.text}}
	case dialect == fakemodel.Ollama && l.model != nil:
		var whole struct{ Message any }
		json.Unmarshal(fakemodel.Whole(dialect, *l.model), &whole)
		return []any{whole.Message}
	case r != nil:
		return []any{object{"role": "tool", "tool_call_id": r.id, "content": r.text}}
	case l.model != nil:
		var whole struct{ Choices []struct{ Message any } }
		json.Unmarshal(fakemodel.Whole(dialect, *l.model), &whole)
		return []any{whole.Choices[0].Message}
	}
	return []any{object{"role": "user", "content": l.user}}
}

// ask sends a request through the tap and reads the answer to its end, which must be what the model
// said.
func (st *stage) ask(dialect string, stream bool, lines ...line) *http.Response {
	st.t.Helper()
	return st.send(request(dialect, stream, lines...))
}

func (st *stage) send(r *http.Request) *http.Response {
	st.t.Helper()
	var raw bytes.Buffer
	client := http.Client{Transport: st.tap.Transport(copying{st.model.Transport(), &raw})}
	resp, err := client.Do(r)
	if err != nil {
		st.t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !bytes.Equal(got, raw.Bytes()) {
		st.t.Errorf("the client read %d bytes, %v; the model sent %d", len(got), err, raw.Len())
	}
	return resp
}

// copying keeps what comes, below the tap.
type copying struct {
	base http.RoundTripper
	raw  *bytes.Buffer
}

func (c copying) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(r)
	if err == nil {
		body := resp.Body
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, c.raw), body}
	}
	return resp, err
}

// everyWay runs f for every dialect, streamed in pieces of several sizes and whole.
func everyWay(t *testing.T, answers []fakemodel.Answer, f func(st *stage, dialect string, stream bool)) {
	for _, dialect := range fakemodel.Dialects {
		for _, piece := range []int{1, 2, 7, 61, 0} {
			t.Run(fmt.Sprint(dialect, "/", piece), func(t *testing.T) {
				play(t, func(st *stage) {
					st.model.Piece = piece
					f(st, dialect, true)
				}, answers...)
			})
		}
		t.Run(dialect+"/whole", func(t *testing.T) { play(t, func(st *stage) { f(st, dialect, false) }, answers...) })
	}
}

// sessions returns which sessions have answered or asked since the last time.
func (st *stage) sessions() []string {
	synctest.Wait()
	st.mu.Lock()
	defer st.mu.Unlock()
	spoke := st.spoke
	st.spoke = nil
	return spoke
}
