package ledger

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// CONF-036, CONF-037, WCAG 2.2.1: more time is as much again, ten times, and a day in all; only for
// who was asked, while the question is open. A reply stamped in the time that was added counts.
func TestExtend(t *testing.T) {
	for name, tc := range map[string]struct {
		seconds int64
		times   int
		most    time.Duration
	}{
		"ten times":       {60, 10, 11 * time.Minute},
		"a day in all":    {50000, 1, 24 * time.Hour},
		"a day at once":   {86400, 0, 24 * time.Hour},
		"a short one too": {1, 10, 11 * time.Second},
	} {
		var l Ledger
		q := confirmation("rpl_1", aaep.RiskHigh, aaep.Reject)
		q.Confirmation.TimeoutSeconds, q.Stamp, q.Recipients = tc.seconds, start, []string{"sub_1"}
		if err := l.Open(start, q); err != nil {
			t.Fatal(err)
		}
		if _, ok := l.Extend(start, "sub_2", "rpl_1"); ok {
			t.Errorf("%s: a stranger got more time", name)
		}
		if _, ok := l.Extend(start, "sub_1", "rpl_2"); ok {
			t.Errorf("%s: another question got more time", name)
		}
		times := 0
		left := l.Next().Sub(start)
		for range 20 {
			got, ok := l.Extend(start, "sub_1", "rpl_1")
			if left = got; ok {
				times++
			}
		}
		if times != tc.times || left != tc.most || l.Next() != start.Add(tc.most) {
			t.Errorf("%s: %d times, %v in all; want %d, %v", name, times, left, tc.times, tc.most)
		}
		last := start.Add(tc.most - 1)
		if outs := l.Expire(last); outs != nil {
			t.Errorf("%s: expired before its time", name)
		}
		if _, ok := l.Extend(start.Add(tc.most), "sub_1", "rpl_1"); ok {
			t.Errorf("%s: more time after the end", name)
		}
		out, err := l.Reply(last, "sub_1", "", &aaep.ConfirmationReply{ReplyToken: "rpl_1", Decision: aaep.Accept, SubscriptionID: "sub_1", Timestamp: last})
		if err != nil || out.Decision != aaep.Accept {
			t.Errorf("%s: an answer in the time that was added: %v", name, err)
		}
	}
}

// BenchmarkSettle asks a question and settles it, beside as many open ones.
func BenchmarkSettle(b *testing.B) {
	for _, open := range []int{0, 10000} {
		b.Run(map[int]string{0: "alone", 10000: "10000_open"}[open], func(b *testing.B) {
			var l Ledger
			put := func(token aaep.ReplyToken) {
				q := confirmation(token, aaep.RiskHigh, aaep.Reject)
				q.Confirmation.TimeoutSeconds, q.Stamp, q.Recipients = 600, start, []string{"sub_1"}
				if err := l.Open(start, q); err != nil {
					b.Fatal(err)
				}
			}
			name := func(i int) aaep.ReplyToken {
				var digits [16]byte
				for j := range digits {
					digits[j], i = 'a'+byte(i%16), i/16
				}
				return aaep.ReplyToken("rpl_" + string(digits[:]))
			}
			for i := range open {
				put(name(i))
			}
			b.ReportAllocs()
			for i := open; b.Loop(); i++ {
				put(name(i))
				if _, err := l.Reply(start, "sub_1", "", &aaep.ConfirmationReply{ReplyToken: name(i), Decision: aaep.Accept, SubscriptionID: "sub_1", Timestamp: start}); err != nil {
					b.Fatal(err)
				}
				l.Expire(start)
				l.Next()
			}
		})
	}
}
