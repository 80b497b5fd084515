package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/transports"
)

// A decision goes out once, with the token and the subscription it came with. CONF-010, CONF-012 to CONF-017,
// EVT-077, TERM-017, LVL-023, LVL-024, INV-18, INV-19
func TestReplyOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, confirmation("evt_1", "rpl_Token1", ""))
		ev := take(t, sub, "evt_1")
		time.Sleep(1500 * time.Millisecond) // the person thinks
		decided := time.Now()
		if err := sub.Reply(t.Context(), ev, aaep.Accept); err != nil {
			t.Fatalf("Reply = %v", err)
		}
		msg, m := p.read(t)
		r, ok := m.(*aaep.ConfirmationReply)
		if !ok || r.ReplyToken != "rpl_Token1" || r.Decision != aaep.Accept || r.SubscriptionID != "sub_1" || !r.Timestamp.Equal(decided) {
			t.Errorf("reply = %s, want accept for rpl_Token1 of sub_1 at %v", msg, decided)
		}
		var members map[string]any
		if err := json.Unmarshal(msg, &members); err != nil || len(members) != 5 {
			t.Errorf("reply = %s, want five members", msg)
		}
		for _, d := range []aaep.Decision{aaep.Accept, aaep.Reject} {
			if err := sub.Reply(t.Context(), ev, d); err != ErrUnknownEvent {
				t.Errorf("second Reply = %v, want ErrUnknownEvent", err)
			}
		}
		p.silent(t, time.Minute)
		leave(t, sub, p)
	})
}

// Nobody answers for the user: no reply at the timeout, none on Close. EVT-079, INV-18, LVL-023, CONF-039
func TestNoReplyByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, confirmation("evt_1", "rpl_1", `,"allowed_replies":["accept"]`))
		p.say(t, clarification("evt_2", "rpl_2", `,"default_response":"yes"`))
		take(t, sub, "evt_1")
		p.silent(t, 48*time.Hour)
		leave(t, sub, nil)
		want[*aaep.SubscriptionClose](t, p)
		p.gone(t)
	})
}

// Only what was received and is open can be answered, and only in a way that fits. CONF-010, CONF-013, INV-18
func TestReplyRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, confirmation("evt_1", "rpl_1", `,"allowed_replies":["reject"]`))
		p.say(t, clarification("evt_2", "rpl_2", ""))
		p.say(t, evt(3))
		yes, which, other := take(t, sub, "evt_1"), take(t, sub, "evt_2"), take(t, sub, "evt_3")
		forged := *yes
		for name, ev := range map[string]*aaep.Event{"nil": nil, "empty": {}, "another type": other, "a clarification": which, "forged": &forged} {
			if err := sub.Reply(t.Context(), ev, aaep.Reject); err != ErrUnknownEvent {
				t.Errorf("Reply to %s = %v, want ErrUnknownEvent", name, err)
			}
		}
		for _, ev := range []*aaep.Event{nil, {}, other, yes} {
			if err := sub.Answer(t.Context(), ev, "x"); err != ErrUnknownEvent {
				t.Errorf("Answer to %v = %v, want ErrUnknownEvent", ev, err)
			}
		}
		wantError(t, "Reply", sub.Reply(t.Context(), yes, ""), "accept or reject")
		wantError(t, "Reply", sub.Reply(t.Context(), yes, "Accept"), "accept or reject")
		wantError(t, "Reply", sub.Reply(t.Context(), yes, aaep.Accept), "does not allow")
		p.silent(t, time.Second)
		if err := sub.Reply(t.Context(), yes, aaep.Reject); err != nil { // nothing above spoiled it
			t.Errorf("Reply = %v", err)
		}
		want[*aaep.ConfirmationReply](t, p)
		leave(t, sub, p)
	})
}

