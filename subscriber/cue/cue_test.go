package cue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/haptictest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/cue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// event returns one with a new id.
func event(payload aaep.Payload) *aaep.Event {
	ids++
	return &aaep.Event{EventID: fmt.Sprintf("evt_%d", ids), Payload: payload}
}

var ids int

// played returns what was played since start, in short.
func played(r *haptictest.Recorder, start time.Time) string {
	var all []string
	for _, p := range r.Played() {
		all = append(all, strings.TrimSpace(p.At.Sub(start).String()+" "+p.Pattern+" "+p.Location))
	}
	return strings.Join(all, ", ")
}

// What is felt says whether the person is needed, and whether work begins, goes on, is done or has
// failed.
func TestMeaning(t *testing.T) {
	state := func(to aaep.State) *aaep.Event { return event(&aaep.StateChanged{ToState: to}) }
	for name, c := range map[string]struct {
		u    announce.Utterance
		want string
	}{
		"a session begins":      {announce.Utterance{Kind: announce.News, Event: event(&aaep.SessionStarted{})}, "started"},
		"it completes":          {announce.Utterance{Kind: announce.News, Event: event(&aaep.SessionCompleted{})}, "done"},
		"it is cancelled":       {announce.Utterance{Kind: announce.News, Event: event(&aaep.SessionCancelled{})}, "done"},
		"it fails":              {announce.Utterance{Kind: announce.Problem, Critical: true, Event: event(&aaep.SessionErrored{})}, "failed"},
		"a confirmation":        {announce.Utterance{Kind: announce.Question, Critical: true, Event: event(&aaep.AwaitingConfirmation{})}, "needs_you"},
		"a clarification":       {announce.Utterance{Kind: announce.Question, Critical: true, Event: event(&aaep.AwaitingClarification{})}, "needs_you"},
		"a handoff":             {announce.Utterance{Kind: announce.Problem, Critical: true, Event: event(&aaep.HandoffRequested{})}, "needs_you"},
		"thinking":              {announce.Utterance{Kind: announce.News, Event: state(aaep.StateThinking)}, "working"},
		"idle":                  {announce.Utterance{Kind: announce.News, Event: state(aaep.StateIdle)}, ""},
		"awaiting input":        {announce.Utterance{Kind: announce.News, Event: state(aaep.StateAwaitingInput)}, ""},
		"critical and idle":     {announce.Utterance{Kind: announce.News, Critical: true, Event: state(aaep.StateIdle)}, "needs_you"},
		"a tool":                {announce.Utterance{Kind: announce.News, Event: event(&aaep.ToolInvoked{})}, "working"},
		"progress":              {announce.Utterance{Kind: announce.Progress, Event: event(&aaep.ProgressUpdated{})}, "working"},
		"an answer":             {announce.Utterance{Kind: announce.Output, Event: event(&aaep.OutputStreaming{})}, ""},
		"a critical answer":     {announce.Utterance{Kind: announce.Output, Critical: true, Event: event(&aaep.OutputStreaming{})}, "needs_you"},
		"a notice":              {announce.Utterance{Kind: announce.Notice}, ""},
		"a critical notice":     {announce.Utterance{Kind: announce.Notice, Critical: true}, "needs_you"},
		"a lost link":           {announce.Utterance{Kind: announce.Notice, Critical: true, Link: announce.LinkLost}, "lost"},
		"a link that is back":   {announce.Utterance{Kind: announce.Notice, Critical: true, Link: announce.LinkBack}, "working"},
		"a question of nobody":  {announce.Utterance{Kind: announce.Question}, "needs_you"},
		"a problem of nobody":   {announce.Utterance{Kind: announce.Problem}, "failed"},
		"an unknown extension":  {announce.Utterance{Kind: announce.News, Event: event(&aaep.ExtensionPayload{})}, "working"},
		"an event of no type":   {announce.Utterance{Kind: announce.Output, Event: event(nil)}, ""},
		"a kind of the future":  {announce.Utterance{Kind: "dream"}, ""},
		"a critical from there": {announce.Utterance{Kind: "dream", Critical: true}, "needs_you"},
	} {
		t.Run(name, func(t *testing.T) {
			var device haptictest.Recorder
			out := cue.New(&device)
			defer out.Close()
			if err := out.Present(t.Context(), c.u); err != nil {
				t.Fatal(err)
			}
			var got string
			for _, p := range device.Played() {
				got += p.Pattern
			}
			if got != c.want {
				t.Errorf("it feels like %q, want %q", got, c.want)
			}
		})
	}
}

// A device without a pattern for a lost link plays that of a failure, and never the one that says
// that the person is needed.
func TestLostWithoutPattern(t *testing.T) {
	device := haptictest.Recorder{Names: []string{cue.NeedsYou, cue.Failed}}
	out := cue.New(&device)
	defer out.Close()
	for _, link := range []announce.Link{announce.LinkLost, announce.LinkBack} {
		if err := out.Present(t.Context(), announce.Utterance{Kind: announce.Notice, Critical: true, Link: link}); err != nil {
			t.Fatal(err)
		}
	}
	if got := played(&device, device.Played()[0].At); got != "0s failed" {
		t.Errorf("it feels like %q", got)
	}
}

