package aaeptest_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// follow is, to the letter, how README.md says that an agent is followed.
func follow(ctx context.Context, dialer transports.Dialer, voice present.Output, ask func(context.Context, *subscriber.Subscription, *aaep.Event) error) error {
	sub, err := subscriber.Dial(ctx, dialer, subscriber.Config{
		ID: "my-reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		return err
	}
	defer sub.Close()
	person := present.New(announce.Preferences{}) // plans what they hear, when, and what may cut it
	go person.Run(ctx, voice)                     // your present.Output, or that of speech.Open, orca.Open, braille.Open
	go person.TellOutages("Planner", sub.Outages(ctx))
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return err
		}
		person.Add("Planner", ev) // an unknown event still speaks, and half a sentence waits for the rest
		switch ev.Payload.(type) {
		case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
			go func() { // events go on meanwhile
				if err := ask(ctx, sub, ev); err != nil { // sub.Reply or sub.Answer with what the user says
					person.Tell("The answer may not count.", true) // it was too late, for one
				}
				person.Settle(ev)
			}()
		}
	}
	return nil
}

// What README.md shows to the authors of assistive technology is complete: it compiles, and it is conformant.
// EVT-061, LVL-013, LVL-014, LVL-015, LVL-017, LVL-023, LVL-024
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
	ours := strings.ReplaceAll(read("readme_test.go", "*aaep.Event) error) error {\n", "\treturn nil\n}\n"), "\n\t", "\n")
	ours = strings.Replace(ours, "(ctx, dialer,", `(ctx, sse.Dialer{URL: "http://127.0.0.1:8080"},`, 1)
	if shown := read("../../README.md", "## Follow an agent from your assistive technology\n\n```go\n", "```"); shown != ours {
		t.Errorf("README.md shows:\n%s\nand what is tested is:\n%s", shown, ours)
	}
	synctest.Test(t, func(t *testing.T) {
		s := make(station)
		report, err := conformance.SubscriberRun{Listener: s, Level: 2, Subscriber: conformance.SubscriberFunc(
			func(ctx context.Context, h *conformance.Hook) error {
				ctx, quit := context.WithCancel(ctx)
				defer quit()
				u := &user{acts: map[string]chan act{}}
				go u.obey(ctx, h, quit)
				return follow(ctx, s, spoken{h}, u.ask)
			})}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range report.Results {
			if res.Verdict != conformance.Pass && res.Verdict != conformance.Skipped && res.Verdict != conformance.Deviation {
				t.Errorf("%s: %s %s\n%v", res.Case.ID(), res.Verdict, res.Seen, res.Evidence)
			}
		}
		if report.Verdict != conformance.Pass {
			t.Error(report.Summary())
		}
	})
}

// act is what the user of a suite does.
type act struct {
	EventID  string        `json:"event_id"`
	Decision aaep.Decision `json:"decision"`
	Response any           `json:"response"`
	Quit     bool          `json:"quit"`
}

// user is one whom the suite moves.
type user struct {
	mu   sync.Mutex
	acts map[string]chan act
}

func (u *user) of(eventID string) chan act {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.acts[eventID] == nil {
		u.acts[eventID] = make(chan act, 1)
	}
	return u.acts[eventID]
}

func (u *user) obey(ctx context.Context, h *conformance.Hook, quit func()) {
	defer quit()
	for {
		line, err := h.Next(ctx)
		var a act
		if err != nil || json.Unmarshal(line, &a) != nil || a.Quit {
			return
		}
		select {
		case u.of(a.EventID) <- a:
		default:
		}
	}
}

func (u *user) ask(ctx context.Context, sub *subscriber.Subscription, ev *aaep.Event) error {
	select {
	case a := <-u.of(ev.EventID):
		if a.Decision != "" {
			return sub.Reply(ctx, ev, a.Decision)
		}
		return sub.Answer(ctx, ev, a.Response)
	case <-sub.Open(ev).Done():
		return nil
	}
}

// spoken tells the suite what its user hears.
type spoken struct{ h *conformance.Hook }

func (v spoken) Present(_ context.Context, u announce.Utterance) error {
	if u.Event != nil {
		kind := string(u.Kind)
		if u.Critical {
			kind = "critical " + kind
		}
		line, err := json.Marshal(map[string]string{"event_id": u.Event.EventID, "text": u.Text, "kind": kind, "language": u.Language})
		if err != nil {
			return err
		}
		v.h.Tell(line)
	}
	return nil
}

func (spoken) Speaks(string) bool { return true }
func (spoken) Close() error       { return nil }
