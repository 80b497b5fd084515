package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/producer/audit"
)

// sleepBriefly sleeps for a random time, about as long as a step of a child, or not at all.
func sleepBriefly() {
	if rand.IntN(2) == 0 {
		time.Sleep(rand.N(2 * time.Millisecond))
	}
}

// TestKill: kill -9, again and again, of an agent, of its listener, and of both. Nothing runs
// without an acceptance and an intention that were on record before, nothing twice, nothing of a
// dead process in the next one, and what was asked by the dead one cannot be answered any more; the
// trail verifies (INV-56, INV-02, INV-06, INV-17, P1).
func TestKill(t *testing.T) {
	const each = 30 // kills of the producer before it begins with a new trail: the whole of it is checked every time
	files := 1
	if os.Getenv("AAEP_LONG") != "" {
		files = 34
	}
	var sum outcomeCount
	kills := 0
	for i := range files {
		dir := t.TempDir()
		head := ""
		var found outcomeCount
		for life := range each {
			runLife(t, dir, life)
			kills++
			if life%5 == 4 { // as if it had died in the middle of a record
				appendTornRecord(t, dir)
			}
			var err error
			if found, head, err = examineFiles(dir, head); err != nil {
				keepFiles(t, dir)
				t.Fatalf("trail %d, after kill %d: %v", i+1, life+1, err)
			}
			if testing.Short() && life >= 10 && found.isWhole() { // the tenth life is a short one
				break
			}
		}
		f, err := audit.Open(auditPath(dir), audit.Options{})
		check(t, err)
		check(t, f.Close())
		if _, _, err := examineFiles(dir, head); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(auditPath(dir))
		check(t, err)
		if _, err := audit.Verify(bytes.NewReader(data), f.Head()); err != nil { // not even a torn end
			t.Fatal(err)
		}
		sum.add(found)
		if files > 1 {
			t.Logf("%d kills: %+v", kills, sum)
		}
	}
	t.Logf("%d kills: %+v", kills, sum)
	if !sum.isWhole() || files > 1 && (sum.TimedOut == 0 || sum.RanAtDeath == 0) {
		t.Error("that was no test of everything")
	}
}

// runLife lets an agent live for a while, and kills it.
func runLife(t *testing.T, dir string, life int) {
	t.Helper()
	if life%10 == 9 { // before it is anything, or while it opens the trail
		p := startChild(t, "agent", dir, fmt.Sprint(life), "pipe")
		time.Sleep(rand.N(30 * time.Millisecond))
		p.kill()
		return
	}
	if life%2 == 0 {
		p := startChild(t, "agent", dir, fmt.Sprint(life), "pipe")
		p.awaitLines([]string{"", "asked", "answered", "running", "ran", "done"}[rand.IntN(6)], 1+rand.IntN(40))
		sleepBriefly()
		p.kill()
		return
	}
	p := startChild(t, "agent", dir, fmt.Sprint(life), "sse")
	defer p.kill()
	_, addr, _ := strings.Cut(p.awaitLines("at", 1), " ")
	for range 1 + rand.IntN(2) { // its listener dies in the middle of something, and another comes
		l := startChild(t, "listener", dir, fmt.Sprint(life), addr)
		l.awaitLines([]string{"asked", "answered"}[rand.IntN(2)], 1+rand.IntN(25))
		sleepBriefly()
		if rand.IntN(2) == 0 { // the agent first
			p.kill()
			l.kill()
			return
		}
		l.kill()
	}
	p.awaitLines("done", 1) // what was open ended when no listener was left
	sleepBriefly()
}

// appendTornRecord adds what may be left of a record that was being written: less than all of it.
func appendTornRecord(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(auditPath(dir))
	check(t, err)
	if !bytes.HasSuffix(data, []byte("\n")) {
		return
	}
	last := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1:]
	f, err := os.OpenFile(auditPath(dir), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.Write(last[:1+rand.IntN(len(last)-2)])
	check(t, errors.Join(err, f.Close()))
}

// keepFiles copies what a child left to AAEP_KEEP, if that is set.
func keepFiles(t *testing.T, dir string) {
	if to := os.Getenv("AAEP_KEEP"); to != "" {
		t.Log(os.CopyFS(to, os.DirFS(dir)))
	}
}
