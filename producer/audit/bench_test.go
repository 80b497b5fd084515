package audit

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"
)

// Appending with and without waiting for the disk, from one goroutine and from many.
func BenchmarkRecord(b *testing.B) {
	for _, bench := range []struct {
		name    string
		opts    Options
		writers int
	}{{"EveryRecord", Options{}, 1}, {"EveryRecord16Writers", Options{}, 16},
		{"EachSecond", Options{EachSecond: true}, 1}} {
		b.Run(bench.name, func(b *testing.B) {
			f, err := Open(filepath.Join(b.TempDir(), "trail.jsonl"), bench.opts)
			must(b, err)
			defer f.Close()
			r := Question(question())
			b.ReportAllocs()
			b.ResetTimer()
			started := time.Now()
			if bench.writers == 1 {
				for range b.N {
					must(b, f.Record(r))
				}
			} else {
				b.SetParallelism(bench.writers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						must(b, f.Record(r))
					}
				})
			}
			b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "records/s")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	m := &memory{}
	f := m.open(b)
	for range 2000 {
		must(b, f.Record(Question(question())))
	}
	b.SetBytes(int64(len(m.data)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if rep, err := Verify(bytes.NewReader(m.data), ""); err != nil || rep.Records != 2001 {
			b.Fatal(rep, err)
		}
	}
}
