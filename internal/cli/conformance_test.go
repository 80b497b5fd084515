package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// LVL-044: the command reaches an agent, makes it act, and ends with a code that a script can ask for.
func TestConformanceProducer(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "target"}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.Background(), ln, p) }()
	driver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/scenarios/tools" {
			http.Error(w, "not here", http.StatusNotImplemented)
			return
		}
		s, err := p.StartSession(r.Context(), aaep.Say("Working."))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer s.Close()
		s.Tool(r.Context(), producer.Tool{Name: "look", Action: aaep.Say("Looking.")}, func(context.Context) (string, error) { return "Seen.", nil })
		s.Complete(aaep.Say("Done."))
	}))
	t.Cleanup(func() {
		driver.Close()
		p.Shutdown(context.Background())
		<-served
	})
	at := "http://" + ln.Addr().String()
	drive := []string{"--driver", driver.URL}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in what is printed
	}{
		{"passed", append([]string{at, "--case", "filters-kept,version-refused", "--level", "3"}, drive...), exitOK, "PASS HS-058 version-refused: "},
		{"not proved", append([]string{at, "--case", "hands-over", "--level", "2"}, drive...), exitFailed, "INCONCLUSIVE LVL-022 hands-over: the scenario handoff could not be started: the driver answered 501 Not Implemented: not here"},
		{"no case", append([]string{at, "--case", "nothing"}, drive...), exitUsage, "no case is named"},
		{"no driver", []string{at}, exitUsage, "either --driver or --command"},
		{"no address", drive, exitUsage, "give the address"},
		{"no level", append([]string{at, "--level", "4"}, drive...), exitUsage, "none of 1, 2 and 3"},
		{"nobody", append([]string{"ws://127.0.0.1:1", "--level", "3", "--case", "version-refused"}, drive...), exitUnreachable, "nothing answers"},
		{"nobody, over SSE", append([]string{"http://127.0.0.1:1/aaep/v1", "--level", "3", "--case", "version-refused"}, drive...), exitUnreachable, "nothing answers"},
		{"list", []string{"--list"}, exitOK, "asks-first: Level 2, MUST, LVL-019"},
		{"explain", []string{"--explain", "HS-020"}, exitOK, "not-asked-if-mute, MUST at Level 2."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			code := Main(append([]string{"conformance", "producer"}, tt.args...), strings.NewReader(""), &out, &talk)
			if all := out.String() + talk.String(); code != tt.code || !strings.Contains(all, tt.want) {
				t.Errorf("code %d, want %d and %q:\n%s", code, tt.code, tt.want, all)
			}
		})
	}
	var out, talk bytes.Buffer
	var report struct {
		Verdict conformance.Verdict
		Results []struct{ Name, Verdict string }
	}
	code := Main(append([]string{"conformance", "producer", at, "--case", "version-refused", "--level", "3", "--json"}, drive...), strings.NewReader(""), &out, &talk)
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != exitOK || report.Verdict != conformance.Pass || len(report.Results) != len(conformance.Cases()) {
		t.Errorf("code %d, %v: %s", code, err, out.String())
	}
}
