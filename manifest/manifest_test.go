package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/manifest"
)

// The seed's own sample, §5.10.1.
const seed = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:producer.manifest",
"agent_id":"retirement-planner","agent_version":"1.4.2","agent_name":"Retirement Planning Assistant",
"aaep_versions_supported":["1.0.0"],"conformance_levels_supported":[1,2],"transports_supported":["sse","websocket","stdio-jsonrpc"],
"languages_supported":["en-US","es-419","yo-NG"],
"event_types_emitted":["aaep:agent.session.*","aaep:agent.state.changed","aaep:agent.tool.*","aaep:agent.output.streaming","aaep:agent.awaiting.confirmation"],
"extensions_supported":["https://example.org/finance/context/v1"],"default_verbosity":"normal","max_concurrent_subscriptions":16,
"contact":"accessibility@example.com"}`

// HS-090, D-59: the seed's manifest is read, and written as it was.
func TestSeed(t *testing.T) {
	m, err := manifest.Parse([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	if m.AgentName != "Retirement Planning Assistant" ||
		!slices.Equal(m.TransportsSupported, []string{manifest.SSE, manifest.WebSocket, manifest.Stdio}) ||
		m.MaxConcurrentSubscriptions != 16 || !slices.Equal(m.ConformanceLevelsSupported, []int64{1, 2}) {
		t.Errorf("it reads as %+v", m)
	}
	written, err := manifest.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(seed, "\n", ""); string(written) != want {
		t.Errorf("it is written as\n%s\nwant\n%s", written, want)
	}
}

// D-59: any object that names an agent is a manifest; what is ambiguous or of a wrong type is none.
func TestParse(t *testing.T) {
	for text, says := range map[string]string{
		`{"agent_id":"a"}`: "",
		`{"agent_id":"a","type":"aaep:producer.manifest","new_member":{"x":1},` +
			`"@context":["https://aaep-protocol.org/context/v1","x:y"]}`: "",
		`{"agent_id":"a","type":"https://aaep-protocol.org/types/producer.manifest"}`: "",
		`{}`:                                     "no agent_id",
		`{"Agent_id":"a"}`:                       "no agent_id",
		`{"agent_id":"a","agent_id":"b"}`:        "duplicate",
		`{"agent_id":7}`:                         "agent_id",
		`{"agent_id":"a","type":"aaep:agent.x"}`: "its type is",
		`{"agent_id":"a","@context":7}`:          "@context",
		"{\"agent_id\":\"\xff\"}":                "UTF-8",
		`{"agent_id":"a"} {}`:                    "after",
		`["agent_id"]`:                           "manifest",
		``:                                       "manifest",
		`{"agent_id":"` + strings.Repeat("a", manifest.MaxSize) + `"}`: "at most",
	} {
		m, err := manifest.Parse([]byte(text))
		switch {
		case says == "" && (err != nil || m.AgentID != "a"):
			t.Errorf("Parse(%s) = %+v, %v", text, m, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("Parse(%.60s) = %v, want that it says %q", text, err, says)
		}
	}
}

// HS-090: what is not a whole manifest is not written.
func TestEncodeRefuses(t *testing.T) {
	for _, m := range []manifest.Manifest{{}, {AgentID: "a"}} {
		if data, err := manifest.Encode(&m); err == nil {
			t.Errorf("Encode(%+v) = %s", m, data)
		}
	}
}

// SSE-002, IPC-010: a manifest says where its transports are, and is valid with that.
func TestEndpoints(t *testing.T) {
	m, err := manifest.Parse([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	if at, err := m.Endpoints(); at != nil || err != nil {
		t.Errorf("Endpoints of the seed's = %v, %v; want none", at, err)
	}
	want := map[string]manifest.Endpoint{manifest.SSE: {Address: "/x"},
		manifest.Unix: {Address: "unix:/run/a.sock", Framing: "length"}}
	for name, e := range want {
		if err := m.AddEndpoint(name, e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := manifest.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := manifest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Endpoints(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Endpoints = %v, %v; want %v", got, err, want)
	}
	if !slices.Contains(again.TransportsSupported, manifest.Unix) {
		t.Errorf("the transports are %q", again.TransportsSupported)
	}
	again.Context = again.Context[:1] // the prefix alone names nothing
	if got, _ := again.Endpoints(); got != nil {
		t.Errorf("without its vocabulary: %v", got)
	}
}

// What Parse takes has an agent_id and can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(`{"agent_id":"a","extensions":{"endpoints":{"sse":{"address":7}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(data)
		if err != nil {
			return
		}
		if m.AgentID == "" {
			t.Error("no agent_id")
		}
		m.Endpoints()
		if written, err := manifest.Encode(m); err == nil {
			if again, err := manifest.Parse(written); err != nil || again.AgentID != m.AgentID {
				t.Errorf("written as %s, which reads as %+v, %v", written, again, err)
			}
		}
	})
}

func ExampleParse() {
	m, err := manifest.Parse(
		[]byte(`{"type":"aaep:producer.manifest","agent_id":"planner","languages_supported":["en-US","yo"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.AgentID, "speaks", strings.Join(m.LanguagesSupported, " and "))
	// Output: planner speaks en-US and yo
}