// The end of a session closes its questions, and no others. CONF-053, LVL-028
func TestReplyAfterTheSession(t *testing.T) {
	for _, end := range []string{"completed", "errored", "cancelled"} {
		bubble(t, func(t *testing.T) {
			sub, p := open(t, newStage(), Config{})
			p.say(t, confirmation("evt_1", "rpl_1", ""))
			p.say(t, strings.Replace(confirmation("evt_2", "rpl_2", ""), "sess_1", "sess_2", 1))
			p.say(t, event("evt_3", "aaep:agent.session."+end, `,"error_category":"unknown","cancelled_by":"user"`))
			first, second := take(t, sub, "evt_1"), take(t, sub, "evt_2")
			take(t, sub, "evt_3")
			if err := sub.Reply(t.Context(), first, aaep.Accept); err != ErrUnknownEvent {
				t.Errorf("Reply after %s = %v, want ErrUnknownEvent", end, err)
			}
			if err := sub.Reply(t.Context(), second, aaep.Accept); err != nil {
				t.Errorf("Reply = %v", err)
			}
			leave(t, sub, p)
		})
	}
}

// A token takes one decision, however often and under whatever ids it is shown. INV-18
func TestTokenShownTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, confirmation("evt_1", "rpl_1", ""))
		p.say(t, confirmation("evt_2", "rpl_1", ""))
		old, newer := take(t, sub, "evt_1"), take(t, sub, "evt_2")
		if err := sub.Reply(t.Context(), old, aaep.Accept); err != ErrUnknownEvent {
			t.Errorf("Reply to what was asked again = %v", err)
		}
		if err := sub.Reply(t.Context(), newer, aaep.Reject); err != nil {
			t.Errorf("Reply = %v", err)
		}
		want[*aaep.ConfirmationReply](t, p)
		p.say(t, confirmation("evt_3", "rpl_1", ""))
		p.say(t, confirmation("evt_2", "rpl_1", ""))
		if err := sub.Reply(t.Context(), take(t, sub, "evt_3"), aaep.Accept); err != ErrUnknownEvent {
			t.Errorf("Reply to what was answered = %v", err)
		}
		p.silent(t, time.Minute)
		leave(t, sub, p)
	})
}

// Of many at once, one decision leaves. INV-18
func TestReplyConcurrent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, confirmation("evt_1", "rpl_1", ""))
		ev := take(t, sub, "evt_1")
		var all sync.WaitGroup
		sent := make(chan aaep.Decision, 20)
		for i := range 20 {
			all.Go(func() {
				d := []aaep.Decision{aaep.Accept, aaep.Reject}[i%2]
				if sub.Reply(t.Context(), ev, d) == nil {
					sent <- d
				}
			})
		}
		all.Wait()
		if len(sent) != 1 {
			t.Fatalf("%d replies were sent, want 1", len(sent))
		}
		if r := want[*aaep.ConfirmationReply](t, p); r.Decision != <-sent {
			t.Error("another decision arrived")
		}
		p.silent(t, time.Second)
		leave(t, sub, p)
	})
}

// After an error the same bytes may go again, whenever that is, and nothing else. INV-19
func TestReplyResend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		var events []*aaep.Event
		for n := range 17 {
			p.say(t, confirmation(fmt.Sprintf("evt_%d", n), fmt.Sprintf("rpl_%d", n), ""))
			events = append(events, take(t, sub, ""))
		}
		for _, ev := range events[:16] { // the link is full now
			if err := sub.Reply(t.Context(), ev, aaep.Accept); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ev, at := events[16], time.Now()
		if err := sub.Reply(ctx, ev, aaep.Accept); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Reply = %v", err)
		}
		wantError(t, "another decision", sub.Reply(t.Context(), ev, aaep.Reject), "cannot be changed")
		time.Sleep(time.Second)
		for range 16 {
			want[*aaep.ConfirmationReply](t, p)
		}
		if err := sub.Reply(t.Context(), ev, aaep.Accept); err != nil {
			t.Fatalf("Reply again = %v", err)
		}
		if r := want[*aaep.ConfirmationReply](t, p); !r.Timestamp.Equal(at) { // CONF-015
			t.Errorf("stamped %v, want the moment of the decision %v", r.Timestamp, at)
		}
		if err := sub.Reply(t.Context(), ev, aaep.Accept); err != ErrUnknownEvent {
			t.Errorf("Reply once more = %v", err)
		}
		leave(t, sub, p)
	})
}

