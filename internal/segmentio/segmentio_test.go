package segmentio

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// HS-071: one sentence a line, whatever the reader gives at a time.
func TestLines(t *testing.T) {
	const text = "Ask Dr. Ade. It\u2019s 3.5\nkm to the\u00a0shop!\r\n\r\n- one\n- two \n\n```\na. B\n\nc. D\n```\n"
	const want = "Ask Dr. Ade.\nIt\u2019s 3.5 km to the\u00a0shop!\n- one\n- two\n``` a. B c. D ```\n"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		var w strings.Builder
		if err := Lines(r, &w, "en", 0); err != nil || w.String() != want {
			t.Errorf("%v\ngot  %q\nwant %q", err, w.String(), want)
		}
	}
	var w strings.Builder
	if err := Lines(strings.NewReader("one two three four"), &w, "", 10); err != nil || w.String() != "one two\nthree four\n" {
		t.Errorf("%v, %q", err, w.String())
	}
	broken := errors.New("broken")
	if err := Lines(iotest.ErrReader(broken), &w, "", 0); !errors.Is(err, broken) {
		t.Errorf("a failed read gives %v", err)
	}
}

// A sentence comes out as soon as it is complete, not when the input ends.
func TestLinesAtOnce(t *testing.T) {
	r, w := io.Pipe()
	out, in := io.Pipe()
	go func() {
		in.CloseWithError(Lines(r, in, "en", 0))
	}()
	buf := make([]byte, 64)
	if _, err := w.Write([]byte("One. Two.")); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(buf); string(buf[:n]) != "One.\n" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	w.Close()
	if n, err := out.Read(buf); string(buf[:n]) != "Two.\n" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if _, err := out.Read(buf); err != io.EOF {
		t.Errorf("%v at the end", err)
	}
}

// The protocol of the harness that TestEval runs. The text of "bytes" is あA, its first character
// cut in two.
func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		sentences     []string
		after         []int
	}{
		{"plain", `{"id":"x","lang":"en","tokens":["Hel","lo."," Bye."],"max_runes":0,"idle_after":[],"enc":""}`, []string{"Hello. ", "Bye."}, []int{2, 3}},
		{"a pause", `{"id":"x","lang":"en","tokens":["Hel","lo."," Bye."],"idle_after":[1]}`, []string{"Hello.", " Bye."}, []int{1, 3}},
		{"bytes", `{"id":"x","tokens":["44E=","gg==","QQ=="],"enc":"b64"}`, []string{"44GCQQ=="}, []int{3}},
		{"a limit", `{"id":"x","tokens":["one two ","three four"],"max_runes":10}`, []string{"one two ", "three four"}, []int{1, 2}},
		{"as it came", `{"id":"x","tokens":["cafe\u0301. \u00c9"],"lang":"fr"}`, []string{"cafe\u0301. ", "\u00c9"}, []int{0, 1}},
		{"a language", `{"id":"x","lang":"de-AT","tokens":["Am 3. Mai. Ja."]}`, []string{"Am 3. Mai. ", "Ja."}, []int{0, 1}},
		{"nothing", `{"id":"x","tokens":[]}`, []string{}, []int{}},
	} {
		var w strings.Builder
		if err := Requests(strings.NewReader(tt.request+"\n"), &w); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var res Response
		if err := json.Unmarshal([]byte(w.String()), &res); err != nil {
			t.Errorf("%s: %v in %s", tt.name, err, w.String())
		}
		if res.ID != "x" || res.Error != "" || !slices.Equal(res.Sentences, tt.sentences) || !slices.Equal(res.EmittedAfterToken, tt.after) {
			t.Errorf("%s: %+v", tt.name, res)
		}
	}
}

func TestRequestsRefuse(t *testing.T) {
	var w strings.Builder
	if err := Requests(strings.NewReader(`{"id":"a","tokens":["Ok."]}`+"\n{"), &w); err == nil || !strings.Contains(err.Error(), "request 2") {
		t.Errorf("a broken line gives %v", err)
	}
	if !strings.Contains(w.String(), `"sentences":["Ok."]`) {
		t.Errorf("the request before it was answered with %q", w.String())
	}
	if res := Answer(&Request{ID: "b", Tokens: []string{"*"}, Enc: "b64"}); res.Error == "" {
		t.Errorf("%+v", res)
	}
}
