package relay_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web/relay"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
)

// check fails the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A fixture is an agent that asks for a token, and a relay to it. Its pages are subscribers, which
// speak as the page does.
type fixture struct {
	*producer.Producer
	agent *httptest.Server
	page  string // where the relay's page is
	base  string // where its endpoints are
	stop  context.CancelFunc
	ended chan error
	down  atomic.Bool  // the agent takes no requests
	named atomic.Value // what the agent calls itself on events, or nil
}

const token = "the-token-of-this-test"

// startFixture serves an agent and a relay until the test ends; with changes the relay's settings.
func startFixture(t *testing.T, cfg producer.Config, with func(*subscriber.Config)) *fixture {
	t.Helper()
	st := &fixture{ended: make(chan error, 1)}
	cfg.Agent = aaep.Agent{AgentID: "planner", AgentName: "Planner"}
	p, err := producer.New(cfg)
	check(t, err)
	st.Producer = p
	tokens, err := auth.Tokens(map[string]string{"ada": token})
	check(t, err)
	handler, err := (&serve.Server{Authenticate: tokens}).Handler(p)
	check(t, err)
	st.agent = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if st.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		if r.Method == http.MethodGet {
			w = renaming{w, st}
		}
		handler.ServeHTTP(w, r)
	}))
	config := subscriber.Config{ID: "relay"}
	if with != nil {
		with(&config)
	}
	r := relay.New(sse.Dialer{URL: st.agent.URL, Credentials: auth.Bearer(token)}, config)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	st.page = "http://" + ln.Addr().String() + r.Path()
	st.base = strings.TrimSuffix(st.page, "/web/") + "/v1"
	ctx, stop := context.WithCancel(context.Background())
	st.stop = stop
	go func() { st.ended <- r.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-st.ended:
		case <-time.After(time.Minute):
			t.Error("the relay does not end")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
		st.agent.CloseClientConnections()
		st.agent.Close()
	})
	return st
}

// renaming passes events on under the name that the agent has there.
type renaming struct {
	http.ResponseWriter
	st *fixture
}

func (w renaming) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w renaming) Write(b []byte) (int, error) {
	event := b
	if name, ok := w.st.named.Load().(string); ok {
		event = bytes.ReplaceAll(b, []byte(`"agent_name":"Planner"`), []byte(`"agent_name":"`+name+`"`))
	}
	if _, err := w.ResponseWriter.Write(event); err != nil {
		return 0, err
	}
	return len(b), nil
}

// openPage subscribes as a page does that is opened.
func (st *fixture) openPage(t *testing.T, change aaep.Capabilities) *subscriber.Subscription {
	t.Helper()
	sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: st.base},
		subscriber.Config{ID: "page", Capabilities: subscriber.ScreenReader("en").With(change)})
	check(t, err)
	t.Cleanup(func() { sub.Close() })
	return sub
}

// awaitEvent returns the next event of a type.
func awaitEvent[P aaep.Payload](t *testing.T, sub *subscriber.Subscription) (*aaep.Event, P) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		ev, err := sub.Next(ctx)
		if err != nil {
			var p P
			t.Fatalf("no %T came: %v", p, err)
		}
		if p, ok := ev.Payload.(P); ok {
			return ev, p
		}
	}
}

// startSession starts a session of the agent.
func (st *fixture) startSession(t *testing.T) *producer.Session {
	t.Helper()
	s, err := st.StartSession(t.Context(), aaep.Say("Paying."))
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

type outcome struct {
	runs int
	err  error
}

// askToPay has the agent ask for a payment; the channel gets how often it ran.
func askToPay(t *testing.T, s *producer.Session) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		runs := 0
		_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
			Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone."), Timeout: 2 * time.Minute},
			func(context.Context) (string, error) { runs++; return "", nil })
		done <- outcome{runs, err}
	}()
	return done
}

// awaitOutcome waits for the outcome of askToPay.
func awaitOutcome(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Minute):
		t.Fatal("the question has no outcome")
		return outcome{}
	}
}

