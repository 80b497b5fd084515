package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/producer"
)

// answer is the turn of an agent that writes, asks its user, fails or waits, as it is told.
func answer(ctx context.Context, turn a2a.Turn) error {
	s := turn.Session
	out := s.Output()
	io.WriteString(out, "The first half. ")
	switch turn.Text {
	case "pay":
		out.Close()
		_, err := s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
			Action:      aaep.Say("Pay 5 euros."),
			Consequence: aaep.Say("The money is gone.")}, func(context.Context) (string, error) { return "paid", nil })
		return err
	case "flood":
		for range 700 {
			io.WriteString(out, strings.Repeat("More and more. ", 1000))
		}
	case "fail":
		out.Close()
		return errors.New("a secret path")
	case "wait":
		s.Progress(aaep.Say("Waiting."), aaep.Progress{Description: "Waiting."}, 0)
		<-ctx.Done()
		return ctx.Err()
	}
	io.WriteString(out, "The second half.")
	return out.Close()
}

// serveAgent serves an agent by A2A and returns its address.
func serveAgent(t *testing.T, p *producer.Producer, cfg a2a.ServerConfig) string {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	cfg.URL, cfg.Name, cfg.Description = url+"/a2a", "Planner", "Plans."
	server, err := a2a.NewServer(p, answer, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	web.Config.Handler = server
	web.Start()
	t.Cleanup(web.Close)
	return url
}

// Clients on the library of the protocol's authors, of both versions, begin turns and see their
// progress, results and ends; what needs consent is asked of the person who listens, and never of
// the client; and the person hears who asked for what.
func TestSDKClient(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			p := bridgetest.NewProducer(t)
			l := bridgetest.Listen(t, p, func(l *bridgetest.Listener, ev *aaep.Event) {
				l.Sub.Question(ev).Accept(context.Background())
			})
			client := bridgetest.Start(t, dir, "node", "client.mjs", serveAgent(t, p, a2a.ServerConfig{}), version)
			if got := client.Line(t); got != "Planner" {
				t.Fatalf("the card is of %q", got)
			}
			do := func(command ...string) {
				line, _ := json.Marshal(command)
				fmt.Fprintf(client.In, "%s\n", line)
			}
			lines := func() (all []string) {
				for {
					line := client.Line(t)
					if line == "." {
						return all
					}
					all = append(all, line)
				}
			}
			do("stream", "do it")
			got := strings.Join(lines(), "\n")
			if !strings.HasPrefix(got, "task ") || !strings.Contains(got, "artifact The first half.") ||
				!strings.HasSuffix(got, "\ncompleted: The agent finished.") {
				t.Errorf("the client saw\n%s", got)
			}
			l.AwaitHeard(t, "Another agent asks: do it")
			do("send", "pay")
			got = strings.Join(lines(), "\n")
			if got != "task completed: The agent finished. [The first half. ]" {
				t.Errorf("the client saw\n%s", got)
			}
			l.AwaitHeard(t, "Pay 5 euros.")
			do("get")
			if got := lines(); !strings.HasSuffix(got[0], "[The first half. The second half.]") {
				t.Errorf("the client saw %q", got) // of the task that it streamed
			}
			do("subscribe")
			do("cancel")
			if got := append(lines(), lines()...); strings.Join(got,
				"\n") != "error JsonRpcUnsupportedOperationError\nerror JsonRpcTaskNotCancelableError" {
				t.Errorf("the client saw %q of a task that is over", got)
			}
			do("id", "sess_none")
			do("get")
			if got := append(lines(), lines()...); got[0] != "error JsonRpcTaskNotFoundError" {
				t.Errorf("the client saw %q of no task", got)
			}
			do("send", "fail")
			if got := lines()[0]; !strings.HasPrefix(got, "task failed: ") || strings.Contains(got, "secret") {
				t.Errorf("the client saw %q", got)
			}
			do("stream", "wait")
			for line := ""; !strings.Contains(line, "Waiting."); {
				line = client.Line(t)
			}
			do("cancel")
			got = strings.Join(append(lines(), lines()...), "\n")
			if !strings.Contains(got, "task canceled: The agent that asked for it cancelled it.") ||
				strings.Count(got, "canceled: ") != 2 {
				t.Errorf("the client saw\n%s", got)
			}
			l.AwaitHeard(t, "The agent that asked for it cancelled it.")
		})
	}
}

