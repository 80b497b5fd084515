package announce

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aaep-go/aaep"
)

func wordsOf(text string, piece int) string {
	var d data
	var said strings.Builder
	for chunk := range slices.Chunk([]rune(text), piece) {
		said.WriteString(d.speakChunk(string(chunk)))
	}
	return said.String()
}

// An answer that is data is heard as words, in whatever pieces it comes. (EVT-064)
func TestDataInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"city":"Ibadan","due_date":31,"id":"wx_8f3a","ok":true}`: "city: Ibadan; due date: 31; id: wx_8f3a; ok: true",
		"{\n  \"says\": \"Warm. And dry.\",\n  \"x\": null\n}\n":   "says: Warm. And dry.\nx: null",
		`[{"a":"{b}, \"c\"","d":[1,"e_f"]},{"g_h":"i"}]`:           `a: {b}, "c"; d: 1; e_f; g h: i`,
		`{"a":"one\ntwo \u0645\ud83d\ude00\/\\"}`:                  "a: one two م😀/\\",
		`"\ud83dx\u00zz`: "x",
		strings.Repeat("[", 1000) + `{"a_b":"c"}` + strings.Repeat("]", 9): "a b: c",
		"Sorry, no.": "Sorry; no.",
	} {
		for piece := 1; piece <= min(len(text), 70); piece++ {
			if got := wordsOf(text, piece); got != want {
				t.Errorf("%.60q in pieces of %d: %q, want %q", text, piece, got, want)
			}
		}
	}
}

// The announcer says it so, in sentences, and only where the answer says that it is data.
func TestDataAnnounced(t *testing.T) {
	for media, want := range map[string]string{
		"application/json": "says: It is warm. | Take a hat. | due on: Monday",
		"":                 `{"says":"It is warm. Take a hat.","due_on":"Monday"}`,
	} {
		r := newRoom(t, Preferences{})
		for _, chunk := range []string{`{"says":"It is wa`, `rm. Take a hat.","due_`, `on":"Monday"}`} {
			r.addEvent(&aaep.OutputStreaming{Chunk: chunk, OutputID: "o", ContentType: media, CoalesceHint: aaep.BoundaryNone}, "")
		}
		r.addEvent(&aaep.OutputStreaming{OutputID: "o", ContentType: media, Complete: true}, "")
		r.passTime(time.Minute)
		var heard []string
		for _, line := range r.heard {
			_, text, _ := strings.Cut(line, " ")
			heard = append(heard, text)
		}
		if got := strings.Join(heard, " | "); got != want {
			t.Errorf("%q is heard as %q, want %q", media, got, want)
		}
	}
}

// No letter and no number of a value is lost.
func FuzzData(f *testing.F) {
	f.Add(`{"a_b":["c",1.5,{"d":"\u00e9\n"}]}`, uint8(3))
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		whole := wordsOf(text, len(text)+1)
		if got := wordsOf(text, int(piece)+1); got != whole {
			t.Errorf("in pieces of %d: %q, whole: %q", piece+1, got, whole)
		}
		var value string
		if json.Unmarshal([]byte(text), &value) == nil {
			letters := func(s string) string {
				return strings.Map(func(r rune) rune {
					if unicode.IsLetter(r) || unicode.IsNumber(r) {
						return r
					}
					return -1
				}, s)
			}
			if letters(whole) != letters(value) {
				t.Errorf("%q is heard as %q", value, whole)
			}
		}
	})
}
