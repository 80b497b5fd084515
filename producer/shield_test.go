package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/transports"
)

// brittle is a store that panics in one of its methods.
type brittle struct {
	log.Store
	in string
}

// panicIn panics if this is the method.
func (b *brittle) panicIn(method string) {
	if b.in == method {
		panic("the store is broken")
	}
}

// Bounds returns the bounds of the store, or panics.
func (b *brittle) Bounds() (start, end uint64) { b.panicIn("Bounds"); return b.Store.Bounds() }

// Append appends to the store, or panics.
func (b *brittle) Append(r [][]byte) error { b.panicIn("Append"); return b.Store.Append(r) }

// SetMeta sets the meta of the store, or panics.
func (b *brittle) SetMeta(data []byte) error { b.panicIn("SetMeta"); return b.Store.SetMeta(data) }

// Read reads from the store, or panics.
func (b *brittle) Read(cursor uint64, n int) ([][]byte, error) {
	b.panicIn("Read")
	return b.Store.Read(cursor, n)
}

// brittleObserver panics when something begins or, if late, when it ends.
type brittleObserver struct{ late bool }

// Began panics, or returns a function that does.
func (o brittleObserver) Began(producer.Operation) func(error) {
	if !o.late {
		panic("began")
	}
	return func(error) { panic("ended") }
}

// Critical panics.
func (brittleObserver) Critical(time.Duration) { panic("critical") }

// brittleSink panics over one kind of record.
type brittleSink struct{ at audit.Kind }

// Record panics over a record of the kind.
func (s brittleSink) Record(r audit.Record) error {
	if r.Kind == s.at {
		panic("the trail is broken")
	}
	return nil
}

// brittleHandler panics over every record.
type brittleHandler struct{ slog.Handler }

// Handle panics.
func (brittleHandler) Handle(context.Context, slog.Record) error { panic("the log is broken") }

// P1, P10, INV-03: whatever of Config panics, whenever, the agent goes on and its subscribers
// receive all of it; it is logged; and what waits for a record or an answer is not done.
func TestShield(t *testing.T) {
	const done = asked + "awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking session.completed"
	for name, tc := range map[string]struct {
		cfg    producer.Config
		logged string
		runs   bool
	}{
		"Audit asked":       {producer.Config{Audit: brittleSink{audit.Asked}}, "Config.Audit", false},
		"Audit settled":     {producer.Config{Audit: brittleSink{audit.Settled}}, "Config.Audit", false},
		"Audit invoked":     {producer.Config{Audit: brittleSink{audit.Invoked}}, "Config.Audit", false},
		"Audit completed":   {producer.Config{Audit: brittleSink{audit.Completed}}, "Config.Audit", true},
		"Observer at once":  {producer.Config{Observer: brittleObserver{}}, "Observer.Began", true},
		"Observer at last":  {producer.Config{Observer: brittleObserver{late: true}}, "Observer.Critical", true},
		"Signers":           {producer.Config{Signers: func() []*manifest.Signer { panic("no key") }}, "Config.Signers", true},
		"the log's handler": {producer.Config{Logger: slog.New(brittleHandler{slog.NewTextHandler(&bytes.Buffer{}, nil)})}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			if tc.cfg.Logger == nil {
				tc.cfg.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			}
			bubbleWith(t, tc.cfg, func(t *testing.T, st *stage) {
				l := st.listen(mayAnswer(allEvents()))
				if text, err := st.p.SignedManifest(); text != "" || err != nil {
					t.Errorf("a manifest is signed: %q, %v", text, err)
				}
				s, d := st.startSession("Paying."), &action{}
				paid := callTool(s, pay, d)
				synctest.Wait()
				if strings.Contains(storyOf(l.events()), "confirmation") {
					l.reply(l.question(), aaep.Accept)
				}
				r := <-paid
				s.Complete(aaep.Text{})
				if ran := d.times == 1; ran != tc.runs || !ran && !errors.Is(r.err, producer.ErrNotRecorded) {
					t.Errorf("it ran: %v, with %v", ran, r.err)
				}
				if tc.runs {
					wantStory(t, l.events(), done)
				} else if got := storyOf(l.events()); !strings.HasSuffix(got, "session.completed") {
					t.Error(got)
				}
			})
			if !strings.Contains(logged.String(), tc.logged) || tc.logged != "" && !strings.Contains(logged.String(), "shield_test.go") {
				t.Errorf("logged:\n%s", &logged)
			}
		})
	}
}