// refusing fails every Send of a reply but keeps what was to be sent.
type refusing struct {
	transports.Conn
	sent [][]byte
}

func (r *refusing) Send(ctx context.Context, msg []byte) error {
	if strings.Contains(string(msg), ".reply") {
		r.sent = append(r.sent, []byte(string(msg)))
		return errors.New("it is unknown whether the message was delivered")
	}
	return r.Conn.Send(ctx, msg)
}

func TestResendSameBytes(t *testing.T) { // INV-19
	bubble(t, func(t *testing.T) {
		a, b := transports.Pipe()
		r, p := &refusing{Conn: a}, &peer{b}
		p.say(t, accepted("sub_1", "{}"))
		sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return r, nil }), Config{ID: "reader", Capabilities: able()})
		if err != nil {
			t.Fatal(err)
		}
		want[*aaep.SubscriptionRequest](t, p)
		p.say(t, clarification("evt_1", "rpl_1", ""))
		ev := take(t, sub, "evt_1")
		for range 3 {
			wantError(t, "Answer", sub.Answer(t.Context(), ev, "blue"), "unknown whether")
			time.Sleep(time.Minute)
		}
		wantError(t, "Answer", sub.Answer(t.Context(), ev, "red"), "cannot be changed")
		if len(r.sent) != 3 || string(r.sent[0]) != string(r.sent[1]) || string(r.sent[0]) != string(r.sent[2]) {
			t.Errorf("sent %s, want the same three times", r.sent)
		}
		leave(t, sub, p)
	})
}

// The stamp is in the producer's time when the clocks differ by more than two seconds. D-35, CONF-015
func TestReplyStamp(t *testing.T) {
	for offset, own := range map[time.Duration]bool{
		0: true, 1900 * time.Millisecond: true, -1900 * time.Millisecond: true,
		2100 * time.Millisecond: false, -2100 * time.Millisecond: false, 10 * time.Minute: false, -10 * time.Minute: false,
	} {
		bubble(t, func(t *testing.T) {
			sub, p := open(t, newStage(), Config{})
			theirs := aaep.FormatTimestamp(time.Now().Add(offset))
			p.say(t, strings.Replace(confirmation("evt_1", "rpl_1", ""), aaep.FormatTimestamp(time.Now()), theirs, 1))
			synctest.Wait() // received now, looked at later
			time.Sleep(20 * time.Second)
			ev := take(t, sub, "evt_1")
			time.Sleep(10 * time.Second)
			if err := sub.Reply(t.Context(), ev, aaep.Reject); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			if !own {
				at = ev.Timestamp.Add(30 * time.Second)
			}
			if r := want[*aaep.ConfirmationReply](t, p); !r.Timestamp.Equal(at) {
				t.Errorf("offset %v: stamped %v, want %v", offset, r.Timestamp, at)
			}
			leave(t, sub, p)
		})
	}
}

