package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
)

// A turn without tools is a session: it thinks, answers and ends. What the model thinks is not
// told. (LVL-005)
func TestAnswer(t *testing.T) {
	hello := fakemodel.Answer{Thinks: "They greet me.", Says: []string{"Hello. ", "How ", "are you?"}}
	everyWay(t, []fakemodel.Answer{hello, hello}, func(st *stage, dialect string, stream bool) {
		want := []string{"start: Working on a request.", "thinking", "writing_output", "say: Hello. How are you?",
			"thinking", "session.completed: The agent finished."}
		st.ask(dialect, stream, user("Hi."))
		st.heard(want...)
		st.ask(dialect, stream, user("Hi."), model(hello), user("Hi again."))
		st.heard(want...)
	})
}

// Tools are announced when the answer that wants them is whole, and completed by the request with
// their results; all of it is one session. (LVL-006, LVL-007, EVT-041, SM-003, SM-005)
func TestTools(t *testing.T) {
	wants := fakemodel.Answer{Says: []string{"I look."},
		Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{"city":"Ibadan"}`},
			{ID: "call_2", Name: "clock", Args: `{}`}}}
	knows := fakemodel.Answer{Says: []string{"Sunny, at noon."}}
	everyWay(t, []fakemodel.Answer{wants, knows}, func(st *stage, dialect string, stream bool) {
		st.ask(dialect, stream, user("Weather?"))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I look.", "thinking",
			"calling_tool", "invoked: weather", "invoked: clock")
		failed := "success"
		second := gives("call_2", "clock", "noon")
		if dialect == fakemodel.Messages || dialect == fakemodel.Gemini { // which can say so
			second, failed = fails("call_2", "clock", "broken"), "error"
		}
		st.ask(dialect, stream, user("Weather?"), model(wants), gives("call_1", "weather", "sun"), second)
		st.heard("done: weather success", "done: clock "+failed, "thinking",
			"writing_output", "say: Sunny, at noon.", "thinking", "session.completed: The agent finished.")
	})
}

// Two conversations at once do not mix, not even where calls have no ids and are the same in both.
func TestConversations(t *testing.T) {
	for _, id := range []string{"call_", ""} {
		for _, dialect := range fakemodel.Dialects {
			if id == "" && dialect != fakemodel.Gemini && dialect != fakemodel.Ollama {
				continue // the others have them
			}
			named := func(n string) string {
				if id == "" {
					return ""
				}
				return id + n
			}
			wants := func(n string) fakemodel.Answer {
				return fakemodel.Answer{Calls: []fakemodel.Call{{ID: named(n), Name: "weather", Args: `{"b":1,"a":2}`}}}
			}
			says := func(text string) fakemodel.Answer { return fakemodel.Answer{Says: []string{text}} }
			t.Run(dialect+id, func(t *testing.T) {
				play(t, func(st *stage) {
					st.ask(dialect, true, user("In Ibadan?"))
					st.ask(dialect, true, user("In Lagos?"))
					st.sessions()
					st.ask(dialect, true, user("In Lagos?"), model(wants("2")), gives(named("2"), "weather", "rain"))
					st.ask(dialect, true, user("In Ibadan?"), model(wants("1")), gives(named("1"), "weather", "sun"))
					st.ask(dialect, true, user("In Ibadan?"), model(wants("1")), gives(named("1"), "weather", "sun"),
						model(says("Sun.")), user("And now?"))
					synctest.Wait()
					got := st.sessions()
					want := []string{"2", "1", "3"}
					if !slices.Equal(got, want) {
						t.Errorf("the answers are in the sessions %v, want %v", got, want)
					}
				}, wants("1"), wants("2"), says("Rain."), says("Sun."), says("Still."))
			})
		}
	}
}

// The agent's own session: the tap tells what it sees there, and the agent ends it.
func TestOwnSession(t *testing.T) {
	play(t, func(st *stage) {
		s, err := st.p.StartSession(st.t.Context(), aaep.Say("Planning."))
		if err != nil {
			t.Fatal(err)
		}
		st.send(request(fakemodel.Messages, true, user("Plan.")).WithContext(s.Context()))
		st.send(request(fakemodel.Messages, true, user("Go on.")).WithContext(s.Context()))
		st.send(request(fakemodel.Messages, true, user("Go on.")).WithContext(s.Context()))
		s.Complete(aaep.Say("Planned."))
		st.send(request(fakemodel.Messages, true, user("Too late.")).WithContext(s.Context()))
		st.heard("start: Planning.", "thinking", "writing_output", "say: One.", "thinking",
			"progress.updated: The provider of the model is too busy at the moment.",
			"writing_output", "say: Two.", "thinking",
			"progress.updated: The answer was cut off because it became too long.", "session.completed: Planned.")
	}, fakemodel.Answer{Says: []string{"One."}}, fakemodel.Answer{Status: 429},
		fakemodel.Answer{Says: []string{"Two."}, Long: true},
		fakemodel.Answer{Says: []string{"Three."}})
}

// Results of tools that never come do not leave a session open for ever.
func TestNoResults(t *testing.T) {
	wants := fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{}`}}}
	play(t, func(st *stage) {
		st.ask(fakemodel.Chat, true, user("Weather?"))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: weather")
		time.Sleep(9 * time.Minute)
		st.heard()
		time.Sleep(2 * time.Minute)
		st.heard("done: weather error", "cancelled by timeout")
	}, wants)
}

