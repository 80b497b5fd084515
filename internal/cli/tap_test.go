package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/internal/npmtest"
)

// TestTapClients has the libraries of three providers talk through the command.
func TestTapClients(t *testing.T) {
	if testing.Short() {
		t.Skip("its clients are programs of the models' makers: make test-all runs them")
	}
	t.Parallel()
	clients := npmtest.Install(t, "testdata/modelclients")
	// What is answered depends on the request alone: a maker's library asks again where it must.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := fakemodel.Answer{Thinks: "Hm.", Says: []string{"I look ", "at the weather.\n"},
			Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{"city":"Ibadan"}`}}}
		for _, dialect := range []string{fakemodel.Chat, fakemodel.Responses, fakemodel.Messages, fakemodel.Ollama} {
			isResult := regexp.MustCompile(`"role": ?"tool"|"function_call_output"|"tool_result"`).Match(body)
			if isResult && strings.HasSuffix(r.URL.Path, fakemodel.Path(dialect, true)) {
				answer = fakemodel.Answer{Says: []string{"The sun ", fmt.Sprintf("shines in %s.", dialect)}}
			}
		}
		model := fakemodel.New(answer)
		model.Piece = 40
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	runScripts(t, "tap", map[string]string{"CLIENTS": clients, "UPSTREAM": server.URL})
}

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
