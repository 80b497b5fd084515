// Package fakemodel stands in for the providers of language models in tests: it says what it is
// told to in the formats that they document, streamed or whole.
//
// The server is in fakemodel.go, OpenAI's formats are in openai.go, and those of the other
// providers in others.go.
package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The dialects.
const (
	Chat      = "chat"      // OpenAI's chat completions
	Responses = "responses" // OpenAI's Responses
	Messages  = "messages"  // Anthropic's messages
	Gemini    = "gemini"    // Google's generateContent
	Ollama    = "ollama"    // Ollama's own chat
)

// Dialects are all of them.
var Dialects = []string{Chat, Responses, Messages, Gemini, Ollama}

// An Answer is what the model says at once.
type Answer struct {
	Thinks string
	Says   []string // in pieces
	Calls  []Call
	Long   bool // it is cut off
	Declines,
	Breaks bool // it is cut off in the middle of the stream
	Fails  bool // with an error in the middle of the stream
	Status int  // instead of an answer
}

// A Call is a tool that the model wants.
type Call struct {
	ID, Name string
	Args     string // JSON
}

type object = map[string]any
type array = []any

// Path returns the path of the endpoint of a dialect, which for Gemini depends on stream.
func Path(dialect string, stream bool) string {
	switch {
	case dialect == Chat:
		return "/v1/chat/completions"
	case dialect == Responses:
		return "/v1/responses"
	case dialect == Messages:
		return "/v1/messages"
	case dialect == Ollama:
		return "/api/chat"
	case stream:
		return "/v1beta/models/gemini:streamGenerateContent"
	}
	return "/v1beta/models/gemini:generateContent"
}

// Medium returns the media type of a streamed answer in a dialect: lines of JSON for Ollama, else
// an event stream.
func Medium(dialect string) string {
	if dialect == Ollama {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// Stream returns an answer as the provider of a dialect streams it, in the form that Medium names.
// One that Breaks has no end.
func Stream(dialect string, a Answer) []byte {
	var b strings.Builder
	frame := func(name string, data any) {
		text, ok := data.(string)
		if !ok {
			encoded, _ := json.Marshal(data)
			text = string(encoded)
		}
		if name != "" {
			fmt.Fprintf(&b, "event: %s\n", name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", text)
	}
	typed := func(name string, members object) {
		members["type"] = name
		frame(name, members)
	}
	switch dialect {
	case Chat:
		chatStream(a, func(data any) { frame("", data) })
	case Responses:
		responsesStream(a, typed)
	case Messages:
		messagesStream(a, typed)
	case Gemini:
		geminiStream(a, func(data any) { frame("", data) })
	case Ollama:
		ollamaStream(a, &b)
	}
	return []byte(b.String())
}

// Whole returns an answer as the provider of a dialect sends it in one piece, as JSON.
func Whole(dialect string, a Answer) []byte {
	var data object
	switch dialect {
	case Chat:
		data = chatWhole(a)
	case Responses:
		data = responsesWhole(a)
	case Messages:
		data = messagesWhole(a)
	case Gemini:
		data = geminiWhole(a)
	case Ollama:
		data = ollamaObject(a, strings.Join(a.Says, ""), true)
	}
	encoded, _ := json.Marshal(data)
	return encoded
}

// Server gives its answers one after the other, whichever client asks, in the dialect of the
// address.
type Server struct {
	// Piece is how many bytes are written at once; zero is all.
	Piece int

	mu      sync.Mutex
	answers []Answer
	asked   [][]byte
}

// New returns a Server with its answers.
func New(answers ...Answer) *Server { return &Server{answers: answers} }

// Asked returns the bodies of the requests so far.
func (s *Server) Asked() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// ServeHTTP gives the next of the server's answers, in the dialect of the path that was asked, as a
// stream where the request or the path wants one. Without an answer that is left the status is 418.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in := struct {
		Stream bool `json:"stream"`
	}{strings.HasSuffix(r.URL.Path, Path(Ollama, true))} // which streams unless it is told not to
	json.Unmarshal(body, &in)
	stream := in.Stream || strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	s.mu.Lock()
	s.asked = append(s.asked, body)
	answer := Answer{Status: http.StatusTeapot}
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	if answer.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"not now","type":"error"}}`, answer.Status)
		return
	}
	dialect := ""
	for _, d := range Dialects {
		if strings.HasSuffix(r.URL.Path, Path(d, stream)) || d == Gemini && strings.Contains(r.URL.Path, "enerateContent") {
			dialect = d
		}
	}
	data := Whole(dialect, answer)
	w.Header().Set("Content-Type", "application/json")
	if stream {
		data = Stream(dialect, answer)
		w.Header().Set("Content-Type", Medium(dialect))
	}
	for len(data) > 0 {
		n := len(data)
		if s.Piece > 0 {
			n = min(n, s.Piece)
		}
		w.Write(data[:n])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		data = data[n:]
	}
}

// Transport is the server as a http.RoundTripper, without a network.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

// RoundTrip has the server answer a request. What the server wrote at once is read at once.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	t.s.ServeHTTP(rec, r)
	r.Body.Close()
	return &http.Response{Status: http.StatusText(rec.status), StatusCode: rec.status, Header: rec.header, Request: r, ContentLength: -1,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: &pieces{rec.pieces}}, nil
}

type recorder struct {
	header http.Header
	status int
	pieces [][]byte
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }
func (r *recorder) Write(p []byte) (int, error) {
	r.pieces = append(r.pieces, append([]byte(nil), p...))
	return len(p), nil
}

// pieces gives with each Read what was written at once.
type pieces struct{ left [][]byte }

// Read returns bytes of one piece at most, as a network that delivers an answer in pieces.
func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

func (p *pieces) Close() error { return nil }
