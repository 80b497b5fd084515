//go:build unix

package stdio

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/transports"
)

// What comes out of any bytes is a JSON object that was in them, and what goes into a line comes
// out of it.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		repliesRPC, closeLine, pingLine, eventLine, event, "\r\n\n" + repliesRPC + "\r\n",
		`{"jsonrpc":"2.0","id":1,"method":"aaep.subscribe","params":` + asks + "}\n" + pingLine,
		`{"jsonrpc":"2.0","id":1,"result":` + accepts + `}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `[{}]`, `{"METHOD":"x"}`,
		`{"jsonrpc":"2.0","method":"aaep.reply","params": { "a" : [ 1 ] } }`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}",
		strings.Repeat("[", 1000), "{}{}", "\"", "nul", `{"type":"x"`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s+"\n"), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, producer bool) {
		fr := &frames{producer: producer}
		for r := bufio.NewReaderSize(bytes.NewReader(data), 16); ; {
			line, tooLong, err := readLine(r)
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && err != transports.ErrTooLarge {
					t.Fatal(err)
				}
				return
			}
			if bytes.IndexByte(line, '\n') >= 0 || len(line) > maxLine+2 || tooLong && line != nil {
				t.Fatalf("the line is %q", line)
			}
			o, wrong := parseLine(line, !producer)
			if wrong != nil {
				if o.method != "" || wrong.code == 0 || !jsontext.Value(wrong.text).IsValid() &&
					strings.ContainsAny(wrong.text, "\r\n\x00") {
					t.Fatalf("%q: %+v, %+v", line, o, wrong)
				}
				continue
			}
			for _, raw := range [][]byte{o.bare, o.params, o.result, o.id} {
				if raw != nil && (!bytes.Contains(line, raw) || !jsontext.Value(raw).IsValid(jsonOptions)) {
					t.Fatalf("%q has %q", line, raw)
				}
			}
			msg := o.params
			if o.bare != nil {
				msg = o.bare
			}
			if msg == nil || jsontext.Value(msg).Kind() != '{' {
				continue
			}
			again, wrong := parseLine(bytes.TrimSuffix(fr.wrapMessage(msg), []byte{'\n'}), false)
			if wrong != nil || !bytes.Equal(bytes.ReplaceAll(msg, []byte{'\r'}, []byte{' '}), again.params) {
				t.Fatalf("%q becomes %q, %+v", msg, again.params, wrong)
			}
		}
	})
}

// The corpus of hostile input is not part of this repository. This test runs where it lies beside
// it.
func TestCorpus(t *testing.T) {
	type run struct {
		Base64 string
		Times  int
	}
	var index struct {
		Cases []struct {
			ID, Target, Transport, Reader, Base64, Expect, Survive, Reason string
			Parts                                                          []run
		}
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the hostile-input corpus is not beside the repository: ", err)
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range index.Cases {
		if c.Target != "frame" || c.Transport != "stdio" {
			continue
		}
		tried++
		t.Run(c.ID, func(t *testing.T) {
			var input []byte
			for _, part := range append(c.Parts, run{c.Base64, 1}) {
				b, err := base64.StdEncoding.DecodeString(part.Base64)
				if err != nil {
					t.Fatal(err)
				}
				input = append(input, bytes.Repeat(b, part.Times)...)
			}
			r := rawProducer(t)
			if c.Reader != "producer" {
				r = rawSubscriber(t)
			}
			const good = `{"type":"confirmation.reply","good":true}`
			go func() {
				r.in.Write(input)
				if c.Survive == "yes" {
					r.writeLine(`{"jsonrpc":"2.0","method":"` + methodOf("confirmation.reply", c.Reader != "producer") +
						`","params":` + good + `}`)
				}
				r.in.Close()
			}()
			var got []string
			var end error
			for end == nil {
				var msg []byte
				if msg, end = receiveSoon(t, r); end == nil {
					got = append(got, string(msg))
				}
			}
			if survived := slices.Contains(got, good); survived != (c.Survive == "yes") {
				t.Errorf("%s: a good message after it arrives: %v; the end is %v", c.Reason, survived, end)
			}
			got = slices.DeleteFunc(got, func(msg string) bool { return msg == good })
			if c.Expect != "accept" && len(got) > 0 {
				t.Errorf("%s: it was taken: %.200q", c.Reason, got)
			}
			if c.Expect == "accept" && len(got) == 0 && !bytes.Contains(input, []byte(methodPing)) {
				t.Errorf("%s: it was not taken", c.Reason)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d cases tried", tried)
	}
}
