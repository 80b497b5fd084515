package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// child writes records until it is killed, and says after each how many are kept. Where the trail
// is in use it says that.
func child(path string) {
	f, err := Open(path, Options{})
	if errors.Is(err, ErrInUse) {
		fmt.Println("in use")
		return
	}
	for i := 0; err == nil; i++ {
		if err = f.Record(sample(i)); err == nil {
			fmt.Println(i + 1)
		}
	}
	fmt.Println(err)
}

func startChild(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// INV-56: kill -9 at random moments. What Record had returned for is there, and the next run
// continues the chain.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	kept := uint64(0)
	for round := range 12 {
		cmd, said := startChild(t, path)
		for range 1 + rand.IntN(60) {
			said.Scan()
		}
		must(t, cmd.Process.Kill())
		last := said.Text()
		for said.Scan() { // what it had said before it died
			last = said.Text()
		}
		cmd.Wait()
		n, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			t.Fatalf("the child said %q", last)
		}
		data, err := os.ReadFile(path)
		must(t, err)
		rep, fault := verify(t, data, "")
		if fault != nil && fault.How != TornEnd || rep.Runs != round+1 || rep.Records < kept+1+n {
			t.Fatalf("round %d: %d records were kept, there are %+v, %v", round, kept+1+n, rep, fault)
		}
		kept = rep.Records
	}
	f, err := Open(path, Options{})
	must(t, err)
	must(t, f.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	if rep, fault := verify(t, data, f.Head()); fault != nil || rep.Anchored != kept+1 {
		t.Errorf("%+v, %v", rep, fault)
	}
}

// Two processes cannot write to one trail, and the death of one lets the other in.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	first, said := startChild(t, path)
	said.Scan() // it has the lock
	if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "trail.jsonl") ||
		!strings.Contains(err.Error(), fmt.Sprintf(":%d since 20", first.Process.Pid)) {
		t.Errorf("Open in a second process: %v", err)
	}
	_, other := startChild(t, path)
	if other.Scan(); other.Text() != "in use" {
		t.Errorf("the other process says %q", other.Text())
	}
	must(t, first.Process.Kill())
	first.Wait()
	f, err := Open(path, Options{})
	must(t, err)
	defer f.Close()
	data, err := os.ReadFile(path)
	must(t, err)
	if rep, fault := verify(t, bytes.Clone(data), ""); fault != nil || rep.Runs != 2 {
		t.Errorf("%+v, %v", rep, fault)
	}
}
