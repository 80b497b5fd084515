package producer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

// What is nil, or was not made as it is to be, says so: no call panics, waits or tells anything.
func TestNil(t *testing.T) {
	text := aaep.Say("Hello.")
	for _, s := range []*producer.Session{nil, {}, producer.SessionOf(context.Background())} {
		_, asked := s.AskText(t.Context(), producer.Question{Text: text})
		_, ran := s.Tool(t.Context(), look, func(context.Context) (string, error) { t.Error("it ran"); return "", nil })
		d, done, confirmed := s.Confirm(t.Context(), pay)
		done(nil)
		seen, invoked := s.Invoked(look)
		seen(nil)
		_, written := s.Output().WriteString("text")
		for name, err := range map[string]error{
			"Clarify": asked, "Tool": ran, "Confirm": confirmed, "Invoked": invoked, "Write": written,
			"State": s.State(aaep.StateDeciding, text), "Progress": s.Progress(text, aaep.Progress{}, 0), "Handoff": s.Handoff(text, aaep.HandoffRequested{}),
			"Emit": s.Emit(aaep.Vocabulary{}, "x", text, nil), "Complete": s.Complete(text), "Fail": s.Fail(nil, text), "Failing": s.Failing(nil, text),
			"Cancel": s.Cancel(aaep.CancelledByProducer, text), "Close": s.Close(), "Output.Close": s.Output().Close(), "SetLanguage": s.Output().SetLanguage("es"),
			"SetContentType": s.Output().SetContentType("text/plain"),
		} {
			if !errors.Is(err, producer.ErrNoSession) {
				t.Errorf("%s = %v", name, err)
			}
		}
		if d == aaep.Accept || s.ID() != "" || s.Context().Err() == nil {
			t.Errorf("%q, %q, %v", d, s.ID(), s.Context().Err())
		}
	}
	for _, p := range []*producer.Producer{nil, {}} {
		_, started := p.StartSession(t.Context(), text)
		_, described := p.Manifest()
		_, signed := p.SignedManifest()
		for name, err := range map[string]error{
			"StartSession": started, "Manifest": described, "SignedManifest": signed, "WaitSubscriber": p.WaitSubscriber(t.Context()),
			"Republish": p.Republish(nil), "WaitLogFailed": p.WaitLogFailed(t.Context()), "Serve": p.Serve(t.Context(), nil),
			"ServeConn": p.ServeConn(nil), "Shutdown": p.Shutdown(t.Context()),
		} {
			if (err == nil) != (name == "SignedManifest") {
				t.Errorf("%s = %v", name, err)
			}
		}
		p.AddEndpoint("sse", manifest.Endpoint{})
		<-p.Done()
		if p.Ready() || p.MaxSubscriptions() != 0 || p.Stats() != (producer.Stats{}) || p.Subscriptions() != nil || p.Signers() != nil {
			t.Error("it does something")
		}
	}
}

// The function of a tool finds the session in its context, whatever context its caller had.
func TestSessionOfATool(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Looking.")
		s.Tool(t.Context(), look, func(ctx context.Context) (string, error) {
			if producer.SessionOf(ctx) != s {
				t.Error("it is another, or none")
			}
			return "", nil
		})
	})
}

// What came of a question without an answer says which question it was, in each subscriber's
// language. (EVT-085)
func TestClarificationOutcome(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, other := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(inLanguages(allEvents(), "es")))
		s := st.startSession("Asking.")
		_, err := s.AskText(t.Context(), producer.Question{Text: aaep.Say("Which account?").In("es", aaep.Say("¿Qué cuenta?"))})
		if !errors.Is(err, producer.ErrTimedOut) {
			t.Error(err)
		}
		for l, want := range map[*listener]string{l: "Nobody answered in time: Which account?", other: "Nadie respondió a tiempo: ¿Qué cuenta?"} {
			all := l.events()
			if got := all[len(all)-1].Text(aaep.VerbosityNormal); got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		}
	})
}

// A language that does not exist is refused before there is a subscriber.
func TestNoLanguage(t *testing.T) {
	for tag, ok := range map[string]bool{"english": false, "en": true, "yo-NG": true, "zh-Hant-TW": true, "xx": false, "deutsch": false, "haw": true} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}, Language: tag})
		if err == nil {
			p.Shutdown(t.Context())
		}
		q, more := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}, Languages: []string{tag}})
		if more == nil {
			q.Shutdown(t.Context())
		}
		if (err == nil) != ok || (more == nil) != ok {
			t.Errorf("%s: %v, %v", tag, err, more)
		}
	}
}
