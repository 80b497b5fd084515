package subscriber

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// attemptGaps cuts the link and returns the times between the attempts that follow, of which every
// one fails.
func attemptGaps(t *testing.T, n int) []time.Duration {
	var list []time.Duration
	runVirtual(t, func(t *testing.T) {
		a, b := transports.Pipe()
		p := &peer{b}
		var last time.Time
		enough := make(chan struct{})
		first := true
		d := dialer(func(context.Context) (transports.Conn, error) {
			if first {
				first = false
				return a, nil
			}
			if len(list) < n {
				list = append(list, time.Since(last))
				if len(list) == n {
					close(enough)
				}
			}
			last = time.Now()
			return nil, errors.New("nobody there")
		})
		p.sendRaw(t, acceptedMessage("sub_1", "{}"))
		sub, err := Dial(t.Context(), d, Config{ID: "reader"})
		if err != nil {
			t.Fatal(err)
		}
		last = time.Now()
		_ = p.Close()
		<-enough
		closeBoth(t, sub, p)
	})
	return list
}

// Delays are random from nothing up to a bound that doubles from half a second to a minute. INV-52
func TestDelays(t *testing.T) {
	const runs, attempts = 200, 12
	var sum, least, most [attempts]time.Duration
	for run := range runs {
		for i, gap := range attemptGaps(t, attempts) {
			sum[i] += gap
			if most[i] = max(most[i], gap); run == 0 {
				least[i] = gap
			}
			least[i] = min(least[i], gap)
		}
	}
	bound := 500 * time.Millisecond
	for i := range attempts {
		mean := sum[i] / runs
		if most[i] > bound || most[i] < bound*9/10 || least[i] > bound/10 || mean < bound*4/10 || mean > bound*6/10 {
			t.Errorf("attempt %d: from %v to %v, %v on average; want all of 0 to %v", i, least[i], most[i], mean, bound)
		}
		bound = min(2*bound, time.Minute)
	}
}

// What a producer asks for is kept within bounds, and no subscriber comes early. INV-52, HS-059
func TestRetryAfter(t *testing.T) {
	for asked, want := range map[int]time.Duration{1: time.Second, 30: 30 * time.Second, 290: 290 * time.Second,
		300: 5 * time.Minute, 86400: 5 * time.Minute} {
		runVirtual(t, func(t *testing.T) {
			st := newStage()
			sub, p := openSubscription(t, st, Config{})
			_ = p.Close()
			for range 12 {
				p = st.nextPeer(t)
				start := time.Now()
				p.sendRaw(t, rejectedMessage("rate_limit", fmt.Sprintf(`,"retry_after_seconds":%d`, asked)))
				p = st.nextPeer(t)
				if took := time.Since(start); took < want || took > min(want+time.Minute, 5*time.Minute) {
					t.Errorf("asked for %d s: came back after %v, want %v and a little", asked, took, want)
				}
				_ = p.Close()
			}
			closeBoth(t, sub, nil)
		})
	}
}

// A thousand subscribers that were told the same do not come back at the same moment. INV-52
func TestNoHerd(t *testing.T) {
	at := map[time.Duration]int{}
	for range 1000 {
		at[attemptDelay(3, &aaep.Rejection{Code: aaep.RateLimit,
			RetryAfter: 30 * time.Second}).Truncate(100*time.Millisecond)]++
	}
	for when, n := range at {
		if n > 100 {
			t.Errorf("%d of 1000 come after %v", n, when)
		}
	}
}

// serveAndHold serves every link: it accepts, holds it for d and closes it. It returns the delays
// between the end of one link and the next.
func serveAndHold(t *testing.T, d, total time.Duration) (delays []time.Duration, dials int64) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		end := time.After(total)
		for {
			time.Sleep(d)
			_ = p.Close()
			start := time.Now()
			select {
			case p = <-st.peers:
				delays = append(delays, time.Since(start))
				p.acceptRequest(t, "sub_1")
			case <-end:
				closeBoth(t, sub, p)
				dials = st.dials.Load()
				return
			}
		}
	})
	return delays, dials
}

// A producer that accepts and hangs up is not called all the time. INV-52
func TestAcceptThenClose(t *testing.T) {
	delays, dials := serveAndHold(t, 0, time.Hour)
	// Half a minute on average, once the delay has grown.
	if dials < 60 || dials > 240 {
		t.Errorf("%d dials in an hour, want about 130", dials)
	}
	var long int
	for _, d := range delays[10:] {
		if d > 20*time.Second {
			long++
		}
	}
	if long < len(delays)/3 {
		t.Errorf("%d of %d delays are long, want most", long, len(delays))
	}
}

// The delay starts over after thirty seconds of health, and not before. INV-52
func TestHealth(t *testing.T) {
	delays, _ := serveAndHold(t, 30*time.Second, time.Hour)
	for i, d := range delays {
		if d > firstDelay {
			t.Errorf("delay %d after a healthy link is %v, want at most %v", i, d, firstDelay)
		}
	}
	delays, _ = serveAndHold(t, 29*time.Second, 2*time.Hour)
	longest := time.Duration(0)
	for _, d := range delays {
		longest = max(longest, d)
	}
	if longest < 30*time.Second {
		t.Errorf("the longest delay after links of 29s is %v, want it to grow", longest)
	}
}

// The same holds for a stream that opens and breaks again. INV-52
func TestReopenThenBreak(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, f, p := openFlaky(t, newStage(), Config{})
		stop := time.After(time.Hour)
		for running := true; running; {
			n := f.attempts()
			f.cutAll()
			for running && f.attempts() == n {
				select {
				case <-stop:
					running = false
				case <-time.After(100 * time.Millisecond):
				}
			}
		}
		if n := f.attempts(); n < 60 || n > 240 {
			t.Errorf("%d reopenings in an hour, want about 130", n)
		}
		closeBoth(t, sub, p)
	})
}
