package llm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

func framesOf(stream []byte, piece int) (got []string) {
	var f eventSplitter
	event := func(name string, data []byte) { got = append(got, fmt.Sprintf("%s: %s", name, data)) }
	for chunk := range slices.Chunk(stream, piece) {
		f.splitEvents(chunk, event)
	}
	f.splitLast(event)
	return got
}

func TestFrames(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   []string
	}{
		{"", nil},
		{"data: a\n\n", []string{": a"}},
		{"\ufeffevent: x\r\ndata:a\r\ndata: b\r\n\r\n", []string{"x: a\nb"}},
		{"data: a\r\rdata: b\r\r", []string{": a", ": b"}},
		{": note\n\nid: 1\nretry: 5\ndata\n\n", []string{": "}},
		// an event without data is none; the last one counts without its empty line
		{"event: x\n\ndata: a", []string{": a"}},
	} {
		for piece := 1; piece <= max(len(tt.stream), 1); piece++ {
			if got := framesOf([]byte(tt.stream), piece); !slices.Equal(got, tt.want) {
				t.Errorf("%q in pieces of %d: %q, want %q", tt.stream, piece, got, tt.want)
			}
		}
	}
}

// An event of any size is passed over, its name is known, and the next one is read. (P10)
func TestLargeFrames(t *testing.T) {
	for _, huge := range []string{
		"event: big\ndata: " + strings.Repeat("x", 2*maxEvent) + "\n\n",
		"event: big\n" + strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxEvent/500) + "\n",
	} {
		stream := []byte(huge + "data: a\n\n")
		var f eventSplitter
		most := 0
		var got []string
		for chunk := range slices.Chunk(stream, 5000) {
			f.splitEvents(chunk, func(name string, data []byte) {
				got = append(got, fmt.Sprintf("%s: %s", name, data))
			})
			most = max(most, cap(f.line)+cap(f.data))
		}
		if want := []string{"big: ", ": a"}; !slices.Equal(got, want) {
			t.Errorf("got %.100q, want %q", got, want)
		}
		if most > 4*maxEvent {
			t.Errorf("%d bytes were kept", most)
		}
	}
}

// Where each line is an event, an empty one is none, and one that is too large is passed over.
func TestLines(t *testing.T) {
	stream := []byte("{\"a\":1}\r\n\n{\"a\":2}\n" + strings.Repeat("x", 2*maxEvent) + "\ndata: 3")
	for _, piece := range []int{1, 3, 5000, len(stream)} {
		f := eventSplitter{isLines: true}
		var got []string
		event := func(name string, data []byte) { got = append(got, name+string(data)) }
		for chunk := range slices.Chunk(stream, piece) {
			f.splitEvents(chunk, event)
		}
		f.splitLast(event)
		if want := []string{`{"a":1}`, `{"a":2}`, "", "data: 3"}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %.100q, want %q", piece, got, want)
		}
		if cap(f.line) > maxEvent/2 {
			t.Errorf("%d bytes are kept", cap(f.line))
		}
	}
}

// Clients of Ollama that leave out whose result it is send results in the order of the calls, and
// those that name it in any.
func TestOllamaResults(t *testing.T) {
	const asked = `{"role":"user","content":"Hi."}`
	first := ollamaRequest([]byte(`{"messages":[` + asked + `]}`))
	want := []string{callKey("", "look", first.prefix), callKey("", "note", first.prefix)}
	const called = `,{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look"}},{"function":{"name":"note"}}]}`
	for _, results := range []string{
		`{"role":"tool","content":"a"},{"role":"tool","content":"b"}`,
		`{"role":"tool","content":"a","tool_name":"look"},{"role":"tool","content":"b","tool_name":"note"}`,
	} {
		q := ollamaRequest([]byte(`{"messages":[` + asked + called + "," + results + `]}`))
		if !slices.Equal(q.keys, want) {
			t.Errorf("%s are the results of %q, want %q", results, q.keys, want)
		}
	}
	if q := ollamaRequest([]byte(`{"messages":[` + asked + `,{"role":"tool","content":"of nothing"}]}`)); len(
		q.results) != 1 || slices.Contains(want, q.keys[0]) {
		t.Errorf("a result that nothing asked for is of %q", q.keys)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\ndata: b\r\r\n"), uint8(1))
	f.Add([]byte("data: a\r\n\r\ndata: b\n\n"), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		want := framesOf(stream, len(stream)+1)
		if got := framesOf(stream, int(piece)+1); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, whole: %q", piece+1, got, want)
		}
	})
}

func aloud(text string, piece int) string {
	var m reasoningFilter
	var said strings.Builder
	for chunk := range slices.Chunk([]byte(text), piece) {
		said.WriteString(m.spokenText(string(chunk)))
	}
	said.WriteString(m.takeHeld())
	return said.String()
}

