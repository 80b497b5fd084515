package sse

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const tooLarge = "(too large)"

// parseAll returns the data of all events in r, the last id, and the error at the end.
func parseAll(r io.Reader, limit int) (data []string, lastID string, err error) {
	p := newParser(r, limit, "")
	for {
		e, err := p.nextEvent()
		if err != nil {
			return data, p.lastID, err
		}
		if e.tooLarge {
			data = append(data, tooLarge)
		} else {
			data = append(data, string(e.data))
		}
	}
}

// TestParser holds the parser to the HTML standard §9.2.6 (D-65, SSE-007, SSE-008, INV-31).
func TestParser(t *testing.T) {
	const bom = "\ufeff"
	for _, tt := range []struct {
		name, stream string
		want         []string
		lastID       string
	}{
		{"line feeds", "event: aaep.event\nid: e1\ndata: {\"a\":1}\n\n", []string{`{"a":1}`}, "e1"},
		{"carriage returns and line feeds", "id: e1\r\ndata: {\"a\":1}\r\n\r\n", []string{`{"a":1}`}, "e1"},
		{"carriage returns", "id: e1\rdata: {\"a\":1}\r\r", []string{`{"a":1}`}, "e1"},
		{"mixed ends", "data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\n", []string{"1\n2\n3", "4"}, ""},
		{"byte order mark at the start", bom + "data: 1\n\n", []string{"1"}, ""},
		{"byte order mark alone on the first line", bom + "\ndata: 1\n\n", []string{"1"}, ""},
		{"byte order mark later is part of a name", "data: 1\n\n" + bom + "data: 2\n\n", []string{"1"}, ""},
		{"two byte order marks", bom + bom + "data: 1\n\n", nil, ""},
		{"no space", "data:{}\n\n", []string{"{}"}, ""},
		{"one space is taken, not two", "data:  {}\n\n", []string{" {}"}, ""},
		{"several data lines", "data: {\ndata: }\n\n", []string{"{\n}"}, ""},
		{"empty data lines count", "data\ndata:\n\n", []string{"\n"}, ""},
		{"empty data", "data\n\n", []string{""}, ""},
		{"comments", ": hello\n:\n\n::\ndata: 1\n: within\n\n", []string{"1"}, ""},
		{"50000 comments", strings.Repeat(": x\n", 50000) + "data: 1\n\n", []string{"1"}, ""},
		{"cut before the empty line", "data: 1\n\ndata: 2\nid: lost\n", []string{"1"}, ""},
		{"cut within a line", "data: 1\n\ndata: 2", []string{"1"}, ""},
		{"upper case is another field", "Data: 1\n\n", nil, ""},
		{"unknown fields", "foo: bar\ndata: 1\nbar\n\n", []string{"1"}, ""},
		{"any event name", "event: other\ndata: 1\n\nevent:\ndata: 2\n\n", []string{"1", "2"}, ""},
		{"no data, no event", "event: aaep.event\nid: e1\n\n", nil, "e1"},
		{"id stays", "id: e1\ndata: 1\n\ndata: 2\n\n", []string{"1", "2"}, "e1"},
		{"empty id resets", "id: e1\ndata: 1\n\nid\ndata: 2\n\n", []string{"1", "2"}, ""},
		{"id with a NUL is ignored", "id: e1\ndata: 1\n\nid: a\x00b\ndata: 2\n\n", []string{"1", "2"}, "e1"},
		{"id counts at the end of the event", "id: e1\ndata: 1\n\nid: e2\ndata: 2\n", []string{"1"}, "e1"},
		{"retry of any kind", "retry: 0\nretry: 99999999999999999999\nretry: -1\nretry: x\ndata: 1\n\n",
			[]string{"1"}, ""},
		{"bytes that are not UTF-8 stay", "data: {\"\xff\"}\n\n", []string{"{\"\xff\"}"}, ""},
		{"data at the limit", "data: " + strings.Repeat("x", 64) + "\n\n", []string{strings.Repeat("x", 64)}, ""},
		{"data above the limit", "id: e1\ndata: " + strings.Repeat("x", 65) + "\n\ndata: 1\n\n",
			[]string{tooLarge, "1"}, "e1"},
		{"data above the limit by lines", strings.Repeat("data: 123456789\n", 7) + "\ndata: 1\n\n",
			[]string{tooLarge, "1"}, ""},
		{"endless empty data lines", strings.Repeat("data\n", 1000) + "\ndata: 1\n\n", []string{tooLarge, "1"}, ""},
		{"data after too much of it", "data: " + strings.Repeat("x", 100) + "\ndata: 2\n\ndata: 1\n\n",
			[]string{tooLarge, "1"}, ""},
		{"line of 3 MiB", "data: " + strings.Repeat("x", 3<<20) + "\n\ndata: 1\n\n", []string{tooLarge, "1"}, ""},
		{"comment of 3 MiB", ":" + strings.Repeat("x", 3<<20) + "\ndata: 1\n\n", []string{"1"}, ""},
		{"id above the limit is ignored", "id: " + strings.Repeat("x", 100) + "\ndata: 1\n\n", []string{"1"}, ""},
		{"nothing", "", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"at once":      strings.NewReader(tt.stream),
				"with the end": iotest.DataErrReader(strings.NewReader(tt.stream)),
			}
			if len(tt.stream) < 1<<20 {
				readers["byte by byte"] = iotest.OneByteReader(strings.NewReader(tt.stream))
			}
			for how, r := range readers {
				got, lastID, err := parseAll(r, 64)
				if !slices.Equal(got, tt.want) || lastID != tt.lastID || err != io.EOF {
					t.Errorf("%s: events %.200q, last id %q, %v; want %.200q, %q, EOF", how, got, lastID, err,
						tt.want, tt.lastID)
				}
			}
		})
	}
}

