package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/transports"
)

// stuck is a trail that takes no question until it is released.
type stuck struct {
	once           sync.Once
	asked, release chan struct{}
}

func (s *stuck) Record(r audit.Record) error {
	if r.Kind == audit.Asked {
		s.once.Do(func() { close(s.asked) }) // who comes meanwhile is asked too
		<-s.release
	}
	return nil
}

// A conversation that waits, here for its question to be put on record, keeps no other from going
// on. (P7)
func TestOthersGoOn(t *testing.T) {
	trail := &stuck{asked: make(chan struct{}), release: make(chan struct{})}
	st := &stage{t: t,
		model: fakemodel.New(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{}`}}},
			fakemodel.Answer{Says: []string{"Hello."}}, fakemodel.Answer{Says: []string{"Sun."}})}
	var err error
	if st.p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}, Audit: trail}); err != nil {
		t.Fatal(err)
	}
	st.tap = llm.New(st.p)
	theirs, ours := transports.Pipe()
	go st.p.ServeConn(ours)
	go st.listen(theirs)
	st.p.WaitSubscriber(t.Context())
	s, err := st.p.StartSession(t.Context(), aaep.Say("Mine."))
	if err != nil {
		t.Fatal(err)
	}
	st.send(request(fakemodel.Chat, true, user("Weather?")).WithContext(s.Context()))
	var all sync.WaitGroup
	all.Go(func() {
		s.Confirm(s.Context(),
			producer.Tool{Name: "pay", Confirm: true, Action: aaep.Say("Pay."), Consequence: aaep.Say("Paid.")})
	})
	<-trail.asked
	all.Go(func() {
		st.send(request(fakemodel.Chat, true, gives("call_1", "weather", "sun")).WithContext(s.Context()))
	})
	others := make(chan struct{})
	go func() {
		defer close(others)
		for st.tap.Waiting() > 0 {
			runtime.Gosched()
		}
		st.ask(fakemodel.Chat, true, user("Hi."))
	}()
	select {
	case <-others:
	case <-time.After(time.Minute):
		t.Error("the other conversation waits")
	}
	close(trail.release)
	s.Cancel(aaep.CancelledByUser, aaep.Text{})
	all.Wait()
	st.p.Shutdown(t.Context())
}

// slowly is a context that lets others run while it is looked into.
type slowly struct{ context.Context }

func (s slowly) Value(key any) any {
	for range 100 {
		runtime.Gosched()
	}
	return s.Context.Value(key)
}

// Requests that an agent makes at once in a session of its own are one turn: each result completes
// its tool.
func TestAtOnce(t *testing.T) {
	const n = 8
	answers := make([]fakemodel.Answer, 2*n)
	for i := range n {
		answers[i].Calls = []fakemodel.Call{{ID: fmt.Sprint("call_", i), Name: "weather", Args: `{}`}}
		answers[n+i].Says = []string{"Sun."}
	}
	play(t, func(st *stage) {
		s, err := st.p.StartSession(st.t.Context(), aaep.Say("Mine."))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				st.send(request(fakemodel.Chat, false, user("Weather?")).WithContext(slowly{s.Context()}))
			})
		}
		all.Wait()
		for i := range n {
			st.send(request(fakemodel.Chat, false, gives(fmt.Sprint("call_", i), "weather", "sun")).WithContext(
				s.Context()))
		}
		s.Complete(aaep.Text{})
		synctest.Wait()
		st.mu.Lock()
		defer st.mu.Unlock()
		if slices.Contains(st.told, "done: weather error") {
			t.Errorf("told: %s", st.told)
		}
	}, answers...)
}

// held is an answer that comes when it is let go.
func held(st *stage, r *http.Request) (resp *http.Response, body *io.PipeWriter) {
	st.t.Helper()
	out, in := io.Pipe()
	resp, err := st.tap.Transport(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: out},
			nil
	})).RoundTrip(r)
	if err != nil {
		st.t.Fatal(err)
	}
	return resp, in
}

// A turn whose results go back in two requests at once goes on while one of them does, and ends
// with the last. (EVT-018)
func TestTwoRequests(t *testing.T) {
	wants := fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{}`},
		{ID: "call_2", Name: "clock", Args: `{}`}}}
	play(t, func(st *stage) {
		st.ask(fakemodel.Chat, false, user("Weather?"))
		first, _ := held(st, request(fakemodel.Chat, false, gives("call_1", "weather", "sun")))
		second, body := held(st, request(fakemodel.Chat, false, gives("call_2", "clock", "noon")))
		first.Body.Close() // given up
		time.Sleep(time.Hour)
		go func() {
			body.Write(fakemodel.Whole(fakemodel.Chat, fakemodel.Answer{Says: []string{"Sun."}}))
			body.Close()
		}()
		io.Copy(io.Discard, second.Body)
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: weather", "invoked: clock",
			"done: weather success", "done: clock success", "thinking",
			"writing_output", "say: Sun.", "thinking", "session.completed: The agent finished.")
	}, wants)
}

// Conversations whose answers are still coming are not those that are given up where there are too
// many. (P7)
func TestManyAnswers(t *testing.T) {
	play(t, func(st *stage) {
		for i := range 300 {
			_, body := held(st, request(fakemodel.Chat, false, user(fmt.Sprint(i))))
			defer body.Close()
		}
		synctest.Wait()
		st.mu.Lock()
		defer st.mu.Unlock()
		if slices.Contains(st.told, "cancelled by producer") {
			t.Error("a session was given up")
		}
	})
}

// A client that cancels its request and forgets the answer leaves no session that never ends.
// (EVT-018)
func TestForgotten(t *testing.T) {
	play(t, func(st *stage) {
		ctx, cancel := context.WithCancel(st.t.Context())
		_, body := held(st, request(fakemodel.Chat, false, user("Hi.")).WithContext(ctx))
		defer body.Close()
		st.heard("start: Working on a request.", "thinking")
		cancel()
		st.heard("cancelled by producer")
	})
}

// A client that makes up ids for calls that have none is followed like one that does not.
func TestMadeUpIDs(t *testing.T) {
	wants := fakemodel.Answer{Calls: []fakemodel.Call{{Name: "weather", Args: `{}`}}}
	play(t, func(st *stage) {
		st.ask(fakemodel.Gemini, true, user("Weather?"))
		st.ask(fakemodel.Gemini, true, user("Weather?"), model(wants), gives("weather-17", "weather", "sun"))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: weather", "done: weather success",
			"thinking", "writing_output", "say: Sun.", "thinking", "session.completed: The agent finished.")
	}, wants, fakemodel.Answer{Says: []string{"Sun."}})
}
