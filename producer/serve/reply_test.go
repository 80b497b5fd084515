package serve_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// decisionOf returns what the producer made of a question, from the error that Tool returned.
func decisionOf(err error) aaep.Decision {
	if err == nil {
		return aaep.Accept
	}
	return aaep.Reject
}

// TestTenRace: ten subscribers answer every question at once over sockets of their own. There is
// one outcome, it is an answer that was given, and every subscriber is told the same (CONF-050,
// INV-01, INV-05, INV-10).
func TestTenRace(t *testing.T) {
	const repliers = 10
	rounds := 200
	if os.Getenv("AAEP_LONG") != "" {
		rounds = 10000
	}
	st := startFixture(t, producer.Config{})
	var subs []*rawClient
	var streams []*stream
	for range repliers {
		r := subscribeRaw(t, st.addr, everything)
		subs, streams = append(subs, r), append(streams, r.openStream(""))
	}
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: repliers}}
	defer client.CloseIdleConnections()
	s := st.startSession("Racing.")
	defer s.Close()
	accepted := 0
	for round := range rounds {
		var ran atomic.Int32
		agent := runAsync(func() (string, error) {
			return s.Tool(context.Background(), pay,
				func(context.Context) (string, error) { ran.Add(1); return "", nil })
		})
		said := make([]aaep.Decision, repliers)
		told := make([]string, repliers)
		var all sync.WaitGroup
		for i := range repliers {
			said[i] = []aaep.Decision{aaep.Accept, aaep.Reject}[rand.IntN(2)]
			all.Go(func() {
				q := streams[i].findType(aaep.TypeAwaitingConfirmation).decodeEvent(t).Payload.(*aaep.AwaitingConfirmation)
				resp, err := client.Post("http://"+st.addr+"/aaep/v1/replies", "application/json",
					strings.NewReader(subs[i].sendReply(q.ReplyToken, said[i])))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusNoContent {
					t.Errorf("round %d: replier %d got %s", round, i, resp.Status)
				}
				told[i] = summarize([]*aaep.Event{streams[i].findType(aaep.TypeStateChanged).decodeEvent(t)})
			})
		}
		all.Wait()
		r := awaitResult(t, agent)
		got := decisionOf(r.err)
		want, runs := "awaiting_input>thinking", int32(0)
		if got == aaep.Accept {
			want, runs, accepted = "awaiting_input>calling_tool", 1, accepted+1
		}
		given := false
		for i := range repliers {
			given = given || said[i] == got
			if told[i] != want {
				t.Errorf("round %d: replier %d was told %s, want %s", round, i, told[i], want)
			}
		}
		if !given || ran.Load() != runs {
			t.Errorf("round %d: said %q, outcome %s, %d runs", round, said, got, ran.Load())
		}
		if t.Failed() {
			break
		}
	}
	if !t.Failed() && (accepted == 0 || accepted == rounds) {
		t.Errorf("%d of %d accepted: there was no race", accepted, rounds)
	}
}

// TestFirstAnswered: a reply that was answered before another was sent comes before it (INV-05).
func TestFirstAnswered(t *testing.T) {
	st := startFixture(t, producer.Config{})
	a, b := subscribeRaw(t, st.addr, everything), subscribeRaw(t, st.addr, everything)
	one, other := a.openStream(""), b.openStream("")
	s := st.startSession("Racing.")
	defer s.Close()
	client := http.Client{}
	defer client.CloseIdleConnections()
	post := func(body string) {
		t.Helper()
		resp, err := client.Post("http://"+st.addr+"/aaep/v1/replies", "application/json", strings.NewReader(body))
		check(t, err)
		resp.Body.Close()
	}
	for round := range 300 {
		agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		_, q := one.findQuestion()
		other.findQuestion()
		first := []aaep.Decision{aaep.Accept, aaep.Reject}[round%2]
		second := []aaep.Decision{aaep.Reject, aaep.Accept}[round%2]
		later := b.sendReply(q.ReplyToken, second)
		post(a.sendReply(q.ReplyToken, first))
		post(later)
		if got := decisionOf(awaitResult(t, agent).err); got != first {
			t.Fatalf("round %d: %s was answered before %s was sent, and %s won", round, first, second, got)
		}
	}
}