// No more sessions than can be followed wait for results.
func TestManyTurns(t *testing.T) {
	const n = 300
	answers := make([]fakemodel.Answer, n)
	for i := range answers {
		answers[i].Calls = []fakemodel.Call{{ID: fmt.Sprint("call_", i), Name: "weather", Args: `{}`}}
	}
	play(t, func(st *stage) {
		for i := range answers {
			st.ask(fakemodel.Chat, false, user(fmt.Sprint(i)))
		}
		synctest.Wait()
		ended := 0
		for _, line := range st.told {
			if line == "cancelled by producer" {
				ended++
			}
		}
		if ended != n-256 {
			t.Errorf("%d of %d sessions were given up", ended, n)
		}
	}, answers...)
}

// No more calls of one session than can be followed wait for results. (P10)
func TestManyCalls(t *testing.T) {
	var wants fakemodel.Answer
	for i := range 200 {
		wants.Calls = append(wants.Calls, fakemodel.Call{ID: fmt.Sprint("call_", i), Name: "weather", Args: `{}`})
	}
	play(t, func(st *stage) {
		s, _ := st.p.StartSession(st.t.Context(), aaep.Say("Mine."))
		for range 2 {
			st.send(request(fakemodel.Chat, false, user("All.")).WithContext(s.Context()))
		}
		synctest.Wait()
		done := 0
		for _, line := range st.told {
			if line == "done: weather success" {
				done++
			}
		}
		if done != 2*200-256 {
			t.Errorf("%d calls were given up", done)
		}
	}, wants, wants)
}

// An agent of another language has the tap's sentences in that.
func TestLanguage(t *testing.T) {
	playIn(t, "es-MX", func(st *stage) {
		st.ask(fakemodel.Chat, true, user("Hola."))
		st.ask(fakemodel.Chat, true, user("¿Y?"))
		st.heard("start: Trabajando en una solicitud.", "thinking", "writing_output", "say: Sí.", "thinking",
			"session.completed: El agente terminó.",
			"start: Trabajando en una solicitud.", "thinking",
			"failed: unknown: El proveedor del modelo no aceptó la solicitud.")
	}, fakemodel.Answer{Says: []string{"Sí."}}, fakemodel.Answer{Status: 401})
}

// In a language that the tap has no sentences in, its sentences are English and labelled so; what
// the model says is the agent's own. I18N-001
func TestLanguageUnknown(t *testing.T) {
	playIn(t, "fi", func(st *stage) {
		st.ask(fakemodel.Chat, true, user("Hei."))
		st.ask(fakemodel.Chat, true, user("Ja?"))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: Kyllä.", "thinking",
			"session.completed: The agent finished.",
			"start: Working on a request.", "thinking",
			"progress.updated: The provider of the model is too busy at the moment.")
		for line := range strings.Lines(st.raw.String()) {
			want := `"primary_language":"en"`
			if strings.Contains(line, "output.streaming") {
				want = `"primary_language":"fi"`
			}
			if !strings.Contains(line, want) {
				t.Errorf("%s\nis not %s", line, want)
			}
		}
	}, fakemodel.Answer{Says: []string{"Kyllä."}}, fakemodel.Answer{Status: 529})
}

// Some servers number the calls of every conversation from zero: what was answered long ago says
// nothing about whose request it is. So does a request that is the same as another user's.
func TestSameCalls(t *testing.T) {
	for _, dialect := range []string{fakemodel.Chat, fakemodel.Messages} {
		wants := fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_0", Name: "weather", Args: `{}`}}}
		says := fakemodel.Answer{Says: []string{"Sun."}}
		begins := []string{"start: Working on a request.", "thinking", "calling_tool", "invoked: weather"}
		play(t, func(st *stage) {
			busy := "progress.updated: The provider of the model is too busy at the moment."
			st.ask(dialect, true, user("In Ibadan?"))
			st.ask(dialect, true, user("In Ibadan?"))
			st.heard(slices.Insert(slices.Clone(begins), 2, busy)...)
			st.ask(dialect, true, user("In Ibadan?"))
			st.heard(begins...)
			st.ask(dialect, true, user("In Lagos?"), model(wants), gives("call_0", "weather", "rain"), model(says),
				user("And now?"))
			st.heard("start: Working on a request.", "thinking", "writing_output", "say: Sun.", "thinking",
				"session.completed: The agent finished.")
		}, fakemodel.Answer{Status: 429}, wants, wants, says)
	}
}

