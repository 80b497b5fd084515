package audit

import (
	"bytes"
	"errors"
	"testing"
)

// Whatever a file holds, reading it ends without a panic, and Verify, Read and Open are of one mind
// about it: a trail in order can be continued, one that is torn too, and then it is in order.
func FuzzVerify(f *testing.F) {
	data, _ := written(f, 4)
	torn := crashed(f)
	l := linesOf(data)
	for _, seed := range [][]byte{nil, data, torn, data[:len(data)-1], data[:len(data)-30], torn[:len(torn)*2/3],
		joined(l[0], l[2], l[1]), joined(l[1], l[2]), append(joined(l[0]), "x (torn)\n"...), []byte("\n"),
		[]byte(beginning)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rep, fault := verify(t, data, "")
		read := uint64(0)
		var first *Fault
		for e, err := range Read(bytes.NewReader(data)) {
			if err != nil && first == nil && !errors.As(err, &first) {
				t.Fatal(err)
			}
			if e.Seq > 0 && (first == nil || err != nil && first.How == TornEnd) {
				read++
			}
		}
		if (fault == nil) != (first == nil) || read != rep.Records {
			t.Fatalf("Verify finds %d records and %v, Read %d and %v", rep.Records, fault, read, first)
		}
		if fault != nil &&
			(fault.Line != first.Line || fault.Line > int64(rep.Records)+1+int64(bytes.Count(data, []byte(tornMark)))) {
			t.Fatalf("Verify finds %v, Read %v", fault, first)
		}
		c, _, repair, err := findEnd(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if fault == nil || fault.How == TornEnd && bytes.HasPrefix(data, []byte(beginning)) && len(data) < maxLine {
				t.Fatalf("Verify finds %v, and yet it cannot be continued: %v", fault, err)
			}
			return
		}
		seq, prev := c.nextLink()
		line, head, err := sealRecord(seq, prev, c.openedRecord(began))
		must(t, err)
		after, afterFault := verify(t, append(append(bytes.Clone(data), repair...), line...), head)
		if (fault == nil || fault.How == TornEnd) && (afterFault != nil || after.Records != rep.Records+1) {
			t.Fatalf("%+v, %v; continued: %+v, %v", rep, fault, after, afterFault)
		}
	})
}