// TestUniformAnswers: whatever is wrong with a well-formed reply, its sender gets the same as for a
// good one (INV-10, D-36, CONF-026), and the question can still be answered (INV-09, TERM-017).
func TestUniformAnswers(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r, blind := subscribeRaw(t, st.addr, everything), subscribeRaw(t, st.addr, withoutReplies(everything))
	events := r.openStream("")
	blind.openStream("")
	s := st.startSession("Asking.")
	defer s.Close()
	ask := func(timeout time.Duration) (<-chan result[string], *aaep.AwaitingConfirmation) {
		tool := pay
		tool.Timeout = timeout
		agent := runAsync(func() (string, error) { return s.Tool(context.Background(), tool, succeed) })
		_, q := events.findQuestion()
		return agent, q
	}
	agent, q := ask(0)
	used := q.ReplyToken
	r.postMessage(r.sendReply(used, aaep.Reject))
	awaitResult(t, agent)
	agent, q = ask(time.Second)
	expired := q.ReplyToken
	if err := awaitResult(t, agent).err; err != producer.ErrTimedOut {
		t.Fatal(err)
	}
	agent, q = ask(0)
	good := r.sendReply(q.ReplyToken, aaep.Accept)

	type answer struct{ what, got string }
	var answers []answer
	send := func(what, body string) {
		resp, text := sendRequest(t, "POST", st.addr, "/aaep/v1/replies", body)
		resp.Header.Del("Date")
		answers = append(answers, answer{what, fmt.Sprint(resp.Status, " ", resp.Header, " ", text)})
	}
	send("used token", r.sendReply(used, aaep.Accept))
	send("expired token", r.sendReply(expired, aaep.Accept))
	send("unknown token", r.sendReply("rpl_0123456789abcdef0123456789abcdef", aaep.Accept))
	send("short token", r.sendReply("rpl_1", aaep.Accept))
	send("foreign subscription", setMember(t, good, "subscription_id", blind.id))
	send("unknown subscription", setMember(t, good, "subscription_id", "sub_0123456789abcdef0123456789abcdef"))
	send("stamped after the deadline", setMember(t, good, "timestamp", aaep.FormatTimestamp(time.Now().Add(time.Hour))))
	send("a clarification's reply", encodeMessage(t,
		&aaep.ClarificationReply{ReplyToken: q.ReplyToken, Response: "yes", SubscriptionID: r.id,
			Timestamp: time.Now()}))
	select {
	case r := <-agent:
		t.Fatalf("one of these counted: %v", r.err)
	default:
	}
	send("good", good)
	if err := awaitResult(t, agent).err; err != nil {
		t.Errorf("after the bad replies the good one counts no more: %v", err)
	}
	send("twice", good)
	last := answers[len(answers)-1].got
	if !strings.HasPrefix(last, "204 No Content ") {
		t.Errorf("the answer is %s, want 204", last)
	}
	for _, a := range answers {
		if a.got != last {
			t.Errorf("%s: %s, want %s", a.what, a.got, last)
		}
	}
}