// An answer that is to be JSON is told as such: no person wants to hear its brackets by surprise.
// (EVT-064)
func TestJSON(t *testing.T) {
	says := fakemodel.Answer{Says: []string{`{"a":`, `1}`}}
	for dialect, format := range map[string]string{
		fakemodel.Chat:      `{"messages":[],"response_format":{"type":"json_schema"}}`,
		fakemodel.Responses: `{"input":"Hi.","text":{"format":{"type":"json_object"}}}`,
		fakemodel.Gemini:    `{"contents":[],"generationConfig":{"responseMimeType":"application/json"}}`,
		fakemodel.Ollama:    `{"messages":[],"format":{"type":"object"},"stream":false}`,
	} {
		play(t, func(st *stage) {
			st.send(requestTo("POST", fakemodel.Path(dialect, false), strings.NewReader(format)))
			st.heard("start: Working on a request.", "thinking", "writing_output", `application/json: {"a":1}`,
				"thinking", "session.completed: The agent finished.")
		}, says)
	}
}

// A request whose body can be read once is followed too, and sent as it was, up to where it breaks
// off.
func TestReadOnce(t *testing.T) {
	play(t, func(st *stage) {
		broken := errors.New("the disk broke")
		for _, end := range []error{nil, broken} {
			from := io.Reader(strings.NewReader(`{"messages":[{"role":"user"}],"stream":false}`))
			if end != nil {
				from = io.MultiReader(from, iotest.ErrReader(end))
			}
			closed := false
			r := requestTo("POST", "/v1/chat/completions", onClose{from, func() { closed = true }})
			resp, err := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
				sent, err := io.ReadAll(r.Body)
				if r.Body.Close(); err != end || len(sent) != 45 || !closed || r.ContentLength != 0 {
					t.Errorf("%q was sent, %v; closed %v", sent, err, closed)
				}
				if err != nil {
					return nil, err
				}
				return st.model.Transport().RoundTrip(requestTo("POST", "/v1/chat/completions", bytes.NewReader(sent)))
			})).RoundTrip(r)
			if err != end {
				t.Fatal(err)
			}
			if err == nil {
				io.Copy(io.Discard, resp.Body)
			}
		}
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: Here.", "thinking",
			"session.completed: The agent finished.")
	}, fakemodel.Answer{Says: []string{"Here."}})
}

// One that never ends is given up with its context.
func TestReadNever(t *testing.T) {
	play(t, func(st *stage) {
		ctx, cancel := context.WithTimeout(st.t.Context(), time.Minute)
		defer cancel()
		from, to := io.Pipe()
		defer to.Close()
		_, err := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, r.Context().Err()
		})).
			RoundTrip(requestTo("POST", "/v1/chat/completions", from).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		st.heard()
	})
}

// What a model speaks itself is told in letters, for who does not hear it.
func TestTranscript(t *testing.T) {
	for dialect, stream := range map[string]string{
		fakemodel.Chat: `data: {"choices":[{"index":0,"delta":{"role":"assistant","audio":{"id":"audio_1","transcript":"Good "}}}]}

data: {"choices":[{"index":0,"delta":{"audio":{"data":"AAAA","transcript":"day."}}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

`,
		fakemodel.Responses: `data: {"type":"response.audio.transcript.delta","delta":"Good "}

data: {"type":"response.audio.transcript.delta","delta":"day."}

data: {"type":"response.audio.transcript.done"}

data: {"type":"response.completed","response":{"status":"completed"}}

`} {
		play(t, func(st *stage) {
			resp, err := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
					Body: io.NopCloser(strings.NewReader(stream))}, nil
			})).RoundTrip(request(dialect, true, user("Hi.")))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			st.heard("start: Working on a request.", "thinking", "writing_output", "say: Good day.", "thinking",
				"session.completed: The agent finished.")
		})
	}
}

// An answer is labelled with the language it is seen to be in, to its end: no voice for English
// reads Arabic. (EVT-065)
func TestAnswerInLanguage(t *testing.T) {
	for want, says := range map[string][]string{
		"ar ": {"# ", "مرحبًا، ", "هذا GPT. ", "OK?"},
		"ja ": {"五百", "ドルです。", "以上。"},
		"":    {"The word ", "مرحبًا ", "is Arabic."},
	} {
		play(t, func(st *stage) {
			st.ask(fakemodel.Chat, true, user("Hi."))
			st.heard("start: Working on a request.", "thinking", "writing_output", want+"say: "+strings.Join(says, ""),
				"thinking", "session.completed: The agent finished.")
		}, fakemodel.Answer{Says: says})
	}
}
