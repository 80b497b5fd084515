package serve_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
)

// TestLifecycle is the example of §5.11 as one conversation in plain HTTP, replies too (TR-014).
func TestLifecycle(t *testing.T) {
	st := startFixture(t, producer.Config{})
	c := replyTerms(3, aaep.BoundarySentence, aaep.BoundaryCompletion)
	c.MaxEventsPerSecond = 100 // the example's 3 would take a while
	narrator := subscribeRaw(t, st.addr, c)
	if want := "/aaep/v1/events?subscription_id=" + narrator.id; narrator.location != want {
		t.Errorf("Location %q, want %q", narrator.location, want)
	}
	events := narrator.openStream("")
	for name, want := range map[string]string{"Content-Type": "text/event-stream",
		"Cache-Control": "no-cache, no-transform"} {
		if got := events.resp.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}

	agent := runAsync(func() (string, error) {
		s := st.startSession("Planning your retirement.")
		ctx := context.Background()
		s.Tool(ctx, producer.Tool{Name: "fetch_balance", Action: aaep.Say("Looking up your balance.")}, succeed)
		result, err := s.Tool(ctx, producer.Tool{Name: "transfer_funds", Risk: aaep.RiskHigh, Irreversible: true,
			Action: aaep.Say("Transfer $500 to savings."), Consequence: aaep.Say("Funds move at once.")}, succeed)
		out := s.Output()
		for _, token := range []string{"The money", " is moved. ", "You are on", " track."} {
			out.WriteString(token)
		}
		out.Close()
		s.Complete(aaep.Say("Plan ready."))
		return result, err
	})

	var frames []frame
	for {
		f, more := events.nextFrame()
		if !more {
			t.Fatal("the stream ended: ", events.err)
		}
		frames = append(frames, f)
		ev := f.decodeEvent(t)
		if q, asks := ev.Payload.(*aaep.AwaitingConfirmation); asks {
			if status, body := narrator.postMessage(narrator.sendReply(q.ReplyToken,
				aaep.Accept)); status != http.StatusNoContent || body != "" {
				t.Errorf("the reply got %d %q, want 204 and nothing", status, body)
			}
		}
		if isOver(ev) {
			break
		}
	}
	if r := awaitResult(t, agent); r.value != "done" || r.err != nil {
		t.Errorf("the tool returned %q, %v", r.value, r.err)
	}

	messages := []string{narrator.accepted}
	var evs []*aaep.Event
	for _, f := range frames {
		ev := f.decodeEvent(t)
		evs, messages = append(evs, ev), append(messages, f.data)
		if f.name != "aaep.event" || f.id != ev.EventID { // SSE-006, D-64
			t.Errorf("the frame is named %q with the id %q, want aaep.event and %q", f.name, f.id, ev.EventID)
		}
	}
	for _, m := range messages {
		if err := schemas.Validate([]byte(m)); err != nil {
			t.Errorf("%v\n%s", err, m)
		}
	}
	t.Run("published schemas", func(t *testing.T) { checkPublished(t, messages) })
	want := `session.started idle>thinking ` +
		`thinking>calling_tool fetch_balance fetch_balance:success calling_tool>thinking ` +
		`thinking>awaiting_input awaiting.confirmation awaiting_input>calling_tool ` +
		`transfer_funds transfer_funds:success calling_tool>thinking ` +
		`thinking>writing_output "The money is moved. " "You are on track."! writing_output>thinking session.completed`
	if got := summarize(evs); got != want {
		t.Errorf("the story is\n%s, want\n%s", got, want)
	}

	bye := encodeMessage(t, &aaep.SubscriptionClose{SubscriptionID: narrator.id, ReasonCode: aaep.SubscriberShutdown,
		ReasonMessage: "Bye."})
	if status, _ := narrator.postMessage(bye); status != http.StatusNoContent {
		t.Errorf("the close got %d, want 204", status)
	}
	if rest := events.readToEnd(); len(rest) != 0 {
		t.Errorf("after the close came %v", rest)
	}
	if resp, _ := sendRequest(t, "GET", st.addr, narrator.location, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the stream of a closed subscription: %s, want 404", resp.Status)
	}
	waitUntil(t, "the producer forgets the subscription", func() bool { return len(st.p.Subscriptions()) == 0 })
}