// A store that panics has failed, as one that returns an error has.
func TestShieldOfTheLog(t *testing.T) {
	for _, method := range []string{"Append", "Bounds", "SetMeta", "Read"} {
		t.Run(method, func(t *testing.T) {
			store := &brittle{}
			onDisk(t, producer.Config{KeepEvents: 64}, func(s log.Store) log.Store { store.Store = s; return store }, func(t *testing.T, st *stage) {
				l := st.listen(allEvents())
				store.in = method
				s := st.startSession("Going on.")
				for range 10 {
					s.State(aaep.StateDeciding, aaep.Text{})
					s.State(aaep.StateThinking, aaep.Text{})
				}
				s.Complete(aaep.Text{})
				synctest.Wait()
				if failed := st.p.Stats().LogFailed; failed != (method == "Append") {
					t.Errorf("the log has failed: %v", failed)
				}
				if got := storyOf(l.events()); !strings.HasSuffix(got, "session.completed") {
					t.Error(got)
				}
			})
		})
	}
}

// A Modified that panics over what a subscriber changed does not accept it.
func TestShieldOfModified(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		s, d := st.startSession("Paying."), &action{}
		changeable := pay
		changeable.Modified = func(json.RawMessage) (producer.Tool, error) { panic("no such amount") }
		paid := callTool(s, changeable, d)
		o := l.rawReply(l.question(), aaep.Accept)
		o["modified_action"] = map[string]any{"amount": "all of it"}
		l.sendObject(o)
		if r := <-paid; r.err == nil || d.times != 0 {
			t.Errorf("it ran %d times, with %v", d.times, r.err)
		}
		if err := s.Complete(aaep.Text{}); err != nil {
			t.Error(err)
		}
	})
}

// EXT-002, EXT-004: data that no subscriber could have is an error where it is given: of no
// extension that is served, of another version of one, or that its schema refuses; and an extension
// is served once.
func TestExtensionDataOfNoSubscriber(t *testing.T) {
	v1, v2 := aaep.Vocabulary{Prefix: "med", URI: "https://med.example/v1"}, aaep.Vocabulary{Prefix: "med", URI: "https://med.example/v2"}
	med := handshake.Extension{Vocabulary: v1, Event: func(data json.RawMessage) error {
		switch {
		case bytes.Contains(data, []byte("-")):
			return errors.New("mg is negative")
		case bytes.Contains(data, []byte("null")):
			panic("no mg")
		}
		return nil
	}}
	bubbleWith(t, producer.Config{Extensions: []handshake.Extension{med}}, func(t *testing.T, st *stage) {
		c := allEvents()
		c.SupportedExtensions = []string{v1.URI}
		l := st.listen(c)
		s := st.startSession("Nursing.")
		say := func(v aaep.Vocabulary, data any) aaep.Text { return aaep.Say("Now.").With(v, data) }
		for name, tc := range map[string]struct {
			err   error
			words string
		}{
			"another version":     {s.State(aaep.StateDeciding, say(v2, map[string]int{"mg": 1})), v1.URI},
			"both versions":       {s.State(aaep.StateDeciding, say(v1, map[string]int{"mg": 1}).With(v2, map[string]int{"mg": 1})), "give one of them"},
			"not registered":      {s.State(aaep.StateDeciding, say(aaep.Vocabulary{Prefix: "lamp", URI: "https://lamp.example/v1"}, struct{}{})), "producer.Config.Extensions"},
			"its schema":          {s.Handoff(say(v1, map[string]int{"mg": -1}), aaep.HandoffRequested{}), "mg is negative"},
			"its schema fails":    {s.State(aaep.StateDeciding, say(v1, map[string]any{"mg": nil})), "panic: no mg"},
			"no JSON":             {s.State(aaep.StateDeciding, say(v1, json.RawMessage(`{"mg":`))), "med"},
			"an event of its own": {s.Emit(v2, "due", aaep.Say("Due."), struct{}{}), v1.URI},
		} {
			if invalid := (*aaep.InvalidError)(nil); !errors.As(tc.err, &invalid) || !strings.Contains(tc.err.Error(), tc.words) {
				t.Errorf("%s: %v, want %q", name, tc.err, tc.words)
			}
		}
		if err := s.State(aaep.StateDeciding, say(v1, map[string]int{"mg": 1})); err != nil {
			t.Error(err)
		}
		if all := l.events(); len(all) != 3 || string(all[2].Extensions["med"]) != `{"mg":1}` {
			t.Errorf("%v", storyOf(all))
		}
	})
	if _, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}, Extensions: []handshake.Extension{med, med}}); err == nil {
		t.Error("an extension is served twice")
	}
}

// brittleConn panics in one of its methods, once the subscription is open.
type brittleConn struct {
	transports.Conn
	in    string
	armed *atomic.Bool
}

// panicIn panics if this is the method that is to.
func (c brittleConn) panicIn(method string) {
	if c.in == method && c.armed.Load() {
		panic("the link is broken")
	}
}

// Receive receives from the link, or panics.
func (c brittleConn) Receive(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Receive(ctx)
	c.panicIn("Receive")
	return msg, err
}

