package demo

import (
	"testing"
	"time"
)

func TestHighestRate(t *testing.T) {
	at := func(critical bool, seconds ...float64) (rs []receipt) {
		for _, s := range seconds {
			rs = append(rs, receipt{time.Unix(0, int64(s*1e9)), critical})
		}
		return rs
	}
	for _, tt := range []struct {
		rs   []receipt
		want int
	}{
		{nil, 0}, {at(false, 1), 1}, {at(true, 1, 1, 1), 0}, {at(false, 0, 1, 2), 1}, {at(false, 0, 0.999, 2), 1},
		{at(false, 0, 0.9, 1.8), 2},
		{at(false, 0, 0.8, 0.9, 1.0, 1.7, 5), 4}, {append(at(true, 0.5), at(false, 0, 0.1)...), 2},
	} {
		if got := highestRate(tt.rs); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.rs, got, tt.want)
		}
	}
}