// checkPublished validates messages under the published schemas, which are another project's text.
func checkPublished(t *testing.T, messages []string) {
	root := filepath.Join("..", "..", "..", "shared", "published-schemas")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the published AAEP schemas are not at %s: nothing to compare with", root)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	ids := map[string]string{}
	check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, isSchema := strings.CutSuffix(d.Name(), ".schema.json")
		if err != nil || !isSchema {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return err
		}
		ids[name] = doc.(map[string]any)["$id"].(string)
		return c.AddResource(ids[name], doc)
	}))
	for _, data := range messages {
		m, err := aaep.Decode([]byte(data))
		check(t, err)
		schema, err := c.Compile(ids[strings.TrimPrefix(m.MessageType(), "aaep:")])
		check(t, err)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		check(t, err)
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
	}
}

// TestEventSource: what a page's EventSource hears, and that it does not come back for ever (D-55,
// D-64, SSE-017).
func TestEventSource(t *testing.T) {
	st := startFixture(t, producer.Config{})
	page := subscribeRaw(t, st.addr, withoutReplies(everything))
	events := page.openStream("")
	s := st.startSession("Planning.")
	s.Complete(aaep.Say("Done."))
	for range 3 {
		f, more := events.nextFrame()
		if !more || f.name != "aaep.event" || f.last == "" {
			t.Errorf("heard %+v, want messages named aaep.event", f)
		}
	}
	closed := make(chan struct{})
	go func() { defer close(closed); st.p.Shutdown(context.Background()) }()
	rest := events.readToEnd()
	if len(rest) != 1 || rest[0].id != "" || rest[0].name != "aaep.event" {
		t.Fatalf("the end is %+v, want one message without an id", rest)
	}
	m, err := aaep.Decode([]byte(rest[0].data))
	check(t, err)
	if bye, isClose := m.(*aaep.SubscriptionClose); !isClose || bye.ReasonCode != aaep.ProducerShutdown ||
		bye.SubscriptionID != page.id {
		t.Errorf("the last message is %s", rest[0].data)
	}
	// An EventSource comes back after a stream that ended, and stays away after anything but 200.
	if resp, _, err := trySend("GET", st.addr, page.location, "", "Last-Event-ID: "+rest[0].last); err == nil &&
		resp.StatusCode != http.StatusNotFound {
		t.Errorf("it comes back and gets %s, want 404", resp.Status)
	}
	awaitResult(t, closed)
	st.once.Do(func() { <-st.ended })
}

// TestCloseOfOne: while the producer lives, a subscription it closed is 404 to an EventSource that
// returns.
func TestCloseOfOne(t *testing.T) {
	st := startFixture(t, producer.Config{})
	page := subscribeRaw(t, st.addr, withoutReplies(everything))
	events := page.openStream("")
	// The refusal of other terms is the end (§5.7).
	status, body := page.postMessage(encodeMessage(t, &aaep.SubscriptionRenegotiate{SubscriptionID: page.id,
		Capabilities: aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}}))
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, string(aaep.ManifestSignatureRequired)) {
		t.Errorf("the renegotiation got %d %s", status, body)
	}
	events.readToEnd()
	if resp, _ := sendRequest(t, "GET", st.addr, page.location, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("it comes back and gets %s, want 404", resp.Status)
	}
}

// TestReadByPeople: what curl -N prints can be read: one event in three short lines and a long one,
// letters as letters.
func TestReadByPeople(t *testing.T) {
	st := startFixture(t, producer.Config{})
	curl := subscribeRaw(t, st.addr, withoutReplies(everything))
	resp, err := http.Get("http://" + st.addr + curl.location)
	check(t, err)
	defer resp.Body.Close()
	s := st.startSession("Für Zoë: <b>2 & 3</b> – “go” 了解 👩🏽‍🌾")
	defer s.Close()
	buf := make([]byte, 16<<10)
	var got string
	for strings.Count(got, "\n\n") < 1 {
		n, err := resp.Body.Read(buf)
		check(t, err)
		got += string(buf[:n])
	}
	one, _, _ := strings.Cut(got, "\n\n")
	lines := strings.Split(one, "\n")
	if len(lines) != 3 || lines[0] != "event: aaep.event" || !strings.HasPrefix(lines[1], "id: evt_") ||
		!strings.HasPrefix(lines[2], `data: {"@context":`) && !strings.HasPrefix(lines[2], `data: {"`) {
		t.Errorf("curl prints\n%s", one)
	}
	if want := `"summary_normal":"Für Zoë: <b>2 & 3</b> – “go” 了解 👩🏽‍🌾"`; !strings.Contains(one, want) {
		t.Errorf("curl prints\n%s, want in it %s", one, want)
	}
	http.DefaultClient.CloseIdleConnections()
}