// Send sends on the link, or panics.
func (c brittleConn) Send(ctx context.Context, msg []byte) error {
	c.panicIn("Send")
	return c.Conn.Send(ctx, msg)
}

// Principal and RemoteAddr are asked before the subscription is open.
func (c brittleConn) Principal() string { c.panicIn("Principal"); return "" }

// RemoteAddr panics, if that is what is to.
func (c brittleConn) RemoteAddr() string { c.panicIn("RemoteAddr"); return "" }

// Close closes the link, and may panic then.
func (c brittleConn) Close() error {
	defer c.panicIn("Close")
	return c.Conn.Close()
}

// brittleListener hands out one link, and then panics.
type brittleListener struct{ conns chan transports.Conn }

// Accept hands out links, or panics.
func (l brittleListener) Accept(ctx context.Context) (transports.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-ctx.Done():
		panic("the listener is broken")
	}
}

// Close panics.
func (l brittleListener) Close() error { panic("the listener is broken") }

// A link or a listener of others that panics ends that subscription, and its own Serve; the agent
// and its other listeners go on.
func TestBrittleLink(t *testing.T) {
	for _, in := range []string{"Receive", "Send", "Close"} {
		bubble(t, func(t *testing.T, st *stage) {
			whole := st.addRecorder()
			theirs, ours := transports.Pipe()
			armed := new(atomic.Bool)
			l := brittleListener{make(chan transports.Conn, 1)}
			l.conns <- brittleConn{ours, in, armed}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- st.p.Serve(ctx, l) }()
			request, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "brittle", Capabilities: allEvents()})
			if err != nil {
				t.Fatal(err)
			}
			if err := theirs.Send(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if _, err := theirs.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			armed.Store(true)
			if in == "Receive" {
				theirs.Send(t.Context(), []byte("{}"))
			}
			if in == "Close" {
				theirs.Close()
			}
			s := st.startSession("Going on.")
			check := s.Complete(aaep.Text{})
			synctest.Wait()
			if n := len(st.p.Subscriptions()); n != 1 || check != nil {
				t.Errorf("%s: %d subscriptions, %v; want the whole one alone", in, n, check)
			}
			if got := storyOf(whole.events()); !strings.HasSuffix(got, "session.completed") {
				t.Errorf("%s: the other listener heard %s", in, got)
			}
			stop()
			if err := <-served; err == nil {
				t.Errorf("%s: Serve = nil", in)
			}
			theirs.Close()
		})
	}
}

// A link that panics when it is asked whose it is serves no subscription: it is closed, and
// ServeConn returns.
func TestBrittlePeer(t *testing.T) {
	for _, in := range []string{"Principal", "RemoteAddr"} {
		bubble(t, func(t *testing.T, st *stage) {
			theirs, ours := transports.Pipe()
			armed := new(atomic.Bool)
			armed.Store(true)
			if err := st.p.ServeConn(brittleConn{ours, in, armed}); err != nil {
				t.Errorf("%s: ServeConn = %v", in, err)
			}
			if _, err := theirs.Receive(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("%s: the peer receives %v, want the end of the link", in, err)
			}
		})
	}
}

