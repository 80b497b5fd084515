package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/internal/npmtest"
)

// TestTapClients has the libraries of three providers talk through the command.
func TestTapClients(t *testing.T) {
	t.Parallel()
	clients := npmtest.Install(t, "testdata/modelclients")
	var answers []fakemodel.Answer
	for _, dialect := range []string{fakemodel.Chat, fakemodel.Responses, fakemodel.Messages, fakemodel.Ollama} {
		answers = append(answers,
			fakemodel.Answer{Thinks: "Hm.", Says: []string{"I look ", "at the weather.\n"},
				Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{"city":"Ibadan"}`}}},
			fakemodel.Answer{Says: []string{"The sun ", fmt.Sprintf("shines in %s.", dialect)}})
	}
	model := fakemodel.New(answers...)
	model.Piece = 40
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	runScripts(t, "tap", map[string]string{"CLIENTS": clients, "UPSTREAM": server.URL})
}

// Only programs of this machine get through a tap: no page, whatever name it has given this
// machine.
func TestTapRefusesPages(t *testing.T) {
	ln, err := listenForPrograms(t.Context(), "--at", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	ctx, end := context.WithCancel(t.Context())
	go func() {
		over <- servePrograms(ctx, ln, http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(204)
		}), nil)
	}()
	for _, tt := range []struct {
		host, origin string
		status       int
		says         string
	}{
		{"", "", 204, ""}, {"localhost:" + portOf(ln), "", 204, ""}, {"host.docker.internal:" + portOf(ln), "", 204, ""},
		{"evil.example:" + portOf(ln), "", 403, "its names are 127.0.0.1, localhost, "}, {"evil.example", "http://evil.example", 403, "its names are"},
		{"", "https://evil.example", 403, "no web page is allowed here, and no option changes that"}, {"", "null", 403, "no web page"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+ln.Addr().String()+"/v1/chat/completions",
			strings.NewReader("{}"))
		if r.Host = tt.host; tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) || strings.Contains(string(body), "--") {
			t.Errorf("host %q, origin %q: %d %s, want %d and %q", tt.host, tt.origin, resp.StatusCode, body, tt.status, tt.says)
		}
	}
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func portOf(ln net.Listener) string { return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port) }

// TestTapGemini has Gemini CLI talk through the command. It asks for what it routes its requests by
// in JSON.
func TestTapGemini(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Gemini CLI: make test-all runs it")
	}
	t.Parallel()
	gemini := npmtest.Install(t, "acp/testdata/gemini")
	model := fakemodel.New(
		fakemodel.Answer{Thinks: "Hm.", Says: []string{"I look ", "at the folder. "},
			Calls: []fakemodel.Call{{Name: "list_directory", Args: `{"dir_path":"."}`}}},
		fakemodel.Answer{Says: []string{"There is ", "one file."}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Logf("%s %s of %s, %d bytes", r.Method, r.URL.Path, r.UserAgent(), len(body))
		if bytes.Contains(body, []byte(`"application/json"`)) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(fakemodel.Whole(fakemodel.Gemini,
				fakemodel.Answer{Says: []string{`{"complexity_reasoning":"decided","complexity_score":10}`}}))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	runScripts(t, "tapgemini", map[string]string{"GEMINI": gemini, "UPSTREAM": server.URL})
}

// TestAGUI runs the command between a web app and an agent on the libraries of the protocol's
// authors.
func TestAGUI(t *testing.T) {
	t.Parallel()
	sdk := npmtest.Install(t, "../../bridges/agui/testdata/sdk")
	runScripts(t, "agui", map[string]string{"SDK": sdk})
}
