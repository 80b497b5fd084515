package audit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// The first line has the version. The chain can be followed with nothing but a SHA-256 of the lines
// as they stand there.
func TestFormat(t *testing.T) {
	data, head := written(t, 4)
	prev := ""
	for i, line := range linesOf(data) {
		line = strings.TrimSuffix(line, "\n")
		start := fmt.Sprintf(`{"seq":%d,"prev":"%s","time":"2026-`, i+1, prev)
		if i == 0 {
			start = `{"seq":1,"prev":"","time":"`
		}
		if !strings.HasPrefix(line, start) {
			t.Errorf("line %d is %s, want it to begin with %s", i+1, line, start)
		}
		if i == 0 && !regexp.MustCompile(`"kind":"opened","node":"[^"]*:\d+","version":1,"crc":`).MatchString(line) {
			t.Errorf("the first line is %s", line)
		}
		if i == 1 && !strings.Contains(line, `می\u200cخواهید؟`) {
			t.Errorf("hidden characters are not escaped, or others are: %s", line)
		}
		before, after, _ := strings.Cut(line, `,"crc":"`)
		if after != fmt.Sprintf(`%08x"}`, crc32.ChecksumIEEE([]byte(before))) {
			t.Errorf("crc of line %d is %s", i+1, after)
		}
		prev = fmt.Sprintf("%x", sha256.Sum256([]byte(line)))
	}
	if prev != head {
		t.Errorf("Head = %s, want %s", head, prev)
	}
}

func TestVerify(t *testing.T) {
	data, head := written(t, 5)
	rep, fault := verify(t, data, "")
	if fault != nil {
		t.Fatal(fault)
	}
	if rep.Records != 5 || rep.Runs != 1 || rep.Torn != 0 || rep.Head != head || rep.Anchored != 0 ||
		!rep.Last.Equal(began.Add(4e9)) {
		t.Errorf("%+v", rep)
	}
	if rep, fault := verify(t, data, strings.ToUpper(head)); fault != nil || rep.Anchored != 5 {
		t.Errorf("with its head: %+v, %v", rep, fault)
	}
	if rep, fault := verify(t, nil, ""); fault != nil || rep.Records != 0 {
		t.Errorf("nothing at all: %+v, %v", rep, fault)
	}
	if _, fault := verify(t, nil, head); fault == nil || fault.How != HeadMissing {
		t.Errorf("nothing, with a head: %v", fault)
	}
	if rep, fault := verify(t, crashed(t), ""); fault != nil || rep.Records != 5 || rep.Torn != 1 || rep.Runs != 2 {
		t.Errorf("after crashes: %+v, %v", rep, fault)
	}
}