// What a function returned beside an error that was not looked at is an error of New that says so,
// and so is a nil link.
func TestNilParts(t *testing.T) {
	agent := aaep.Agent{AgentID: "a"}
	for name, cfg := range map[string]producer.Config{
		"Config.Log":      {Agent: agent, Log: (*brittle)(nil)},
		"Config.Audit":    {Agent: agent, Audit: (*audit.File)(nil)},
		"Config.Observer": {Agent: agent, Observer: (*brittleObserver)(nil)},
	} {
		if _, err := producer.New(cfg); err == nil || !strings.Contains(err.Error(), name+" is a nil *") {
			t.Errorf("%s: New = %v", name, err)
		}
	}
	p, err := producer.New(producer.Config{Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	if p.ServeConn(nil) == nil || p.Serve(t.Context(), nil) == nil {
		t.Error("nothing is served without an error")
	}
	s, err := p.StartSession(t.Context(), aaep.Say("Begin."))
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Invoked(producer.Tool{Name: "x", Irreversible: true})
	if err == nil {
		t.Error("a tool that must ask was told without")
	}
	done(nil) // does nothing
	var none *aaep.Rejection
	_, err = s.Tool(t.Context(), producer.Tool{Name: "x"}, func(context.Context) (string, error) { return "", none })
	if err == nil || !strings.Contains(err.Error(), "*aaep.Rejection panics") {
		t.Errorf("a tool that returns a nil error: %v", err)
	}
	if err := s.Fail(none, aaep.Text{}); err != nil {
		t.Error(err)
	}
}

// Config.Admit may return a nil *aaep.Rejection by mistake, for its type is no nil error: the
// subscriber is refused, and the agent goes on.
func TestAdmitNilRejection(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "a"},
		Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
			var none *aaep.Rejection
			return producer.Rights{Reply: true}, none
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	ours, theirs := transports.Pipe()
	go p.ServeConn(theirs)
	request, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ours.Send(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	answer, err := ours.Receive(t.Context())
	if err != nil || !strings.Contains(string(answer), "authorization_denied") {
		t.Errorf("the answer is %s, %v", answer, err)
	}
}

// Words for the state that the agent is in already would not be told, which is an error, and not
// silence; the same words again are none.
func TestStateWords(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "a"}, Languages: []string{"es"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Begin."))
	if err != nil {
		t.Fatal(err)
	}
	var invalid *aaep.InvalidError
	if err := s.State(aaep.StateThinking, aaep.Say("Reading the ticket.")); !errors.As(err, &invalid) {
		t.Errorf("words that are not told are no error: %v", err)
	}
	words := func() aaep.Text { return aaep.Say("Reading the ticket.").In("es", aaep.Say("Leyendo.")) }
	for _, text := range []aaep.Text{words(), words(), {}} {
		if err := s.State("reading", text); err != nil {
			t.Error(err)
		}
	}
	if err := s.State("reading", aaep.Say("Reading.").In("", aaep.Say("Leyendo."))); !errors.As(err, &invalid) {
		t.Errorf("a text that is not valid is no error: %v", err)
	}
}

// The author of an extension looks at data while no lock is held: what that takes holds up no
// session, and it may call the one that it is for.
func TestExtensionLooksWithoutALock(t *testing.T) {
	med := aaep.Vocabulary{Prefix: "med", URI: "https://med.example/v1"}
	var s *producer.Session
	looked := map[string]bool{}
	doing := ""
	look := func(json.RawMessage) error {
		if s != nil {
			s.Failing(nil, aaep.Text{}) // takes the session's lock
		}
		looked[doing] = true
		return nil
	}
	bubbleWith(t, producer.Config{Extensions: []handshake.Extension{{Vocabulary: med, Event: look}}}, func(t *testing.T, st *stage) {
		st.listen(allEvents())
		text := aaep.Say("Now.").With(med, map[string]int{"mg": 1})
		do := func(name string, call func() error) {
			doing = name
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !looked[name] {
				t.Errorf("%s: the extension does not look at the data", name)
			}
		}
		do("start", func() (err error) { s, err = st.p.StartSession(t.Context(), text); return err })
		do("state", func() error { return s.State(aaep.StateDeciding, text) })
		do("progress", func() error { return s.Progress(text, aaep.Progress{Step: 1}, 0) })
		do("handoff", func() error { return s.Handoff(text, aaep.HandoffRequested{Reason: "Tired."}) })
		do("own event", func() error { return s.Emit(med, "due", text, struct{}{}) })
		do("output", func() error { return s.Output().With(med, map[string]int{"mg": 1}) })
		do("tool", func() error {
			_, err := s.Tool(t.Context(), producer.Tool{Name: "give", Action: text}, func(context.Context) (string, error) { return "", nil })
			return err
		})
		do("question", func() error {
			_, err := s.AskText(t.Context(), producer.Question{Text: text, Default: "none"})
			return err
		})
		do("failing", func() error { return s.Failing(errors.New("tired"), text) })
		do("end", func() error { return s.Complete(text) })
	})
}

// brittleStream panics in one of its methods.
type brittleStream struct {
	transports.Stream
	in string
}

// LastEventID returns the id, or panics.
func (s brittleStream) LastEventID() string {
	if s.in == "LastEventID" {
		panic("no event")
	}
	return s.Stream.LastEventID()
}

// Done returns the channel, or panics.
func (s brittleStream) Done() <-chan struct{} {
	if s.in == "Done" {
		panic("no end")
	}
	return s.Stream.Done()
}

// A stream of another author that panics has failed: its subscriber can open another, and the
// others hear on.
func TestShieldOfStreams(t *testing.T) {
	for _, method := range []string{"LastEventID", "Done"} {
		bubble(t, func(t *testing.T, st *stage) {
			other := st.listen(allEvents())
			l, open := st.listenResumable(allEvents())
			broken := &eventStream{link: l.wire, done: make(chan struct{})}
			l.wire.streams <- brittleStream{broken, method}
			l.wire.notifyOwner()
			synctest.Wait()
			s := st.startSession("Going on.")
			stream := open("")
			s.Complete(aaep.Text{})
			for name, got := range map[string]string{"other": storyOf(other.events()), "own": storyOf(stream.events())} {
				if !strings.HasSuffix(got, "session.completed") {
					t.Errorf("%s: the %s hears %s", method, name, got)
				}
			}
		})
	}
}
