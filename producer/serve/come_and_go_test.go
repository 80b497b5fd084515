package serve_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// countComers returns how many listeners come and go in TestComeAndGo, on each wire.
func countComers() int {
	if testing.Short() {
		return 40
	}
	return 80
}

// INV-20, INV-21, INV-27, INV-51: listeners come and go while an agent talks, many at a time and
// all alike, and each as another would not: in the middle of a frame, with a reset, with half of
// the link, without reading for a while or byte by byte. A listener that stays hears everything
// once and in order, and nothing is left of one that went.
func TestComeAndGo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its pipes have a goroutine each")
	}
	w := listenEverywhere(t, producer.Config{MaxRequestsPerSecond: -1})
	s := w.st.startSession("Counting.")
	over, counting := make(chan struct{}), make(chan struct{})
	pad := strings.Repeat("x", 2000) // a few of these are more than a link takes
	go func() {
		defer close(counting)
		for n := int64(1); ; n++ {
			select {
			case <-over:
				return
			default:
			}
			if n%8 == 0 {
				check(t, s.Handoff(aaep.Say(fmt.Sprint("Help ", n/8, pad)), aaep.HandoffRequested{}))
			} else {
				check(t, s.Progress(aaep.Say(pad), aaep.Progress{Step: n - n/8}, 0))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var goroutines, files int
	var all sync.WaitGroup
	var left, heard atomic.Int64
	places := make(chan struct{}, 40)
	comers := countComers()
	for i := range comers {
		if i == comers/10 {
			all.Wait()
			waitUntil(t, "the first are forgotten", func() bool { return len(w.st.p.Subscriptions()) == 0 })
			goroutines, files = runtime.NumGoroutine(), openFiles()
		}
		for _, wire := range []string{"websocket", "ipc"} {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				n, err := w.comeAndGo(wire)
				if heard.Add(int64(n)); err != nil {
					t.Errorf("%s: after %d events: %v", wire, n, err)
				}
				left.Add(1)
			})
		}
	}
	all.Wait()
	waitUntil(t, "all are forgotten", func() bool { return len(w.st.p.Subscriptions()) == 0 })
	late := time.Now().Add(patience)
	for runtime.NumGoroutine() > goroutines+3 || openFiles() > files+3 {
		if time.Now().After(late) {
			t.Fatalf("%d goroutines and %d files are open, %d and %d before", runtime.NumGoroutine(), openFiles(),
				goroutines, files)
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(over)
	<-counting
	check(t, s.Complete(aaep.Text{}))
	t.Logf("%d listeners heard %d events", left.Load(), heard.Load())
}

func openFiles() int {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(dir)
}

// comeAndGo follows the agent for a while, and returns how many events it heard.
func (w *wires) comeAndGo(wire string) (heard int, err error) {
	var conn net.Conn
	if wire == "ipc" {
		if conn, err = net.Dial("unix", w.socket.Addr()); err == nil {
			_, err = io.WriteString(conn, goodRequest+"\n")
		}
	} else if conn, err = w.openWebSocket(); err == nil {
		_, err = io.WriteString(conn, maskedFrame(frameText, goodRequest))
	}
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.(interface{ SetReadBuffer(int) error }).SetReadBuffer(4 << 10)
	conn.SetDeadline(time.Now().Add(patience))
	var slowly io.Reader = conn
	if rand.IntN(8) == 0 {
		slowly = &byBytes{conn, 5000}
	}
	r := bufio.NewReaderSize(slowly, 512)
	steps, asked := sequence{}, sequence{}
	for until := rand.IntN(60); heard < until; {
		data, err := readFrame(r, wire, wire == "ipc")
		if err != nil {
			return heard, err
		}
		if len(data) == 0 {
			continue
		}
		m, err := aaep.Decode(data)
		if err != nil {
			return heard, fmt.Errorf("%.200q: %w", data, err)
		}
		ev, ok := m.(*aaep.Event)
		if !ok {
			continue
		}
		heard++
		switch p := ev.Payload.(type) {
		case *aaep.ProgressUpdated:
			err = steps.checkNext(p.Progress.Step)
		case *aaep.HandoffRequested:
			var n int64
			fmt.Sscanf(ev.Summary.Normal, "Help %d", &n)
			err = asked.checkNext(n)
		}
		if err != nil {
			return heard, err
		}
		if rand.IntN(30) == 0 { // until its link is full
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		}
	}
	switch rand.IntN(4) {
	case 0: // and no word
	case 1:
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	case 2:
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			return heard, err
		}
		if _, err := io.Copy(io.Discard, r); isTimeout(err) {
			return heard, errors.New("half of the link has ended, and the other half does not")
		}
	case 3:
		bye, _ := json.Marshal(map[string]string{"type": "subscription.close", "subscription_id": "sub_other",
			"reason_code": "subscriber_shutdown", "reason_message": "Bye."})
		if wire == "ipc" {
			conn.Write(bye[:len(bye)/2])
		} else {
			io.WriteString(conn, maskedFrame(frameText, string(bye))[:20])
		}
	}
	return heard, nil
}

// sequence is the order of what was counted.
type sequence struct{ last int64 }

// checkNext returns an error if n does not follow the number before it.
func (o *sequence) checkNext(n int64) error {
	if o.last != 0 && n != o.last+1 {
		return fmt.Errorf("%d came after %d", n, o.last)
	}
	o.last = n
	return nil
}

// byBytes reads the first of what comes byte by byte.
type byBytes struct {
	r    io.Reader
	left int
}

func (b *byBytes) Read(p []byte) (int, error) {
	if b.left > 0 {
		b.left--
		p = p[:1]
	}
	return b.r.Read(p)
}