// Between two patterns is a second: progress is dropped, a problem waits for it, and what needs the
// person does not.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := &haptictest.Recorder{Length: 100 * time.Millisecond}
		out := cue.New(device)
		start := time.Now()
		present := func(u announce.Utterance) {
			if err := out.Present(t.Context(), u); err != nil {
				t.Error(err)
			}
		}
		question := announce.Utterance{Kind: announce.Question, Critical: true, Event: event(&aaep.AwaitingConfirmation{})}
		progress := announce.Utterance{Kind: announce.Progress}
		present(announce.Utterance{Event: event(&aaep.SessionStarted{})}) // at 0 s
		present(progress)                                                 // is dropped
		present(announce.Utterance{Kind: announce.Problem})               // waits for 1 s
		present(question)                                                 // does not wait: 1.1 s
		present(question)                                                 // its second sentence
		time.Sleep(time.Second)                                           // 2.2 s
		for range 190 {                                                   // until 11.8 s
			present(progress)
			time.Sleep(50 * time.Millisecond)
		}
		present(question) // has been open for ten seconds: a reminder
		want := "0s started, 1s failed, 1.1s needs_you, 2.2s working, 11.8s needs_you"
		if got := played(device, start); got != want {
			t.Errorf("played %s\nwant   %s", got, want)
		}
	})
}

// A pattern that a producer puts on all critical events does not hide a failure from a question.
func TestFailureIsFelt(t *testing.T) {
	for name, c := range map[string]struct {
		names   []string
		payload aaep.Payload
		want    string
	}{
		"failed":              {[]string{"needs_you", "done", "failed"}, &aaep.SessionErrored{}, "0s failed wrist"},
		"no pattern for that": {[]string{"needs_you", "done"}, &aaep.SessionErrored{}, "0s needs_you wrist"},
		"asked":               {[]string{"tap", "needs_you"}, &aaep.AwaitingConfirmation{}, "0s needs_you wrist"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				device := &haptictest.Recorder{Names: c.names}
				out, start := cue.New(device), time.Now()
				ev := event(c.payload)
				ev.Extensions = map[string]json.RawMessage{"haptic": json.RawMessage(`{"pattern":"` + c.names[0] + `","location":"wrist"}`)}
				if err := out.Present(t.Context(), announce.Utterance{Event: ev, Critical: true}); err != nil {
					t.Fatal(err)
				}
				if got := played(device, start); got != c.want {
					t.Errorf("played %q, want %q", got, c.want)
				}
			})
		})
	}
}

// What the agent chose is felt, where the device has it.
func TestChosen(t *testing.T) {
	for name, c := range map[string]struct {
		data     string
		names    []string
		critical bool
		want     string
	}{
		"the agent's":             {`{"pattern":"wave","location":"wrist"}`, []string{"tap", "wave", "done"}, false, "0s wave wrist"},
		"one it has not":          {`{"pattern":"wave"}`, []string{"tap", "done"}, false, "0s done"},
		"nothing fits":            {`{"pattern":"wave"}`, []string{"tap"}, false, ""},
		"nothing fits, critical":  {`{"pattern":"wave"}`, []string{"tap", "knock"}, true, "0s tap"},
		"somebody else's prefix":  {`{"pattern":17}`, []string{"tap", "done"}, false, "0s done"},
		"no object":               {`"wave"`, []string{"wave", "done"}, false, "0s done"},
		"a device without any":    {`{"pattern":"wave"}`, []string{}, true, ""},
		"no pattern in it, empty": {`{"pattern":""}`, []string{"tap", "done"}, false, "0s done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				device := &haptictest.Recorder{Names: c.names}
				out, start := cue.New(device), time.Now()
				ev := event(&aaep.SessionCompleted{})
				ev.Extensions = map[string]json.RawMessage{"haptic": json.RawMessage(c.data)}
				if err := out.Present(t.Context(), announce.Utterance{Event: ev, Critical: c.critical}); err != nil {
					t.Fatal(err)
				}
				if got := played(device, start); got != c.want {
					t.Errorf("played %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A device that fails says why, and one that takes too long is left alone when ctx ends.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the battery is empty")
		device := &haptictest.Recorder{Length: 3 * time.Second, Err: broken}
		out, start := cue.New(device), time.Now()
		problem := announce.Utterance{Kind: announce.Problem}
		if err := out.Present(t.Context(), problem); err != broken {
			t.Errorf("Present = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := out.Present(ctx, problem); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 4*time.Second {
			t.Errorf("Present = %v after %v", err, time.Since(start))
		}
		if err := out.Present(ctx, problem); !errors.Is(err, context.DeadlineExceeded) || len(device.Played()) != 2 {
			t.Errorf("with ctx over, Present = %v", err)
		}
		// And while it waits for its turn.
		device.Length, device.Err = 0, nil
		out.Present(t.Context(), problem)
		waiting, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := out.Present(waiting, problem); !errors.Is(err, context.DeadlineExceeded) || len(device.Played()) != 3 {
			t.Errorf("Present = %v", err)
		}
		time.AfterFunc(100*time.Millisecond, func() { out.Close() })
		for range 2 {
			if err := out.Present(t.Context(), problem); err != announce.ErrClosed {
				t.Errorf("closed, Present = %v", err)
			}
		}
		if out.Close() != nil || !out.Speaks("yo") {
			t.Error("Close or Speaks fails")
		}
	})
}
