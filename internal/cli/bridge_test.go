package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/npmtest"
)

// TestBridgeA2A runs the command beside an agent on the library of the protocol's authors, in both
// versions of the protocol.
func TestBridgeA2A(t *testing.T) {
	t.Parallel()
	dir := npmtest.Install(t, "../../bridges/a2a/testdata/sdk")
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			if testing.Short() && version != "1.0" {
				t.Skip("make test-all has it follow both versions")
			}
			t.Parallel()
			runScripts(t, "a2a", map[string]string{"SDK": dir, "VERSION": version})
		})
	}
}

// TestBridgeMCP runs the command between a client and a server of the protocol's authors.
func TestBridgeMCP(t *testing.T) {
	if testing.Short() {
		t.Skip("bridges/mcp meets that server too: make test-all runs this")
	}
	t.Parallel()
	runScripts(t, "mcp", map[string]string{"SDK": npmtest.Install(t, "../../bridges/mcp/testdata/everything")})
}

// waker posts a wake to a URL, signed with a key, and fails where it is not taken.
func waker() {
	body := fmt.Sprintf(`{"schemaVersion":"1.0","eventType":"wake/sent_to_me","eventId":"e1","logId":1,"agentIdentity":"@ada","subscriptionId":"WAKE_SUB:1",`+
		`"payload":{"messageId":"m1","from":"@bob","subject":"The build is red"},"emittedAt":%q}`,
		time.Now().UTC().Format(time.RFC3339))
	r := clitest.Must(http.NewRequest(http.MethodPost, os.Args[1], strings.NewReader(body)))
	mac := hmac.New(sha256.New, []byte(os.Args[2]))
	mac.Write([]byte(body))
	r.Header.Set("X-Neo-Wake-Signature", hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-Neo-Wake-Subscription-Id", "WAKE_SUB:1")
	r.Header.Set("X-Neo-Wake-Event-Id", "e1")
	if answer := clitest.Must(http.DefaultClient.Do(r)); answer.StatusCode != http.StatusAccepted {
		os.Exit(1)
	}
}

// akashikField is a field of the Akashik Protocol, of ours: it holds a record from the fourth time
// that it is asked, with a conflict that is for a person to decide, and prints what is recorded.
func akashikField() {
	var mu sync.Mutex
	epoch := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{operation}", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Payload struct {
				Type, Content string
				Since         *int `json:"since_epoch"`
			}
		}
		json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		defer mu.Unlock()
		switch r.PathValue("operation") {
		case "register":
			fmt.Fprint(w, `{"status": "registered", "field_capabilities": {"conformance_level": 1, "protocol_version": "0.1.0"}}`)
		case "attune":
			record, conflicts := "", ""
			if epoch++; epoch > 3 {
				conflicts = `{"id": "c", "status": "escalated", "unit_a": "m", "unit_b": "n", "description": "Two prices"}`
			}
			if epoch > 3 && (m.Payload.Since == nil || *m.Payload.Since < 4) {
				record = `{"relevance_score": 0.9, "memory_unit": {"id": "m", "type": "finding", "content": "Prices rose", "epoch": 4, "source": {"agent_id": "ada"}}}`
			}
			fmt.Fprintf(w, `{"status": "ok", "epoch": %d, "record": [%s], "conflicts": [%s], "context_budget": {"units_available": %d}}`, epoch, record, conflicts, min(len(record), 1))
		case "record":
			fmt.Println("recorded", m.Payload.Type+":", m.Payload.Content)
			fmt.Fprint(w, `{"status": "accepted", "memory_unit_id": "d", "epoch": 9}`)
		default:
			fmt.Fprint(w, `{"status": "ok"}`)
		}
	})
	ln := clitest.Must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println("Field at http://" + ln.Addr().String())
	http.Serve(ln, mux)
}

// rapTools is a tool server of the Reactive Agent Protocol, of ours: it prints each call and
// answers it at once.
func rapTools() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/rap-toolset", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name": "house", "endpoint": "/run", "tools": [{"name": "look", "annotations": {"readOnly": true}},
			{"name": "wipe", "description": "Deletes everything.", "annotations": {"destructive": true}}]}`)
	})
	mux.HandleFunc("POST /run", func(_ http.ResponseWriter, r *http.Request) {
		var call struct {
			Operation, ID string
			CallbackURL   string `json:"callback_url"`
			GroupID       string `json:"group_id"`
		}
		json.NewDecoder(r.Body).Decode(&call)
		fmt.Println("called", call.Operation)
		body := fmt.Sprintf(`{"type": "tool_result", "group_id": %q, "id": %q, "text": "Done."}`, call.GroupID, call.ID)
		go clitest.Must(http.Post(call.CallbackURL, "application/json", strings.NewReader(body)))
	})
	ln := clitest.Must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println("Tools at http://" + ln.Addr().String())
	http.Serve(ln, mux)
}

// rapRun is a runtime of that protocol, of ours: it calls one tool and prints the result.
func rapRun() {
	result := make(chan string, 1)
	back := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		json.NewDecoder(r.Body).Decode(&message)
		result <- message.Text
	}))
	body := fmt.Sprintf(`{"operation": %q, "arguments": {}, "id": "%d", "callback_url": %q, "group_id": "g"}`, os.Args[2], os.Getpid(), back.URL)
	clitest.Must(http.Post(os.Args[1]+"/invoke", "application/json", strings.NewReader(body)))
	fmt.Printf("result of %s: %s\n", os.Args[2], <-result)
}