func TestReasoningFilter(t *testing.T) {
	for text, want := range map[string]string{
		"Hello.":                             "Hello.",
		"<think>Hm. <b></think>\n\nHello.":   "Hello.",
		"\n<think>\n</think>Hello. </think>": "Hello. </think>",
		"<think>for ever":                    "",
		"<thi":                               "<thi",
		" <things>":                          " <things>",
		"I <think> so.</think>":              "I <think> so.</think>",
	} {
		for piece := 1; piece <= len(text); piece++ {
			if got := aloud(text, piece); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, piece, got, want)
			}
		}
	}
}

// What the providers call an error in the middle of an answer: passing, for ever, or no party's
// guess.
func TestFaultOf(t *testing.T) {
	for name, want := range map[string]phrase.ID{
		"overloaded_error": phrase.ModelBusy, "rate_limit_exceeded": phrase.ModelBusy,
		"RESOURCE_EXHAUSTED": phrase.ModelBusy,
		"insufficient_quota": phrase.ModelRefused, "invalid_request_error": phrase.ModelRefused,
		"PERMISSION_DENIED": phrase.ModelRefused,
		"api_error":         phrase.ModelFault, "server_error": phrase.ModelFault, "": phrase.ModelFault,
	} {
		if got := endingOfErrorName(name); got.words != want || got.cause == nil {
			t.Errorf("%q means %v, %v, want %v", name, got.words, got.cause, want)
		}
	}
}

// The language of an answer is guessed where its letters show it, and the agent's own languages go
// before others.
func TestLanguageOf(t *testing.T) {
	for _, tt := range []struct{ text, agents, want string }{
		{"Hello", "en-US", "en-US"},
		{"Hello", "ar", "ar"},
		{"Hello", "ar fr", "fr"},
		{"1. **", "en-US", ""},
		{"", "en-US", ""},
		{"1. **مرحبًا", "en-US", "ar"},
		{"سلام", "en fa", "fa"},
		{"The word سلام", "en fa", "en"},
		{"สวัสดี GPT", "en", "th"},
		{"नमस्ते", "en mr", "mr"},
		{"Привіт", "uk", "uk"},
		{"五百", "en", "zh"},
		{"五百", "en ja", "ja"},
		{"五百", "zh-TW", "zh-TW"},
		{"五百ドル", "en", "ja"},
		{"漢字 한글", "en", "ko"},
		{"五百 Dollar ド", "en", "ja"},
		{"こんにちは", "", ""},
	} {
		if got := languageOf(tt.text, strings.Fields(tt.agents)); got != tt.want {
			t.Errorf("%q of an agent of %q is in %q, want %q", tt.text, tt.agents, got, tt.want)
		}
	}
}

func FuzzReasoningFilter(f *testing.F) {
	f.Add("<think>Hm.</think>\n\nHello.", uint8(2))
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		want := aloud(text, len(text)+1)
		if got := aloud(text, int(piece)+1); got != want {
			t.Errorf("in pieces of %d: %q, whole: %q", piece+1, got, want)
		}
		if !strings.HasSuffix(text, want) {
			t.Errorf("%q is not the end of %q", want, text)
		}
	})
}

// Requests of any form are read or passed over.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"assistant","tool_calls":[]},{"role":"tool","tool_call_id":"a"}],` +
			`"response_format":{"type":"json_object"}}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true}]}]}`,
		`{"input":[{"type":"function_call_output","call_id":"a"}],"text":{"format":{"type":"json_schema"}}}`,
		`{"contents":[{"role":"model","parts":[]},{"role":"user","parts":[{"functionResponse":{"name":"a",` +
			`"response":{"error":1}}}]}]}`,
		`{"contents":[1,"x",null]}`, `{"messages":{"role":1}}`, `[`, ``,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		for _, d := range dialects {
			q := d.request(body)
			for _, r := range q.results {
				if !slices.Contains(q.keys, r.key) {
					t.Errorf("the result %q is not among the keys", r.key)
				}
			}
		}
		if !bytes.Equal(body, before) {
			t.Error("the request was changed")
		}
	})
}

// A model that writes white space without an end is not waited for without one, in whatever pieces
// it writes it. (P10)
func TestReasoningFilterOfNothing(t *testing.T) {
	var m reasoningFilter
	if m.spokenText(strings.Repeat("\n", maxHeldSpace)); m.held != "" {
		t.Errorf("%d bytes are held", len(m.held))
	}
	text := strings.Repeat("\n", maxHeldSpace) + "<think>x"
	for _, piece := range []int{1, 7, len(text)} {
		if got := aloud(text, piece); got != text {
			t.Errorf("in pieces of %d, %d bytes are said, want %d", piece, len(got), len(text))
		}
	}
}

// Answers that are not read are not kept without an end. (P10)
func TestManyUnread(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Asking."))
	if err != nil {
		t.Fatal(err)
	}
	tap := New(p)
	add := func() *turn { return tap.addTurn(&turn{tap: tap, session: s, openRequests: 1}) }
	for range maxAnswers {
		if add() != nil {
			t.Fatal("an answer that may still come is given up")
		}
	}
	if first := tap.turns[0]; add() != first || len(tap.turns) != maxAnswers {
		t.Errorf("%d are kept", len(tap.turns))
	}
}