// The command of the Go library finds the agent, begins a turn, and sees its end.
func TestGoClient(t *testing.T) {
	command := goCommand(t)
	p := bridgetest.NewProducer(t)
	url := serveAgent(t, p, a2a.ServerConfig{})
	for _, args := range [][]string{{"discover", url}, {"send", url, "do it"}, {"send", "--stream", url, "do it"}} {
		out, err := exec.Command(command, args...).CombinedOutput()
		want := "The second half."
		if args[0] == "discover" {
			want = "Planner"
		}
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// Requests of others, without a token, from a web page, under another name, or of what is not
// there have no effect; a task is shown to who began it alone.
func TestServerRefuses(t *testing.T) {
	p := bridgetest.NewProducer(t)
	url := serveAgent(t, p, a2a.ServerConfig{Authenticate: func(r *http.Request) (string, error) {
		if name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			return name, nil
		}
		return "", errors.New("no token")
	}})
	post := func(change func(*http.Request), body string) (int, string) {
		r, _ := http.NewRequest(http.MethodPost, url+"/a2a", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer ada")
		if change != nil {
			change(r)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	const send = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"}]}}}`
	for name, test := range map[string]struct {
		change func(*http.Request)
		body   string
		status int
		want   string
	}{
		"no token":         {func(r *http.Request) { r.Header.Del("Authorization") }, send, 401, "token"},
		"another host":     {func(r *http.Request) { r.Host = "evil.example" }, send, 403, ""},
		"a web page":       {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, send, 403, ""},
		"a form":           {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, send, 405, ""},
		"no JSON":          {nil, "{", 200, "-32700"},
		"too deep":         {nil, strings.Repeat("[", 100_000), 200, "-32700"},
		"too long":         {nil, `{"id":"` + strings.Repeat("x", 1<<20), 413, ""},
		"another version":  {func(r *http.Request) { r.Header.Set("A2A-Version", "2.0") }, send, 200, "-32009"},
		"another method":   {nil, `{"id":1,"method":"DropTable"}`, 200, "-32601"},
		"push":             {nil, `{"id":1,"method":"tasks/pushNotificationConfig/set"}`, 200, "-32003"},
		"no message":       {nil, `{"id":1,"method":"SendMessage"}`, 200, "-32602"},
		"a task of nobody": {nil, strings.Replace(send, `"role"`, `"taskId":"sess_x","role"`, 1), 200, "-32001"},
	} {
		if status, text := post(test.change, test.body); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s, want %d %s", name, status, text, test.status, test.want)
		}
	}
	if n := p.Stats().Produced; n != 0 {
		t.Errorf("%d events came of what was refused", n)
	}
	_, text := post(nil, send)
	var made struct {
		Result struct{ Task struct{ ID string } }
	}
	if json.Unmarshal([]byte(text), &made); made.Result.Task.ID == "" {
		t.Fatalf("no task came of %s", text)
	}
	get := `{"id":2,"method":"GetTask","params":{"id":"` + made.Result.Task.ID + `"}}`
	if _, text := post(func(r *http.Request) { r.Header.Set("Authorization", "Bearer eve") },
		get); !strings.Contains(text, "-32001") {
		t.Errorf("another is shown %s", text)
	}
	if _, text := post(nil, get); !strings.Contains(text, "TASK_STATE_COMPLETED") {
		t.Errorf("who began it is shown %s", text)
	}
}

// An agent that writes without end is shown up to a bound, and that the rest is left out.
func TestServerFlood(t *testing.T) {
	url := serveAgent(t, bridgetest.NewProducer(t), a2a.ServerConfig{})
	answer, err := http.Post(url+"/a2a", "application/json", strings.NewReader(
		`{"id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"flood"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || len(text) > 9<<20 || !strings.Contains(string(text), "(The rest is left out.)") ||
		!strings.Contains(string(text), `"completed"`) {
		t.Errorf("%v; %d bytes, which end in %.300q", err, len(text), text[max(0, len(text)-300):])
	}
}

// sendTo has a principal send a message, without waiting for its end, and returns the answer.
func sendTo(t *testing.T, url, principal, message string) string {
	t.Helper()
	r, _ := http.NewRequest(http.MethodPost, url+"/a2a", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"configuration":{"returnImmediately":true},"message":`+message+`}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", principal)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func byHeader(r *http.Request) (string, error) { return r.Header.Get("Authorization"), nil }

// One client can neither take the places of the others, nor come into their conversations, nor have
// more kept than is bounded; and an agent that is shut down says so at once.
func TestServerIsolatesClients(t *testing.T) {
	talks := make(chan string, 200)
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	server, err := a2a.NewServer(bridgetest.NewProducer(t), func(ctx context.Context, turn a2a.Turn) error {
		talks <- turn.Conversation
		if turn.Text == "wait" {
			<-ctx.Done()
		}
		return nil
	}, a2a.ServerConfig{URL: url + "/a2a", Name: "Planner", Authenticate: byHeader})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = server
	web.Start()
	t.Cleanup(web.Close)

	sendTo(t, url, "ada", `{"messageId":"m","contextId":"king lear","role":"ROLE_USER","parts":[{"text":"go"}]}`)
	sendTo(t, url, "ada king", `{"messageId":"m","contextId":"lear","role":"ROLE_USER","parts":[{"text":"go"}]}`)
	if one, other := <-talks, <-talks; one == other {
		t.Errorf("both are in the conversation %q", one)
	}

	first := ""
	for range 80 {
		got := sendTo(t, url, "bob", `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`+strings.Repeat("x",
			1000<<10)+`"}]}`)
		<-talks
		var made struct {
			Result struct{ Task struct{ ID string } }
		}
		if json.Unmarshal([]byte(got), &made); made.Result.Task.ID == "" {
			t.Fatalf("no task came of it: %.300s", got)
		}
		if first == "" {
			first = made.Result.Task.ID
		}
	}
	kept := func() bool {
		r, _ := http.NewRequest(http.MethodPost, url+"/a2a",
			strings.NewReader(`{"id":2,"method":"GetTask","params":{"id":"`+first+`"}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "bob")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return !strings.Contains(string(text), "-32001")
	}
	for late := time.Now().Add(20 * time.Second); kept(); time.Sleep(10 * time.Millisecond) { // until the last has ended
		if time.Now().After(late) {
			t.Fatal("80 tasks of 1 MB are kept")
		}
	}

	const wait = `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"wait"}]}`
	for i := range 65 {
		if got := sendTo(t, url, "eve", wait); strings.Contains(got, "of your tasks run already") != (i == 64) {
			t.Fatalf("the task %d: %s", i+1, got)
		}
	}
	if got := sendTo(t, url, "ada", wait); strings.Contains(got, "error") {
		t.Errorf("another gets %s", got)
	}
	server.Close()
	for late := time.Now().Add(20 * time.Second); !strings.Contains(sendTo(t, url, "ada", wait),
		"is shut down"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("a task begins though the agent is shut down")
		}
	}
}
