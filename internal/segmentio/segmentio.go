// Package segmentio reads text and writes its sentences: one on each line, or, for a harness that
// judges sentence boundaries, by a protocol of JSON lines. It is how the rules of
// coalesce.Segmenter are tried out (HS-071, D-52).
package segmentio

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
)

// maxBytes is the most text in one output event (§3.7), and so the longest piece a listener ever
// gets.
const maxBytes = 16384

// segmenter returns a Segmenter that cuts into sentences of a language, of at most maxRunes
// characters; 0 is no limit but that of the protocol.
func segmenter(lang string, maxRunes int) *coalesce.Segmenter {
	s := coalesce.NewSegmenter(aaep.BoundarySentence, maxBytes)
	s.SetLanguage(lang)
	s.SetMaxRunes(maxRunes)
	return s
}

// Lines reads text from r and writes each sentence to w as one line, as soon as it is complete.
// White space around a sentence is dropped and line ends inside become spaces. Lang is the text's,
// as a BCP 47 tag; if empty, the rules that contradict no language are used. MaxRunes is the
// longest piece in code points, outer white space not counted; zero is as long as an output event
// may be.
func Lines(r io.Reader, w io.Writer, lang string, maxRunes int) error {
	s := segmenter(lang, maxRunes)
	write := func(pieces []coalesce.Piece) error {
		for _, p := range pieces {
			if text := strings.Join(strings.FieldsFunc(p.Text, lineEnd), " "); strings.TrimSpace(text) != "" {
				if _, err := fmt.Fprintln(w, strings.TrimSpace(text)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		if werr := write(s.Write(string(buf[:n]))); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return write(s.Flush(true))
		case err != nil:
			return err
		}
	}
}

// lineEnd reports whether a character ends a line, as the text's rules of Unicode say.
func lineEnd(r rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", r) }

// A Request is one text as a stream of tokens.
type Request struct {
	ID       string   `json:"id"`
	Lang     string   `json:"lang"`
	Tokens   []string `json:"tokens"`
	MaxRunes int      `json:"max_runes"`
	// IdleAfter lists the tokens behind which the stream pauses.
	IdleAfter []int `json:"idle_after"`
	// Enc is "b64" where tokens and sentences are the base64 of their bytes, because tokens may end
	// inside a character.
	Enc string `json:"enc"`
}

// A Response says which sentences a Request has, and after which token each came out; the number of
// tokens stands for the end of the text. Joined, the sentences are the tokens joined, byte for
// byte.
type Response struct {
	ID                string   `json:"id"`
	Sentences         []string `json:"sentences"`
	EmittedAfterToken []int    `json:"emitted_after_token"`
	Error             string   `json:"error,omitempty"`
}

// Requests answers each Request, one a line in r, with a Response, one a line in w. It fails if a
// line is not JSON.
func Requests(r io.Reader, w io.Writer) error {
	in := json.NewDecoder(r)
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for n := 1; ; n++ {
		var req Request
		switch err := in.Decode(&req); {
		case errors.Is(err, io.EOF):
			return out.Flush()
		case err != nil:
			return errors.Join(fmt.Errorf("request %d: %w", n, err), out.Flush())
		}
		if err := enc.Encode(Answer(&req)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// Answer answers one Request: it gives the tokens to a Segmenter one by one, and returns each
// sentence and the token after which it was known. A token that is not what enc says is an Error in
// the Response.
func Answer(req *Request) *Response {
	res := &Response{ID: req.ID, Sentences: []string{}, EmittedAfterToken: []int{}}
	s := segmenter(req.Lang, req.MaxRunes)
	held := ""
	take := func(pieces []coalesce.Piece, token int) {
		for _, p := range pieces {
			source := held[:p.Source]
			if req.Enc == "b64" {
				source = base64.StdEncoding.EncodeToString([]byte(source))
			}
			res.Sentences = append(res.Sentences, source)
			res.EmittedAfterToken = append(res.EmittedAfterToken, token)
			held = held[p.Source:]
		}
	}
	for i, token := range req.Tokens {
		if req.Enc == "b64" {
			raw, err := base64.StdEncoding.DecodeString(token)
			if err != nil {
				return &Response{ID: req.ID, Error: fmt.Sprintf("token %d is not base64", i)}
			}
			token = string(raw)
		}
		held += token
		take(s.Write(token), i)
		if slices.Contains(req.IdleAfter, i) {
			take(s.Pause(), i)
		}
	}
	take(s.Flush(true), len(req.Tokens))
	if req.Enc == "" && !utf8.ValidString(strings.Join(res.Sentences, "")) {
		res.Error = "a sentence ends inside a character: ask with enc b64"
	}
	return res
}
