package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log/sqlite"
	"github.com/aaep-go/aaep/transports"
)

// hesitantStore keeps records, and says which it has kept before it goes on, or never goes on.
type hesitantStore struct {
	audit.Sink
	stop audit.Kind
}

func (h hesitantStore) Record(r audit.Record) error {
	err := h.Sink.Record(r)
	if r.Kind == h.stop {
		fmt.Println("stopped")
		select {}
	}
	return err
}

// runAcceptingAgent asks for an action that is accepted, and is to be killed before that begins:
// once the acceptance is on record, or once every listener but one whose link is stuck has received
// that it begins.
func runAcceptingAgent(dir, when string) {
	ctx := context.Background()
	kept, err := sqlite.Open(dir, sqlite.Options{SurvivesCrash: true})
	exitOn(err)
	sink := hesitantStore{Sink: audit.Slog(slog.New(slog.DiscardHandler))}
	switch when {
	case "asked-logged":
		sink.stop = audit.Replied
	case "settled-logged":
		sink.stop = audit.Settled
	default:
		trail, err := audit.Open(auditPath(dir), audit.Options{})
		exitOn(err)
		if sink.Sink = trail; when == "settled" {
			sink.stop = audit.Settled
		}
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: kept, Audit: sink})
	exitOn(err)
	join := func() (transports.Conn, string) {
		theirs, ours := transports.Pipe()
		go p.ServeConn(ours)
		data, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "listener",
			Capabilities: everything})
		exitOn(err)
		exitOn(theirs.Send(ctx, data))
		data, err = theirs.Receive(ctx)
		exitOn(err)
		m, err := aaep.Decode(data)
		exitOn(err)
		return theirs, m.(*aaep.SubscriptionAccepted).SubscriptionID
	}
	answering, id := join()
	join() // which reads nothing
	s, err := p.StartSession(ctx, aaep.Say("Paying."))
	exitOn(err)
	go func() {
		_, err := s.Tool(ctx, pay, func(context.Context) (string, error) {
			exitOn(appendNote(effectsPath(dir), "pay"))
			return "", nil
		})
		fmt.Println("ended:", err)
	}()
	for {
		data, err := answering.Receive(ctx)
		exitOn(err)
		m, err := aaep.Decode(data)
		exitOn(err)
		switch q := m.(*aaep.Event).Payload.(type) {
		case *aaep.AwaitingConfirmation:
			for range 20 { // more than the link of the other takes
				exitOn(s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}))
			}
			data, err := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept,
				SubscriptionID: id, Timestamp: time.Now()})
			exitOn(err)
			exitOn(answering.Send(ctx, data))
		case *aaep.ToolInvoked:
			fmt.Println("stopped")
		}
	}
}

// INV-02, INV-17, D-49: kill -9 between the yes and the action. After the restart the trail and the
// listeners say that it was accepted and not done, once.
func TestKillBetweenTheYesAndTheAction(t *testing.T) {
	for when, told := range map[string]string{"settled": "Accepted, and not done: Pay $5.",
		"invoked": "Accepted, and not done: pay"} {
		dir := t.TempDir()
		child := startChild(t, "accepts", dir, when)
		child.awaitLines("stopped", 1)
		child.kill()
		if ran, err := readNotes(effectsPath(dir)); err != nil || len(ran) > 0 {
			t.Fatalf("%s: the action was done: %v, %v", when, ran, err)
		}
		for life := range 2 { // the second time there is nothing more to say
			kept, err := sqlite.Open(dir, sqlite.Options{})
			check(t, err)
			trail, err := audit.Open(auditPath(dir), audit.Options{})
			check(t, err)
			wants := []audit.Kind{audit.Settled, audit.NotDone}
			if left := trail.Questions(); len(left) != 1 || left[0].Kind != wants[life] {
				t.Errorf("%s, life %d: it has left %+v", when, life, left)
			}
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: kept, Audit: trail})
			check(t, err)
			check(t, p.Shutdown(context.Background()))
			check(t, trail.Close())
			var words []string
			start, end := kept.Bounds()
			records, err := kept.Read(start, int(end-start))
			check(t, err)
			for _, r := range records {
				if bytes.Contains(r, []byte("and not done")) {
					words = append(words, string(r))
				}
			}
			check(t, kept.Close())
			if len(words) != 1 || !strings.Contains(words[0], told) {
				t.Errorf("%s, life %d: the listeners are told %q, want %q once", when, life, words, told)
			}
		}
		data, err := os.ReadFile(auditPath(dir))
		check(t, err)
		if _, err := audit.Verify(bytes.NewReader(data), ""); err != nil {
			t.Error(err)
		}
		var kinds []audit.Kind
		var calls []string
		for e, err := range audit.Read(bytes.NewReader(data)) {
			check(t, err)
			if kinds = append(kinds, e.Kind); e.Kind == audit.Asked || e.Kind == audit.NotDone {
				calls = append(calls, e.ToolCallID)
			}
		}
		want := []audit.Kind{audit.Opened, audit.Asked, audit.Replied, audit.Settled, audit.Opened, audit.NotDone,
			audit.Opened}
		if !slices.Equal(kinds, want) || len(calls) != 2 || calls[0] == "" || calls[0] != calls[1] {
			t.Errorf("%s: on record: %v of %v", when, kinds, calls)
		}
	}
}

// INV-02, INV-07: kill -9 while a question is open, or while a yes to it is being recorded. Where
// the trail is a logger, which reads nothing back, the log alone lets the next process say that
// nothing was done, once, to the listeners and in the trail.
func TestKillWithATrailInALogger(t *testing.T) {
	for _, when := range []string{"asked-logged", "settled-logged"} {
		dir := t.TempDir()
		child := startChild(t, "accepts", dir, when)
		child.awaitLines("stopped", 1)
		child.kill()
		for life := range 2 {
			kept, err := sqlite.Open(dir, sqlite.Options{})
			check(t, err)
			var trail bytes.Buffer
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: kept,
				Audit: audit.Slog(slog.New(slog.NewTextHandler(&trail, nil)))})
			check(t, err)
			check(t, p.Shutdown(context.Background()))
			start, end := kept.Bounds()
			records, err := kept.Read(start, int(end-start))
			check(t, err)
			check(t, kept.Close())
			told := 0
			for _, r := range records {
				told += bytes.Count(r, []byte(`"Withdrawn, and not done: Pay $5."`))
			}
			settled := strings.Count(trail.String(), "kind=settled")
			if told != 1 || settled != 1-life || settled == 1 && !strings.Contains(trail.String(), "cause=withdrawn decision=reject") {
				t.Errorf("%s, life %d: told %d times, and on record is %s", when, life, told, trail.String())
			}
		}
		if ran, err := readNotes(effectsPath(dir)); err != nil || len(ran) > 0 {
			t.Fatalf("%s: the action was done: %v, %v", when, ran, err)
		}
	}
}
