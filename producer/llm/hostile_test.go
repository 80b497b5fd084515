package llm_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Whatever comes from a provider, the client has it as it is, and nothing is left open. (P10)
func FuzzAnswer(f *testing.F) {
	call := fakemodel.Answer{Thinks: "Hm.", Says: []string{"I ", "look."},
		Calls: []fakemodel.Call{{ID: "a", Name: "look up", Args: `{"x":1}`}}}
	for i, dialect := range fakemodel.Dialects {
		f.Add(uint8(i), true, fakemodel.Stream(dialect, call))
		f.Add(uint8(i), false, fakemodel.Whole(dialect, call))
		f.Add(uint8(i), true,
			fakemodel.Stream(dialect, fakemodel.Answer{Says: []string{"\u0000\ufeff\u202e\xff"}, Fails: true}))
	}
	f.Add(uint8(0), true,
		[]byte(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":-1,"id":1},{"index":9e9}]}}]}`))
	f.Add(uint8(0), false,
		[]byte(
			`{"choices":[null,{"index":0,"message":{"content":[{"type":"text","text":"\ud83d"},{}]},`+
				`"finish_reason":"x"}]}`))
	f.Add(uint8(1), true, []byte("event: response.completed\ndata: {\"response\":[]}\n\n"))
	f.Add(uint8(2), true,
		[]byte(
			`data: {"type":"content_block_start","content_block":{"type":"x_tool_result",`+
				`"content":[{"type":"e_error"}]}}`))
	f.Add(uint8(3), false,
		[]byte(`[{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]},null,{"error":{"code":"x"}}]`))
	f.Add(uint8(3), false, []byte(strings.Repeat("[", 20000)))
	f.Fuzz(func(t *testing.T, kind uint8, stream bool, body []byte) {
		dialect := fakemodel.Dialects[int(kind)%len(fakemodel.Dialects)]
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(context.Background())
		s, _ := p.StartSession(t.Context(), aaep.Say("Looking."))
		media := "application/json"
		if stream {
			media = fakemodel.Medium(dialect)
		}
		tap := llm.New(p).Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {media}},
				Body: io.NopCloser(iotest.HalfReader(bytes.NewReader(body)))}, nil
		}))
		resp, err := tap.RoundTrip(request(dialect, stream, user("Hi.")).WithContext(s.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("the client read %q, %v; the model sent %q", got, err, body)
		}
		if err := s.Complete(aaep.Say("Done.")); err != nil {
			t.Errorf("the session could not be completed: %v", err)
		}
	})
}

// BenchmarkTap is what following an answer of a thousand words costs, against reading it alone.
func BenchmarkTap(b *testing.B) {
	words := strings.SplitAfter(strings.Repeat("word ", 1000), " ")
	for _, dialect := range fakemodel.Dialects {
		body := fakemodel.Stream(dialect, fakemodel.Answer{Says: words})
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {fakemodel.Medium(dialect)}},
				Body: io.NopCloser(bytes.NewReader(body))}, nil
		})
		p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		tap := llm.New(p).Transport(base)
		for name, client := range map[string]http.RoundTripper{"alone": base, "followed": tap} {
			b.Run(dialect+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					resp, _ := client.RoundTrip(request(dialect, true, user("Hi.")))
					io.Copy(io.Discard, resp.Body)
				}
			})
		}
		p.Shutdown(context.Background())
	}
}

// BenchmarkRequest is what looking at a request with a long conversation costs before it is sent.
func BenchmarkRequest(b *testing.B) {
	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	defer p.Shutdown(context.Background())
	tap := llm.New(p).Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 400, Header: http.Header{}, Body: http.NoBody}, nil
	}))
	for _, dialect := range fakemodel.Dialects {
		var lines []line
		for range 1000 {
			lines = append(lines, user(strings.Repeat("word ", 100)),
				model(fakemodel.Answer{Says: []string{strings.Repeat("word ", 100)}}))
		}
		r := request(dialect, true, lines...)
		b.Run(dialect, func(b *testing.B) {
			b.SetBytes(r.ContentLength)
			for b.Loop() {
				tap.RoundTrip(r)
			}
		})
	}
}
