package bench

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

const childVariable = "BENCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(childVariable)); len(what) > 0 {
		if err := Serve(what[0], what[1], what[2], "", os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A listener that hears nothing and says nothing takes little memory, and no goroutine; on systems
// that are not asked whether it says something, one.
func TestIdle(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no Unix sockets")
	}
	const n, mostHeap = 400, 8 << 10 // bytes for each; a buffer more for each would be seen
	for _, wire := range Wires {
		t.Run(wire, func(t *testing.T) {
			o := Options{Listeners: n, Server: func(kind, wire, listeners string) *exec.Cmd {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childVariable+"="+kind+" "+wire+" "+listeners)
				cmd.Stderr = os.Stderr
				return cmd
			}}
			s, err := o.openHarness(wire, ours)
			if err != nil {
				t.Fatal(err)
			}
			defer s.stopServer()
			if err := s.addListeners(alike, 100); err != nil { // what the first ones have made is there for all
				t.Fatal(err)
			}
			few := int64(n / 20) // those of groups
			if runtime.GOOS != "linux" {
				few += n
			}
			settle := func(most int64) (goroutines int64) {
				for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
					if goroutines = s.sendCommand("goroutines"); goroutines <= most {
						break
					}
				}
				return goroutines
			}
			goroutines, heap := settle(20+few), s.sendCommand("heap")
			if err := s.addListeners(alike, n); err != nil {
				t.Fatal(err)
			}
			more := settle(goroutines+few) - goroutines
			bytes := (s.sendCommand("heap") - heap) / n
			t.Logf("%d goroutines for %d listeners, %d bytes of heap for each", more, n, bytes)
			if s.err != nil || more > few || bytes > mostHeap {
				t.Errorf("want at most %d goroutines, and %d bytes; %v", few, mostHeap, s.err)
			}
		})
	}
}