// Answers are strings, booleans and numbers of a kind that is accepted. CONF-040 to CONF-042, LVL-026
func TestAnswer(t *testing.T) {
	const kinds = `,"accepted_response_kinds":`
	for name, tt := range map[string]struct {
		more     string
		response any
		want     string // what is sent, or
		err      string
	}{
		"text":           {kinds + `["freetext"]`, "blue", `"blue"`, ""},
		"no kinds":       {"", "blue", `"blue"`, ""},
		"yes":            {kinds + `["yes_no"]`, true, `true`, ""},
		"no":             {kinds + `["numeric","yes_no"]`, false, `false`, ""},
		"int":            {kinds + `["numeric"]`, 42, `42`, ""},
		"float":          {kinds + `["numeric"]`, -0.5, `-0.5`, ""},
		"json.Number":    {kinds + `["numeric"]`, json.Number("1e3"), `1000`, ""},
		"choice":         {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "a", `"a"`, ""},
		"free or choice": {kinds + `["multiple_choice","freetext"],"choices":[{"value":"a","label":"A"}]`, "z", `"z"`, ""},
		"unknown kind":   {kinds + `["acme_smell"]`, "rose", `"rose"`, ""},
		"no choice":      {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "z", "", `does not take a string like that; it takes a string out of ["a"]`},
		"text for yes":   {kinds + `["yes_no"]`, "true", "", "does not take a string like that; it takes a bool"},
		"text or number": {kinds + `["numeric","freetext"]`, true, "", "it takes a number or a string"},
		"yes for text":   {kinds + `["freetext"]`, true, "", "does not take"},
		"number as text": {kinds + `["freetext"]`, 7, "", "does not take"},
		"nothing":        {"", "", "", "/response"},
		"NaN":            {"", math.NaN(), "", "not a number"},
		"infinity":       {"", math.Inf(1), "", "not a number"},
		"json NaN":       {"", json.Number("NaN"), "", "not a number"},
		"no number":      {"", json.Number("twelve"), "", "not a number"},
		"out of range":   {"", json.Number("1e999"), "", "not a number"},
		"inexact":        {"", 1<<53 + 1, "", "too large"},
		"inexact json":   {"", json.Number("90071992547409931"), "", "too large"},
		"nil":            {"", nil, "", "string, a bool or a number"},
		"list":           {"", []string{"a"}, "", "string, a bool or a number"},
		"map":            {"", map[string]any{}, "", "string, a bool or a number"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sub, p := open(t, newStage(), Config{})
				p.say(t, clarification("evt_1", "rpl_1", tt.more))
				ev := take(t, sub, "evt_1")
				err := sub.Answer(t.Context(), ev, tt.response)
				if tt.err != "" {
					wantError(t, "Answer", err, tt.err)
					wantError(t, "Answer again", sub.Answer(t.Context(), ev, tt.response), tt.err)
					p.silent(t, time.Second)
					// A refused answer does not use the question up.
					answer := any("fine")
					switch {
					case strings.Contains(tt.more, "yes_no"):
						answer = true
					case strings.Contains(tt.more, `"a"`):
						answer = "a"
					}
					err, tt.want = sub.Answer(t.Context(), ev, answer), ""
				}
				if err != nil {
					t.Fatalf("Answer = %v", err)
				}
				msg, m := p.read(t)
				if _, ok := m.(*aaep.ClarificationReply); !ok || !strings.Contains(string(msg), `"response":`+tt.want) {
					t.Errorf("answer = %s, want response %s", msg, tt.want)
				}
				leave(t, sub, p)
			})
		})
	}
}

// Who did not offer to answer does not. D-34, CONF-046, CONF-047
func TestReplyNotOffered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{ID: "reader", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(false), SupportsClarificationReply: new(true)}})
		p.say(t, confirmation("evt_1", "rpl_1", ""))
		p.say(t, clarification("evt_2", "rpl_2", ""))
		wantError(t, "Reply", sub.Reply(t.Context(), take(t, sub, "evt_1"), aaep.Accept), "did not offer")
		if err := sub.Answer(t.Context(), take(t, sub, "evt_2"), "x"); err != nil { // as requested: D-45
			t.Errorf("Answer = %v", err)
		}
		want[*aaep.ClarificationReply](t, p)
		p.silent(t, time.Second)
		leave(t, sub, p)
	})
}

// A subscription_id of another form is echoed as it came. D-44
func TestForeignID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const id = "Kanal 7/ä\"<>"
		st := newStage()
		done := make(chan *Subscription, 1)
		go func() {
			sub, err := Dial(t.Context(), st, Config{ID: "reader", Capabilities: able()})
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		p := st.next(t)
		p.accept(t, id)
		sub := <-done
		p.say(t, confirmation("evt_1", "rpl_1", ""))
		if err := sub.Reply(t.Context(), take(t, sub, "evt_1"), aaep.Accept); err != nil {
			t.Errorf("Reply = %v", err)
		}
		check := func(typ string) {
			t.Helper()
			msg, _ := p.read(t)
			var m struct{ Type, Subscription_ID string }
			if err := json.Unmarshal(msg, &m); err != nil || m.Type != typ || m.Subscription_ID != id {
				t.Errorf("sent %s, want %s of %q", msg, typ, id)
			}
		}
		check("confirmation.reply")
		go func() {
			if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{PaceWPM: 180}); err != nil {
				t.Errorf("Renegotiate = %v", err)
			}
		}()
		check("subscription.renegotiate")
		p.say(t, accepted(id, "{}"))
		synctest.Wait()
		leave(t, sub, nil)
		check("subscription.close")
	})
}