// TestPass: what the agent says comes to each page on its own terms, and the answer of one of them
// counts once. CONF, P2
func TestPass(t *testing.T) {
	st := startFixture(t, producer.Config{}, nil)
	one, two := st.openPage(t, aaep.Capabilities{}),
		st.openPage(t, aaep.Capabilities{PreferredVerbosity: aaep.VerbosityTerse})
	if got := two.Accepted().HonoredCapabilities.PreferredVerbosity; got != aaep.VerbosityTerse {
		t.Errorf("the second page's verbosity is %q", got)
	}
	s := st.startSession(t)
	done := askToPay(t, s)
	question, p := awaitEvent[*aaep.AwaitingConfirmation](t, one)
	same, _ := awaitEvent[*aaep.AwaitingConfirmation](t, two)
	if p.Action != "Pay $5." || question.Producer.AgentName != "Planner" {
		t.Errorf("asked was %+v by %+v", p, question.Producer)
	}
	check(t, one.Question(question).MoreTime(t.Context()))
	changed, err := one.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 7})
	check(t, err)
	if changed.HonoredCapabilities.MaxEventsPerSecond != 7 {
		t.Errorf("the page's rate is %d", changed.HonoredCapabilities.MaxEventsPerSecond)
	}
	check(t, one.Question(question).Accept(t.Context()))
	if err := two.Question(same).Reject(t.Context()); err != nil &&
		!errors.Is(err, subscriber.ErrUnknownEvent) { // too late, and it may know
		t.Error(err)
	}
	if o := awaitOutcome(t, done); o.runs != 1 || o.err != nil {
		t.Errorf("the tool ran %d times, %v", o.runs, o.err)
	}
	go func() {
		v, err := s.AskNumber(t.Context(), producer.Question{Text: aaep.Say("How many?")})
		if v != 2.5 || err != nil {
			t.Errorf("the answer was %v, %v", v, err)
		}
		s.Complete(aaep.Say("Done."))
	}()
	asked, _ := awaitEvent[*aaep.AwaitingClarification](t, two)
	check(t, two.Question(asked).AnswerNumber(t.Context(), 2.5))
	awaitEvent[*aaep.SessionCompleted](t, one)
	awaitEvent[*aaep.SessionCompleted](t, two)
}

// TestOnlyWithSecret: no client without the secret, no other page and no rebound name gets in, and
// nothing of the token gets out.
func TestOnlyWithSecret(t *testing.T) {
	st := startFixture(t, producer.Config{}, nil)
	at := strings.Split(st.page, "/")
	wrong := strings.Join(at[:3], "/") + "/" + strings.Repeat("A", len(at[3])) + "/web/"
	for _, tt := range []struct {
		name, method, url string
		header            []string
		want              int
	}{
		{"the page", "GET", st.page, nil, 200},
		{"its script", "GET", st.page + "page.js", nil, 200},
		{"no secret", "GET", strings.Join(at[:3], "/") + "/", nil, 404},
		{"another secret", "GET", wrong, nil, 404},
		{"endpoints without the secret", "POST", strings.Join(at[:3], "/") + "/aaep/v1/subscriptions", nil, 404},
		{"another site", "GET", st.page, []string{"Origin", "https://evil.example"}, 403},
		{"a rebound name", "GET", st.page, []string{"Host", "evil.example"}, 403},
		{"a stream that nobody has", "GET", st.base + "/events?subscription_id=sub_1", nil, 404},
	} {
		req, err := http.NewRequest(tt.method, tt.url, strings.NewReader("{}"))
		check(t, err)
		for i := 0; i < len(tt.header); i += 2 {
			req.Header.Set(tt.header[i], tt.header[i+1])
			if tt.header[i] == "Host" {
				req.Host = tt.header[i+1]
			}
		}
		if tt.method == "GET" {
			req.Body, req.ContentLength = nil, 0
		}
		resp, err := http.DefaultClient.Do(req)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %s, want %d", tt.name, resp.Status, tt.want)
		}
	}
}

// TestCut: what the agent said while its link was cut comes after it was mended, once and in order.
// P8
func TestCut(t *testing.T) {
	st := startFixture(t, producer.Config{Grace: time.Minute}, nil)
	page := st.openPage(t, aaep.Capabilities{})
	s := st.startSession(t)
	awaitEvent[*aaep.SessionStarted](t, page)
	st.down.Store(true)
	st.agent.CloseClientConnections()
	waitFor(t, page, func(s subscriber.Status) bool { return !s.Connected }) // the page knows
	for step := range int64(3) {
		check(t, s.Progress(aaep.Say("Working."), aaep.Progress{Step: step + 1}, 0))
	}
	st.down.Store(false)
	check(t, s.Complete(aaep.Say("Done.")))
	awaitEvent[*aaep.SessionCompleted](t, page)
	if st, _ := page.Status(); st.Subscribed != 1 || !st.Connected {
		t.Errorf("after the cut the page is %+v", st)
	}
}

func waitFor(t *testing.T, sub *subscriber.Subscription, is func(subscriber.Status) bool) {
	t.Helper()
	for late := time.After(time.Minute); ; {
		st, changed := sub.Status()
		if is(st) {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("the page is %+v", st)
		}
	}
}

// TestReplyLost: an answer that cannot be passed on is told as lost, by a subscription that begins
// anew, and does nothing later by itself; the person can give it again. P1, P2
func TestReplyLost(t *testing.T) {
	st := startFixture(t, producer.Config{Grace: time.Minute}, nil)
	page := st.openPage(t, aaep.Capabilities{})
	done := askToPay(t, st.startSession(t))
	question, _ := awaitEvent[*aaep.AwaitingConfirmation](t, page)
	st.down.Store(true) // but the stream stays
	page.Question(question).Accept(t.Context())
	waitFor(t, page, func(s subscriber.Status) bool { return !s.Connected })
	st.down.Store(false)
	awaitEvent[*aaep.AwaitingConfirmation](t, page) // it is open still
	select {
	case o := <-done:
		t.Fatalf("the tool's outcome is %+v", o)
	default:
	}
	other := st.openPage(t, aaep.Capabilities{})
	again, _ := awaitEvent[*aaep.AwaitingConfirmation](t, other)
	check(t, other.Question(again).Accept(t.Context()))
	if o := awaitOutcome(t, done); o.runs != 1 || o.err != nil {
		t.Errorf("the tool ran %d times, %v", o.runs, o.err)
	}
}