// Each way of being wrong has its name, and its first line is told.
func TestFaults(t *testing.T) {
	data, _ := written(t, 6)
	l := linesOf(data)
	forge := func(seq uint64, prev string) string {
		line, _, err := sealRecord(seq, prev, sample(7))
		must(t, err)
		return string(line)
	}
	change := func(line string) string { return strings.Replace(line, "sess_1", "sess_2", 1) }
	recomputed := func(line string) string { // by an attacker who knows about the crc
		line, _, _ = strings.Cut(change(line), `,"crc"`)
		return fmt.Sprintf("%s,\"crc\":\"%08x\"}\n", line, crc32.ChecksumIEEE([]byte(line)))
	}
	hash := func(line string) string { return hashOf([]byte(strings.TrimSuffix(line, "\n"))) }
	torn := linesOf(crashed(t)) // opened, record, torn, torn, opened, record, record
	opened := func(seq uint64, prev string, r Record) string {
		r.Time = began
		line, _, err := sealRecord(seq, prev, r)
		must(t, err)
		return string(line)
	}
	newer := opened(1, "", Record{Kind: Opened, Version: 2})
	covered := hashOf(bytes.TrimSuffix(joined(l[0], l[1], "x (torn)\n"), []byte("\n"))[len(l[0]):])
	noted := joined(l[0], l[1], "x (torn)\n", opened(3, covered, Record{Kind: Opened, Version: 1, Torn: 9}))
	if _, fault := verify(t, noted, ""); fault != nil {
		t.Errorf("a torn line that was noted: %v", fault)
	}
	for _, test := range []struct {
		name string
		data []byte
		how  How
		line int64
	}{
		{"a changed line", joined(l[0], l[1], change(l[2]), l[3]), Altered, 3},
		{"a changed last line", joined(l[0], l[1], change(l[2])), Altered, 3},
		{"a changed line with its crc", joined(l[0], l[1], recomputed(l[2]), l[3]), Altered, 4},
		{"a line that is too long", joined(l[0], strings.Repeat("x", 2*maxLine)+"\n", l[2]), Altered, 2},
		{"no trail at all", []byte("Dear diary,\nnothing happened.\n"), Altered, 1},
		{"a first line that is not the first", joined(forge(1, "")), Altered, 1},
		{"a line is gone", joined(l[0], l[1], l[3], l[4]), Removed, 3},
		{"three are gone", joined(l[0], l[4], l[5]), Removed, 2},
		{"the first line is gone", joined(l[1:]...), Removed, 1},
		{"a line twice", joined(l[0], l[1], l[1], l[2]), Inserted, 3},
		{"an earlier line again", joined(l[0], l[1], l[2], l[0], l[3]), Inserted, 4},
		{"a foreign line", joined(l[0], l[1], "hello\n", l[2]), Inserted, 3},
		{"an empty line", joined(l[0], l[1], "\n", l[2]), Inserted, 3},
		{"a forged record", joined(l[0], l[1], forge(3, strings.Repeat("0", 64)), l[2], l[3]), Inserted, 3},
		{"a forged record in its place", joined(l[0], l[1], forge(3, hash(l[1])), l[2], l[3]), Inserted, 4},
		{"a forged torn line", joined(l[0], l[1], "x (torn)\n", l[2]), Inserted, 3},
		{"neighbours change places", joined(l[0], l[2], l[1], l[3]), Reordered, 2},
		{"the last is first", joined(l[5], l[0], l[1], l[2]), Reordered, 1},
		{"a record of another number", joined(l[0], l[1], forge(9, hash(l[1]))), OutOfSequence, 3},
		{"half a line", append(joined(l[0], l[1]), l[2][:30]...), TornEnd, 3},
		{"a line without its end", append(joined(l[0], l[1]), l[2][:len(l[2])-1]...), TornEnd, 3},
		{"a repair that was stopped", joined(torn[:4]...), TornEnd, 3},
		{"a torn line is gone", joined(slices.Delete(slices.Clone(torn), 2, 3)...), Altered, 4},
		{"torn lines change places", joined(torn[0], torn[1], torn[3], torn[2], torn[4]), Altered, 5},
		{"a torn line that nobody noted", joined(torn[0], torn[1], torn[2], torn[5], torn[6]), Removed, 4},
		{"a newer format", joined(newer, l[0]), NewerFormat, 1},
		{"torn lines that are not there",
			joined(l[0], l[1], opened(3, hash(l[1]), Record{Kind: Opened, Version: 1, Torn: 9})), Altered, 3},
		{"other torn lines",
			joined(l[0], l[1], "x (torn)\n", opened(3, covered, Record{Kind: Opened, Version: 1, Torn: 8})),
			Altered, 4},
		{"torn lines noted by nobody who may",
			joined(l[0], l[1], "x (torn)\n", opened(3, covered, Record{Kind: Settled, Torn: 9})), Altered, 4},
		{"a foreign line and a forged record", joined(l[0], l[1], "hello\n", forge(3, strings.Repeat("0", 64))),
			Altered, 3},
		{"a record of another number added", joined(l[0], l[1], forge(9, hash(l[1])), l[2]), Inserted, 3},
	} {
		rep, fault := verify(t, test.data, "")
		if fault == nil || fault.How != test.how || fault.Line != test.line {
			t.Errorf("%s: %v, want line %d: %s", test.name, fault, test.line, test.how)
		}
		// What is reported is what is in order before it. A whole record without its line end is
		// one.
		if test.name != "a line without its end" && rep.Records > uint64(test.line-1) {
			t.Errorf("%s: %d records before line %d", test.name, rep.Records, test.line)
		}
	}
}