// More time is one message, which keeps what else was declared and does not last. It says whether there is more.
func TestMoreTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		st := newStage()
		c := able()
		if err := c.AddExtension(extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 2}); err != nil {
			t.Fatal(err)
		}
		sub, p := open(t, st, Config{ID: "reader", Capabilities: c})
		p.say(t, confirmation("evt_1", "rpl_1", ""))
		ev := take(t, sub, "evt_1")
		ask := func(ev *aaep.Event) chan error {
			done := make(chan error, 1)
			go func() { done <- sub.MoreTime(t.Context(), ev) }()
			return done
		}
		for honored, want_ := range map[string]error{
			`{"timing":{"timeout_multiplier":2,"more_time_for":"rpl_1"}}`: nil,
			`{"timing":{"timeout_multiplier":2}}`:                         ErrNoMoreTime,
			`{}`:                                                          ErrNoMoreTime,
			`{"timing":{"more_time_for":"rpl_2"}}`:                        ErrNoMoreTime,
		} {
			done := ask(ev)
			m := want[*aaep.SubscriptionRenegotiate](t, p)
			if got := string(m.Capabilities.Extensions["timing"]); got != `{"timeout_multiplier":2,"more_time_for":"rpl_1"}` || len(m.Capabilities.SupportedExtensions) != 0 {
				t.Errorf("asked %+v", m.Capabilities)
			}
			p.say(t, accepted("sub_1", honored))
			if err := <-done; !errors.Is(err, want_) {
				t.Errorf("%s: %v, want %v", honored, err, want_)
			}
		}
		other := *ev
		for _, ev := range []*aaep.Event{nil, &other, {Payload: &aaep.SessionStarted{}}} {
			if err := <-ask(ev); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("%+v: %v", ev, err)
			}
		}
		_ = p.Close() // a new subscription does not ask for time for a question that is gone
		p = st.next(t)
		if req := p.accept(t, "sub_2"); string(req.Capabilities.Extensions["timing"]) != `{"timeout_multiplier":2}` {
			t.Errorf("asked anew for %s", req.Capabilities.Extensions)
		}
		synctest.Wait()
		if err := <-ask(ev); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("after a new beginning: %v", err)
		}
		leave(t, sub, p)
	})
}

// INV-18, CONF-016: a policy says so in the reply, and accepts nothing that a person has to decide.
func TestAutoReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		st := newStage()
		sub, p := open(t, st, Config{ID: "reader", Capabilities: able()})
		for i, tc := range []struct {
			more   string
			d      aaep.Decision
			policy string
			sent   bool
		}{
			{`,"risk_level":"low"`, aaep.Accept, "small things", true},
			{`,"risk_level":"low","irreversible":true`, aaep.Accept, "small things", false},
			{`,"risk_level":"low","reversibility":"irreversible"`, aaep.Accept, "small things", false},
			{`,"risk_level":"medium"`, aaep.Accept, "small things", false},
			{``, aaep.Accept, "small things", false},
			{`,"risk_level":"high","irreversible":true`, aaep.Reject, "not at night", true},
			{`,"risk_level":"low"`, aaep.Accept, "", false},
			{`,"risk_level":"low"`, aaep.Accept, "\u202e", false},
			{`,"risk_level":"low"`, "perhaps", "x", false},
		} {
			id := fmt.Sprintf("evt_%d", i)
			p.say(t, confirmation(id, fmt.Sprintf("rpl_%d", i), tc.more))
			ev := take(t, sub, id)
			err := sub.AutoReply(t.Context(), ev, tc.d, tc.policy)
			if (err == nil) != tc.sent {
				t.Errorf("%s by %q: %v", tc.more, tc.policy, err)
			}
			if !tc.sent {
				continue
			}
			if m := want[*aaep.ConfirmationReply](t, p); m.DecidedBy != "auto:"+tc.policy || m.Decision != tc.d {
				t.Errorf("%+v", m)
			}
		}
		leave(t, sub, p)
	})
}
