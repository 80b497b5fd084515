package aaeptest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/conformance/hook"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// follow is, to the letter, how README.md says that an agent is followed.
func follow(ctx context.Context, dialer transports.Dialer, voice present.Output,
	keys func(answer func(text string))) error {
	sub, err := subscriber.Dial(ctx, dialer, subscriber.Config{
		ID: "my-reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	person := present.New(announce.Preferences{}) // plans what they hear, when, and what may cut it
	go func() { gone(person.Run(ctx, voice)) }()  // your present.Output, or that of speech.Open, orca.Open, braille.Open; one that dies ends it
	go keys(person.Answer)                        // yours: it calls that with what your user types, says or presses, such as "y" or "2"
	return cmp.Or(present.Follow(ctx, sub, "Planner", person), context.Cause(ctx))
}

// deadVoice is an output whose server is gone.
type deadVoice struct{ present.Output }

var errDead = errors.New("the speech server is gone")

func (deadVoice) Present(context.Context, announce.Utterance) error { return errDead }

// A voice that dies ends what README.md shows, with why: a person who hears nothing would take it
// for an agent that says nothing.
func TestReadmeVoiceDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(t.Context())
		go func() {
			p.WaitSubscriber(t.Context())
			p.StartSession(t.Context(), aaep.Say("Planning your week."))
		}()
		if err := follow(t.Context(), &aaeptest.Agent{Producer: p}, deadVoice{}, func(func(string)) {}); !errors.Is(err, errDead) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// What README.md shows to the authors of assistive technology is complete: it compiles, and it is
// conformant. EVT-061, LVL-013, LVL-014, LVL-015, LVL-017, LVL-023, LVL-024
func TestReadme(t *testing.T) {
	read := func(name, from, to string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(data), from)
		text, _, ok := strings.Cut(after, to)
		if !ok {
			t.Fatalf("no %q up to %q in %s", from, to, name)
		}
		return strings.TrimSpace(text)
	}
	ours := strings.ReplaceAll(read("readme_test.go", "answer func(text string))) error {\n", "\n}\n"), "\n\t", "\n")
	ours = strings.Replace(ours, "(ctx, dialer,", `(ctx, sse.Dialer{URL: "http://127.0.0.1:8080"},`, 1)
	if shown := read("../../README.md", "## Follow an agent from your assistive technology\n\n```go\n",
		"```"); shown != ours {
		t.Errorf("README.md shows:\n%s\nand what is tested is:\n%s", shown, ours)
	}
	synctest.Test(t, func(t *testing.T) {
		s := make(station)
		report, err := conformance.SubscriberRun{Listener: s, Level: 2, Subscriber: conformance.SubscriberFunc(
			func(ctx context.Context, h *conformance.Hook) error {
				ctx, quit := context.WithCancel(ctx)
				defer quit()
				u := &user{Output: aaeptest.Voice(h), hook: h, heard: map[string]time.Time{}, keys: make(chan act)}
				go u.press(ctx, quit)
				return follow(ctx, s, u, u.answer)
			})}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range report.Results {
			if res.Verdict != conformance.Pass && res.Verdict != conformance.Skipped &&
				res.Verdict != conformance.Deviation {
				t.Errorf("%s: %s %s\n%v", res.Case.ID(), res.Verdict, res.Seen, res.Evidence)
			}
		}
		if report.Verdict != conformance.Pass {
			t.Error(report.Summary())
		}
	})
}

// A program on package present that is judged by package hook keeps Level 3: its user's verbosity
// takes Renegotiate and nothing else, and what it logs is what the subscriber logs.
// LVL-036
func TestPresentLevel3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(station)
		report, err := conformance.SubscriberRun{Listener: s, Level: 3, Subscriber: conformance.SubscriberFunc(
			func(ctx context.Context, h *conformance.Hook) error {
				ctx, quit := context.WithCancel(ctx)
				defer quit()
				judged := &hook.Hook{Lines: h}
				sub, err := subscriber.Dial(ctx, s, subscriber.Config{ID: "my-reader", Capabilities: subscriber.ScreenReader("en-US"), Logger: judged.Logger()})
				if err != nil {
					return err
				}
				defer sub.Close()
				person := present.New(announce.Preferences{})
				go person.Run(ctx, judged.Output(nil))
				go func() { defer quit(); judged.Obey(ctx, sub, person) }()
				return present.Follow(ctx, sub, "Planner", person)
			})}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range report.Results {
			if res.Verdict != conformance.Pass && res.Verdict != conformance.Skipped &&
				res.Verdict != conformance.Deviation {
				t.Errorf("%s: %s %s\n%v", res.Case.ID(), res.Verdict, res.Seen, res.Evidence)
			}
		}
		if report.Verdict != conformance.Pass {
			t.Error(report.Summary())
		}
	})
}

