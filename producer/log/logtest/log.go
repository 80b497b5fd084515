package logtest

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// newEvent returns a valid event; number makes it different from others.
func newEvent(number string) *aaep.Event {
	return &aaep.Event{AAEPVersion: aaep.Version, SessionID: "sess_1", Timestamp: time.UnixMilli(1).UTC(),
		Producer: aaep.Agent{AgentID: "a", AgentName: "A"}, Verbosity: aaep.VerbosityNormal,
		Urgency:       aaep.UrgencyNormal,
		CorrelationID: number, Summary: aaep.Say("Said."), Payload: &aaep.SessionStarted{}}
}

// INV-23, P8: a log over the store goes on where the one before it ended, and finds its places
// again.
func (s suite) testLog(t *testing.T) {
	dir := t.TempDir()
	places := map[string]uint64{}
	for run := range uint64(4) {
		st := s.openStore(t, dir, unlimited)
		l, err := eventlog.Open(st, 5, "")
		requireNoError(t, err)
		if l.End() != run*20 || l.Start() != 0 {
			t.Fatalf("run %d: %d to %d", run, l.Start(), l.End())
		}
		for range 20 {
			ev := newEvent(fmt.Sprint(len(places) + 1))
			places[ev.CorrelationID] = l.Append(ev)
			if at, _, ok := l.Locate(ev.EventID); ok && at.Pos > l.End() {
				t.Errorf("event %d is a place before it can be read", at.Pos)
			}
			l.Wait(places[ev.CorrelationID])
		}
		seen := map[string]bool{}
		for cursor := uint64(0); cursor < l.End(); {
			events, _, err := l.Read(cursor, 7)
			requireNoError(t, err)
			for _, ev := range events {
				cursor++
				at, lost, ok := l.Locate(ev.EventID)
				if !ok || lost || at != (eventlog.Place{Pos: cursor}) || places[ev.CorrelationID] != cursor ||
					seen[ev.EventID] || ev.EventID != l.EventID(at) {
					t.Fatalf("run %d: at %d stands %s, %s, which is at %v (%v)", run, cursor, ev.CorrelationID,
						ev.EventID, at, ok)
				}
				seen[ev.EventID] = true
			}
		}
		requireNoError(t, l.Settle())
		requireNoError(t, l.Close())
		requireNoError(t, st.Close())
		if l.Settled() != run*20+20 {
			t.Errorf("run %d: settled up to %d", run, l.Settled())
		}
	}
}

// Who comes back for what is not kept any more is told so.
func (s suite) testTrimmed(t *testing.T) {
	dir, limits := t.TempDir(), log.Limits{Events: 10, Bytes: -1, Age: -1}
	var first string
	for run := range 2 {
		st := s.openStore(t, dir, limits)
		l, err := eventlog.Open(st, 5, "")
		requireNoError(t, err)
		for i := range 30 {
			ev := newEvent(fmt.Sprint(i))
			l.Wait(l.Append(ev))
			if first == "" {
				first = ev.EventID
			}
		}
		if at, _, ok := l.Locate(first); run == 0 && (!ok || at.Pos != 1) {
			t.Errorf("Locate(%s) = %v, %v", first, at, ok)
		}
		if _, _, err := l.Read(1, 1); !errors.Is(err, log.ErrTrimmed) {
			t.Errorf("run %d: Read(1) = %v", run, err)
		}
		if events, _, err := l.Read(l.Start(), 1); err != nil || len(events) != 1 || l.End()-l.Start() != 10 {
			t.Errorf("run %d: %d events from %d to %d, %v", run, len(events), l.Start(), l.End(), err)
		}
		requireNoError(t, l.Close())
		requireNoError(t, st.Close())
	}
}

const childVariable = "AAEP_LOGTEST_VICTIM"

// runChild appends events from eight goroutines until the process is killed, and says of each when
// it can be read.
func runChild(open Open, dir string) {
	st, err := open(dir, unlimited)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	l, err := eventlog.Open(st, 64, "")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	output := make(chan string)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				ev := newEvent(fmt.Sprint(w, ".", i))
				pos := l.Append(ev)
				l.Wait(pos)
				output <- fmt.Sprint(pos, " ", ev.EventID, " ", ev.CorrelationID)
			}
		}()
	}
	for s := range output {
		fmt.Println(s)
	}
}

// P8, INV-21: kill -9 at random moments. Whatever a listener can have seen is there, at its place
// and under its id; and nothing else is in between. With AAEP_LONG it is 500 times.
func (s suite) testKill(t *testing.T) {
	rounds := 12
	if os.Getenv("AAEP_LONG") != "" {
		rounds = 500
	} else if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	acked, total := map[uint64]string{}, uint64(0)
	for round := range rounds {
		appendUntilKilled(t, dir, acked)
		st := s.openStore(t, dir, unlimited)
		l, err := eventlog.Open(st, 64, "")
		requireNoError(t, err)
		from := total // what the rounds before have looked at is looked at again now and then
		if round%50 == 0 || round == rounds-1 {
			from = 0
		}
		checkAcked(t, l, from, acked)
		if total = l.End(); t.Failed() {
			t.Fatalf("in round %d", round)
		}
		requireNoError(t, l.Close())
		requireNoError(t, st.Close())
	}
	t.Logf("%d of %d events were seen before a kill, and all of them are there", len(acked), total)
}

// appendUntilKilled has a child process append to the log in dir, and kills it after a random
// number of events. It notes in acked what the child said of each, by its position.
func appendUntilKilled(t *testing.T, dir string, acked map[uint64]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()[:len(t.Name())-len("/Kill")]+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range rand.IntN(400) {
		lines.Scan()
		noteAcked(t, acked, lines.Text())
	}
	requireNoError(t, cmd.Process.Kill())
	for lines.Scan() {
		noteAcked(t, acked, lines.Text())
	}
	cmd.Wait()
}

// checkAcked checks that each event after the cursor from that acked has is in the log, at its
// place and under its id, and that the log locates every event that it has.
func checkAcked(t *testing.T, l *eventlog.Log, from uint64, acked map[uint64]string) {
	t.Helper()
	found, seen := 0, 0
	for pos := range acked {
		if pos > from {
			seen++
		}
	}
	for cursor := from; cursor < l.End(); {
		events, _, err := l.Read(cursor, 256)
		requireNoError(t, err)
		for _, ev := range events {
			cursor++
			want := acked[cursor]
			if got := fmt.Sprint(cursor, " ", ev.EventID, " ", ev.CorrelationID); want != "" && got != want {
				t.Errorf("there is %s; a listener saw %s", got, want)
			} else if want != "" {
				found++
			}
			if at, _, ok := l.Locate(ev.EventID); !ok || at.Pos != cursor {
				t.Errorf("%s is located at %v, %v", ev.EventID, at, ok)
			}
		}
	}
	if found != seen {
		t.Errorf("of %d that listeners saw %d are there", seen, found)
	}
}

// noteAcked notes an event that the child said can be read.
func noteAcked(t *testing.T, acked map[uint64]string, line string) {
	t.Helper()
	var pos uint64
	if _, err := fmt.Sscan(line, &pos); err != nil {
		t.Fatalf("the victim says %q", line)
	}
	acked[pos] = line
}