// TestMalformedReplies: what is no reply at all is refused with what is wrong with it, in the same
// words whether it names an open question or none, and has no effect (CONF-019, D-36, D-41, INV-09,
// INV-33, INV-45).
func TestMalformedReplies(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, everything)
	events := r.openStream("")
	s := st.startSession("Asking.")
	defer s.Close()
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	_, q := events.findQuestion()
	good := r.sendReply(q.ReplyToken, aaep.Accept)
	guessed := strings.NewReplacer(string(q.ReplyToken), "rpl_"+strings.Repeat("0", len(q.ReplyToken)-4))
	for what, body := range map[string]string{
		"not JSON":          "yes",
		"cut":               good[:len(good)-1],
		"two":               good + good,
		"list":              "[" + good + "]",
		"extra member":      setMember(t, good, "comment", "please"),
		"wrong case":        strings.Replace(good, `"decision"`, `"Decision"`, 1),
		"folded":            strings.Replace(good, `"decision"`, `"deciſion"`, 1),
		"both cases":        strings.Replace(good, `"decision":"accept"`, `"decision":"reject","Decision":"accept"`, 1),
		"repeated":          strings.Replace(good, `"decision":"accept"`, `"decision":"reject","decision":"accept"`, 1),
		"no decision":       setMember(t, good, "decision", nil),
		"decision in upper": setMember(t, good, "decision", "ACCEPT"),
		"decision of true":  setMember(t, good, "decision", true),
		"no token":          setMember(t, good, "reply_token", nil),
		"no subscription":   setMember(t, good, "subscription_id", nil),
		"no time":           setMember(t, good, "timestamp", nil),
		"another type":      setMember(t, good, "type", "confirmation.maybe"),
		"an event":          strings.Replace(good, "confirmation.reply", "aaep:agent.session.completed", 1),
		"invalid UTF-8":     strings.Replace(good, `"accept"`, "\"accept\xff\"", 1),
		"byte order mark":   "\ufeff" + good,
	} {
		var answers []string
		for _, body := range []string{body, guessed.Replace(body)} {
			resp, text := sendRequest(t, "POST", st.addr, "/aaep/v1/replies", body)
			resp.Header.Del("Date")
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "reply") {
				t.Errorf("%s: %s %s, want 400", what, resp.Status, text)
			}
			answers = append(answers, fmt.Sprint(resp.Header, text))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: an open question is answered with %s, and none with %s", what, answers[0], answers[1])
		}
	}
	for what, call := range map[string]func() (*http.Response, string){
		"a form": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/replies", good,
				"Content-Type: application/x-www-form-urlencoded")
		},
		"plain text": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/replies", good, "Content-Type: text/plain")
		},
		"Latin-1": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/replies", good,
				"Content-Type: application/json; charset=latin1")
		},
		"compressed": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/replies", good, "Content-Encoding: gzip")
		},
		"2 MiB": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/replies", good+strings.Repeat(" ", 2<<20))
		},
		"not a POST": func() (*http.Response,
			string) {
			return sendRequest(t, "PUT", st.addr, "/aaep/v1/replies", good)
		},
		"not a reply": func() (*http.Response, string) {
			return sendRequest(t, "POST", st.addr, "/aaep/v1/subscriptions", good)
		},
	} {
		if resp, text := call(); resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%s: %s %s, want a refusal", what, resp.Status, text)
		}
	}
	select {
	case r := <-agent:
		t.Fatalf("one of these counted: %v", r.err)
	default:
	}
	if status, body := r.postMessage(good); status != http.StatusNoContent {
		t.Errorf("the good reply got %d %s", status, body)
	}
	if err := awaitResult(t, agent).err; err != nil {
		t.Errorf("after the malformed replies the good one counts no more: %v", err)
	}
}

// TestDemandsForOthers: renegotiations and closes for a subscription that is not there.
func TestDemandsForOthers(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, everything)
	events := r.openStream("")
	const noSubscription = "sub_0123456789abcdef0123456789abcdef"
	for body, want := range map[string]int{
		encodeMessage(t, &aaep.SubscriptionRenegotiate{SubscriptionID: noSubscription}): http.StatusNotFound,
		encodeMessage(t, &aaep.SubscriptionClose{SubscriptionID: noSubscription, ReasonCode: aaep.SubscriberShutdown,
			ReasonMessage: "Bye."}): http.StatusNoContent,
	} {
		if status, text := r.postMessage(body); status != want {
			t.Errorf("%s got %d %s, want %d", body, status, text, want)
		}
	}
	s := st.startSession("Still here.")
	defer s.Close()
	if f, more := events.nextFrame(); !more || f.decodeEvent(t).Type() != aaep.TypeSessionStarted {
		t.Errorf("the stream brings %+v", f)
	}
	// Its own renegotiation is answered, and holds from then on.
	status, body := r.postMessage(encodeMessage(t,
		&aaep.SubscriptionRenegotiate{SubscriptionID: r.id,
			Capabilities: aaep.Capabilities{PreferredVerbosity: aaep.VerbosityTerse}}))
	m, err := aaep.Decode([]byte(body))
	if acc, isAccepted := m.(*aaep.SubscriptionAccepted); err != nil || !isAccepted || status != http.StatusOK ||
		acc.HonoredCapabilities.PreferredVerbosity != aaep.VerbosityTerse {
		t.Errorf("the renegotiation got %d %s", status, body)
	}
	check(t, s.State(aaep.StateDeciding, aaep.Text{Terse: "Hm.", Normal: "Deciding."}))
	// What had not left yet is told in the new terms too, and has nothing terse to tell.
	f, _ := events.readUntil(func(ev *aaep.Event) bool { return ev.Summary.Terse != "" })
	if ev := f.decodeEvent(t); ev.Verbosity != aaep.VerbosityTerse || ev.Summary.Terse != "Hm." {
		t.Errorf("the terse event is %s", f.data)
	}
}