// A fault of the reader is no fault of the trail.
func TestVerifyReading(t *testing.T) {
	data, _ := written(t, 3)
	for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(data)),
		iotest.DataErrReader(bytes.NewReader(data))} {
		if rep, err := Verify(r, ""); rep.Records != 3 || err != nil {
			t.Errorf("%d records, %v", rep.Records, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(data[:len(data)-9]), iotest.ErrReader(io.ErrClosedPipe))
	if rep, err := Verify(broken, ""); err != io.ErrClosedPipe || rep.Records != 2 {
		t.Errorf("of a broken reader: %d, %v", rep.Records, err)
	}
}

// However long a trail or a line of it is, reading it takes the same memory.
func TestVerifyMemory(t *testing.T) {
	data, _ := written(t, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Verify(io.MultiReader(bytes.NewReader(data), io.LimitReader(zeros{}, 1<<28)), "")
	runtime.ReadMemStats(&after)
	if fault := (*Fault)(nil); !errors.As(err, &fault) || fault.How != TornEnd || fault.Line != 4 {
		t.Error(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16*maxLine {
		t.Errorf("%d bytes of memory for a line of a quarter of a gigabyte", used)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// T-LOG, INV-56: no byte, line or place can be changed without being noticed.
func TestEveryChangeIsNoticed(t *testing.T) {
	whole, _ := written(t, 7)
	for _, data := range [][]byte{whole, crashed(t)} {
		rapid.Check(t, func(rt *rapid.T) {
			lines := linesOf(data)
			at := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
			var changed []byte
			switch what := rapid.SampledFrom([]string{"byte", "cut byte", "add byte", "remove", "swap", "repeat",
				"insert"}).Draw(rt, "what"); what {
			case "byte", "cut byte", "add byte":
				i := rapid.IntRange(0, len(data)-1).Draw(rt, "at")
				b := rapid.Byte().Draw(rt, "byte")
				switch {
				case what == "cut byte":
					changed = slices.Delete(bytes.Clone(data), i, i+1)
				case what == "add byte":
					changed = slices.Insert(bytes.Clone(data), i, b)
				case b == data[i]:
					rt.Skip("the same")
				default:
					changed = bytes.Clone(data)
					changed[i] = b
				}
			case "remove": // of the last line only a head can tell
				at = min(at, len(lines)-2)
				changed = joined(slices.Delete(lines, at, at+1)...)
			case "swap":
				other := rapid.IntRange(0, len(lines)-1).Draw(rt, "with")
				if other == at {
					rt.Skip("itself")
				}
				lines[at], lines[other] = lines[other], lines[at]
				changed = joined(lines...)
			case "repeat":
				changed = joined(slices.Insert(lines, rapid.IntRange(0, len(lines)).Draw(rt, "to"), lines[at])...)
			case "insert":
				line := rapid.SampledFrom([]string{"\n", "x\n", "{}\n", " (torn)\n", "{\"seq\":3}\n"}).Draw(rt, "new")
				changed = joined(slices.Insert(lines, at, line)...)
			}
			if _, fault := verify(t, changed, ""); fault == nil {
				rt.Fatalf("not noticed:\n%s", changed)
			}
		})
	}
}

// Every single byte, with one bit changed, and with another: a newline, a letter.
func TestEveryByteIsNoticed(t *testing.T) {
	data, _ := written(t, 3)
	for i := range data {
		for _, b := range []byte{data[i] ^ 1, data[i] ^ 0x20, '\n', '0'} {
			if b == data[i] {
				continue
			}
			changed := bytes.Clone(data)
			changed[i] = b
			if _, fault := verify(t, changed, ""); fault == nil {
				t.Fatalf("byte %d, %q made %q, is not noticed", i, data[i], b)
			}
		}
	}
}

// INV-56: a trail that was cut at any byte is known to be cut, unless that is a line end: then only
// a head can tell. The next run says what was torn, and loses no record.
func TestCutAtEveryByte(t *testing.T) {
	whole, head := written(t, 5)
	for name, data := range map[string][]byte{"whole": whole, "crashed": crashed(t)} {
		for n := range len(data) + 1 {
			cut := data[:n:n]
			_, fault := verify(t, cut, "")
			lineEnd := n == 0 || data[n-1] == '\n' && !bytes.HasSuffix(cut, []byte(tornMark+"\n"))
			if lineEnd != (fault == nil) || fault != nil && fault.How != TornEnd {
				t.Fatalf("%s, cut at byte %d: %v", name, n, fault)
			}
			if name == "whole" {
				if _, fault := verify(t, cut, head); n < len(data)-1 &&
					(fault == nil || lineEnd && fault.How != HeadMissing) {
					t.Fatalf("cut at byte %d, with the head: %v", n, fault)
				}
			}
			whole := 0
			for _, line := range linesOf(cut) {
				if _, ok := parseLine([]byte(strings.TrimSuffix(line, "\n"))); ok {
					whole++
				}
			}
			m := &memory{data: bytes.Clone(cut)}
			f := m.open(t)
			must(t, f.Record(sample(1)))
			if !bytes.HasPrefix(m.data, cut) {
				t.Fatalf("%s, cut at byte %d: what was there is changed", name, n)
			}
			rep, fault := verify(t, m.data, "")
			if fault != nil || rep.Records != uint64(whole)+2 || rep.Head != f.Head() {
				t.Fatalf("%s, cut at byte %d and continued: %+v, %v\n%s", name, n, rep, fault, m.data)
			}
		}
	}
}