// TestRefused: why the agent cannot be followed is told to the page, and without what is no page's
// business.
func TestRefused(t *testing.T) {
	st := startFixture(t, producer.Config{}, nil)
	st.down.Store(true)
	_, err := subscriber.Dial(t.Context(), sse.Dialer{URL: st.base}, subscriber.Config{ID: "page", NoReconnect: true})
	if !errors.Is(err, aaep.TransportUnavailable) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("an agent that is away: %v", err)
	}
	st.down.Store(false)
	_, err = subscriber.Dial(t.Context(), sse.Dialer{URL: st.base},
		subscriber.Config{ID: "page", Capabilities: aaep.Capabilities{Languages: []string{"tlh"}}})
	if !errors.Is(err, aaep.CapabilitiesIncompatible) {
		t.Errorf("a language it has not: %v", err)
	}
}

// TestNoReply: what the person who started the relay has decided, no page can ask for.
func TestNoReply(t *testing.T) {
	st := startFixture(t, producer.Config{}, func(c *subscriber.Config) {
		c.Capabilities = aaep.Capabilities{SupportsConfirmationReply: new(false),
			SupportsClarificationReply: new(false)}
	})
	page := st.openPage(t, aaep.Capabilities{})
	_, err := page.Renegotiate(t.Context(), aaep.Capabilities{SupportsConfirmationReply: new(true)})
	check(t, err)
	if o := awaitOutcome(t, askToPay(t, st.startSession(t))); !errors.Is(o.err, producer.ErrUnreachable) {
		t.Errorf("the page was asked: %+v", o)
	}
}

// TestEnd: when the relay ends, its pages are told and the agent has no subscriber left; when the
// agent ends, so do the pages' subscriptions.
func TestEnd(t *testing.T) {
	st := startFixture(t, producer.Config{}, nil)
	page := st.openPage(t, aaep.Capabilities{})
	st.startSession(t)
	awaitEvent[*aaep.SessionStarted](t, page)
	st.stop()
	waitFor(t, page, func(s subscriber.Status) bool { return !s.Connected })
	st.ended <- <-st.ended
	for end := time.Now().Add(time.Minute); len(st.Subscriptions()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left at the agent: %+v", st.Subscriptions())
		}
	}
}

// TestLoopback: nothing is served where others could read it.
func TestLoopback(t *testing.T) {
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skip(err)
	}
	if err := relay.New(nil, subscriber.Config{ID: "x"}).Serve(t.Context(), ln); err == nil ||
		!strings.Contains(err.Error(), "loopback") {
		t.Errorf("Serve at %v: %v", ln.Addr(), err)
	}
}

// TestProof: an agent that has to prove who it is, and does, is named by what it signed, whatever
// its events say; one that does not reaches no page. INV-40, INV-41
func TestProof(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	signer, err := manifest.NewSigner(key, manifest.SignerOptions{})
	check(t, err)
	public, err := manifest.PublicKeys(signer)
	check(t, err)
	keys, err := manifest.ParseKeys(public)
	check(t, err)
	trusting := func(c *subscriber.Config) {
		c.Trust = &manifest.Trust{Verifier: manifest.Verifier{Keys: keys}}
		c.Capabilities.AcceptSignedManifestsOnly = new(true)
	}
	for name, tt := range map[string]struct {
		signers []*manifest.Signer
		with    func(*subscriber.Config)
		status  int
		proof   string
	}{
		"proved":    {[]*manifest.Signer{signer}, trusting, 201, `{"verified":true}`},
		"not asked": {[]*manifest.Signer{signer}, nil, 201, `{"verified":false}`},
		"no proof":  {nil, trusting, 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st := startFixture(t, producer.Config{Signers: func() []*manifest.Signer { return tt.signers }}, tt.with)
			resp, err := http.Post(st.base+"/subscriptions", "application/json",
				strings.NewReader(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"page","capabilities":{}}`))
			check(t, err)
			defer resp.Body.Close()
			var answer struct {
				Relay    json.RawMessage
				Producer aaep.Agent
			}
			check(t, json.NewDecoder(resp.Body).Decode(&answer))
			if resp.StatusCode != tt.status || string(answer.Relay) != tt.proof {
				t.Errorf("%s, relay %s, want %d, %s", resp.Status, answer.Relay, tt.status, tt.proof)
			}
		})
	}
}

// TestNameOnEvents: a page knows an agent by the name that it was warned of, or was not, and by no
// other that events have. INV-59
func TestNameOnEvents(t *testing.T) {
	st := startFixture(t, producer.Config{}, nil)
	st.named.Store("Bank, verified ✓")
	page := st.openPage(t, aaep.Capabilities{})
	st.startSession(t)
	if ev, _ := awaitEvent[*aaep.SessionStarted](t, page); ev.Producer.AgentName != "Planner" {
		t.Errorf("the page is told of %q", ev.Producer.AgentName)
	}
}
