package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
)

// TestServerName checks in whose name a person is asked.
func TestServerName(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem plans": "server-filesystem",
		"uvx mcp-server-git --repository .":                    "mcp-server-git",
		"/usr/bin/python3 -u tools/server.py":                  "server.py",
		"./files-server --root /srv":                           "files-server",
		"node":                                                 "node",
	} {
		if got := serverName(strings.Fields(line)); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}

// TestSlashLinesAreNotSent checks that a line that begins with a slash is no message to a remote
// agent, unless a space is before it.
func TestSlashLinesAreNotSent(t *testing.T) {
	var sent []string
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name":"Archive","capabilities":{},"supportedInterfaces":[{"url":"http://%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
			return
		}
		var m struct {
			ID     any
			Params struct {
				Message struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		sent = append(sent, m.Params.Message.Parts[0].Text)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Yes."}]}}}`)
	})
	server.Start()
	defer server.Close()
	agent, err := a2a.Dial(t.Context(), server.URL, a2a.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := clitest.AgentOf(t, producer.Config{})
	defer p.Shutdown(t.Context())
	var talk clitest.Buffer
	o := &a2aOptions{}
	o.status.Out = &talk
	if err := o.followTasks(t.Context(), agent, p, strings.NewReader("/nosuch\n /sent\n\n")); err != nil {
		t.Error(err)
	}
	if len(sent) != 1 || sent[0] != "/sent" || !strings.Contains(talk.String(), "/nosuch is no command, and was not sent.") {
		t.Errorf("sent %q, and told %s", sent, talk.String())
	}
}