// A \r that ends an event must not wait for what may follow it.
func TestParserDoesNotWaitAfterCR(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go func() { _, _ = w.Write([]byte("data: 1\r\r")) }()
	p := newParser(r, 64, "")
	if e, err := p.nextEvent(); err != nil || string(e.data) != "1" {
		t.Fatalf("next = %q, %v; want 1", e.data, err)
	}
	go func() { _, _ = w.Write([]byte("\ndata: 2\r\n\r\n")); w.CloseWithError(errors.New("cut")) }()
	if e, err := p.nextEvent(); err != nil || string(e.data) != "2" {
		t.Fatalf("next = %q, %v; want 2", e.data, err)
	}
	if _, err := p.nextEvent(); err == nil || err.Error() != "cut" {
		t.Fatalf("next = %v; want the reader's error", err)
	}
}

// An id of an earlier stream goes on counting until another one comes.
func TestParserKeepsEarlierID(t *testing.T) {
	p := newParser(strings.NewReader("data: 1\n\n"), 64, "e0")
	if _, err := p.nextEvent(); err != nil || p.lastID != "e0" {
		t.Errorf("last id %q, %v; want e0", p.lastID, err)
	}
}

// FuzzParser: any bytes, however they arrive, give the same events and never more than the limit.
func FuzzParser(f *testing.F) {
	for _, seed := range []string{
		"event: aaep.event\nid: e1\ndata: {\"a\":1}\n\n", "data: 1\r\n\r\ndata: 2\r\rdata\n\n",
		"\ufeff: c\nid: \x00\ndata:x\n\n",
		"data: 1\n", "retry: 10\n\n\n", "data: " + strings.Repeat("x", 90) + "\n\ndata: y\n\n", "\r\n\r\n", ":\xff\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, id, err := parseAll(strings.NewReader(string(stream)), 64)
		if err != io.EOF {
			t.Fatalf("error %v, want EOF", err)
		}
		bytewise, id2, _ := parseAll(iotest.OneByteReader(strings.NewReader(string(stream))), 64)
		if !slices.Equal(whole, bytewise) || id != id2 {
			t.Fatalf("at once %q %q, byte by byte %q %q", whole, id, bytewise, id2)
		}
		for _, d := range whole {
			if len(d) > 64 || strings.Contains(d, "\r") {
				t.Fatalf("data %q", d)
			}
		}
	})
}

// FuzzFrame: whatever is sent is one event with the same data, but for how lines end (SSE-006).
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"a":1}`), "e1")
	f.Add([]byte("{\r\n\"a\":\r1\n}\n"), "e\n1")
	f.Add([]byte("\ufeff"), "")
	f.Add([]byte("\n\nid: x\n\n"), "\x00")
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	f.Fuzz(func(t *testing.T, msg []byte, id string) {
		frame := appendFrame(nil, msg, eventName, id)
		got, lastID, err := parseAll(strings.NewReader(string(frame)), len(msg)+len(id)+8)
		if len(got) != 1 || got[0] != ends.Replace(string(msg)) || err != io.EOF {
			t.Fatalf("%q became %q, %v", msg, got, err)
		}
		if strings.ContainsAny(id, "\r\n\x00") {
			id = ""
		}
		if lastID != id {
			t.Fatalf("id %q became %q", id, lastID)
		}
	})
}