// farewell is an agent whose last words are told to a subscriber that accepts them, and which ends
// the subscription behind them.
type farewell struct{}

func (farewell) Dial(context.Context) (transports.Conn, error) {
	ours, theirs := transports.Pipe()
	go func() {
		ctx := context.Background()
		_, _ = theirs.Receive(ctx)
		for _, msg := range []string{
			`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"planner"},"honored_capabilities":{}}`,
			`{"@context":"` + aaep.CoreContext + `","type":"aaep:agent.session.completed","event_id":"evt_1","session_id":"sess_1","timestamp":"` +
				aaep.FormatTimestamp(time.Now()) + `","producer":{"agent_id":"planner"},"summary_normal":"Your plan is ready. You will find it in your mail."}`,
			`{"type":"subscription.close","subscription_id":"sub_1","reason_code":"session_ended","reason_message":"That was all."}`,
		} {
			_ = theirs.Send(ctx, []byte(msg))
		}
		_, _ = theirs.Receive(ctx)
		theirs.Close()
	}()
	return ours, nil
}

// slowVoice takes ten seconds for each utterance, and keeps those that it said whole.
type slowVoice struct{ said []string }

func (v *slowVoice) Present(ctx context.Context, u announce.Utterance) error {
	select {
	case <-time.After(10 * time.Second):
		v.said = append(v.said, u.Text)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (*slowVoice) Speaks(string) bool { return true }
func (*slowVoice) Close() error       { return nil }

// A program that ends where the lines of README.md return has told its user the last words of the
// agent, and that it is not followed any more.
func TestReadmeLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		v := &slowVoice{}
		err := follow(ctx, farewell{}, v, func(func(string)) {})
		synctest.Wait()
		if said := strings.Join(v.said, " "); err == nil || !strings.Contains(said, "Your plan is ready. You will find it in your mail.") ||
			!strings.Contains(said, "not followed any more") {
			t.Errorf("%v; before it returned was said: %q", err, v.said)
		}
		end()
	})
}

// act is what the user of a suite does.
type act struct {
	EventID  string        `json:"event_id"`
	Decision aaep.Decision `json:"decision"`
	Response any           `json:"response"`
	Quit     bool          `json:"quit"`
}

// user is one whom the suite moves, and who tells it what they hear.
type user struct {
	present.Output // tells the hook
	hook           *conformance.Hook
	keys           chan act
	mu             sync.Mutex
	heard          map[string]time.Time // the newest words of each event
}

// press does what the suite wants, a second after the question was heard. No key says which
// question it is for.
func (u *user) press(ctx context.Context, quit func()) {
	defer close(u.keys)
	defer quit()
	for {
		line, err := u.hook.Next(ctx)
		var a act
		if err != nil || json.Unmarshal(line, &a) != nil || a.Quit {
			return
		}
		u.mu.Lock()
		heard := u.heard[a.EventID]
		u.mu.Unlock()
		time.Sleep(time.Until(heard.Add(time.Second)))
		select {
		case u.keys <- a:
		case <-ctx.Done():
			return
		}
	}
}

// answer types what they press: the words of a decision, or an answer as a person would write it.
func (u *user) answer(answer func(text string)) {
	for key := range u.keys {
		text := string(key.Decision)
		switch r := key.Response.(type) {
		case bool:
			text = map[bool]string{true: "yes", false: "no"}[r]
		case nil:
		case float64:
			text = strconv.FormatFloat(r, 'f', -1, 64) // as a person writes it
		default:
			text = fmt.Sprint(r)
		}
		answer(text)
	}
}

// Present takes as long as a very fast voice: what nobody could have heard yet may not be answered.
func (u *user) Present(ctx context.Context, said announce.Utterance) error {
	select {
	case <-time.After(said.Duration(1400)):
	case <-ctx.Done():
		return ctx.Err()
	}
	if said.Event != nil {
		u.mu.Lock()
		u.heard[said.Event.EventID] = time.Now()
		u.mu.Unlock()
	}
	return u.Output.Present(ctx, said)
}
