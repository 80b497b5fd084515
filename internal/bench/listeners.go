package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// Processes that are no servers but listeners of ours, which are not measured themselves.
const (
	crowd     = "crowd"     // they stay
	returning = "returning" // they come back, catch up and leave, again and again
)

// listeners are those of one process.
type listeners struct {
	wire, addr string
	n          int
	pioneer    *link  // the first of them, until it has had an event
	first      string // the id of that event, after which all of them come back
	returned   atomic.Int64
	failed     chan error // holds the first error of a listener
}

// serveListeners is the process of such listeners. It carries out the commands that it reads from
// in, one a line, and answers each with a number on out, until in ends or a listener fails.
func serveListeners(wireName string, n int, in io.Reader, out io.Writer) error {
	all := &listeners{wire: wireName, n: n, failed: make(chan error, 1)}
	fmt.Fprintln(out, "ready")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		word, addr, _ := strings.Cut(lines.Text(), " ")
		answer, err := int64(0), error(nil)
		switch word {
		case "follow":
			all.addr, answer = addr, int64(n)
			err = all.addFollowers()
		case "join":
			all.addr = addr
			all.pioneer, err = dialListener(wireName, ours, addr, requestOf(alike, 0))
		case "first":
			err = all.readFirst()
		case "return":
			for range n {
				go all.comeAndGo()
			}
		case "returned":
			answer = all.returned.Load()
		}
		select {
		case failure := <-all.failed:
			err = errors.Join(err, failure)
		default:
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(out, answer)
	}
	return nil
}

// setError keeps the first error.
func (all *listeners) setError(err error) {
	select {
	case all.failed <- err:
	default:
	}
}

// addFollowers connects listeners that stay to the end; one whose link ends is an error of all.
func (all *listeners) addFollowers() error {
	for i := range all.n {
		l, err := dialListener(all.wire, ours, all.addr, requestOf(alike, i))
		if err != nil {
			return fmt.Errorf("listener %d over %s: %w", i+1, all.wire, err)
		}
		go func() {
			err := l.readEvents(func(time.Duration) {})
			all.setError(fmt.Errorf("the link of listener %d over %s has ended: %w", i+1, all.wire, err))
		}()
	}
	return nil
}

// readFirst stores the id of the next event with a timestamp, after which listeners that catch up
// resume, and ends the link that it read.
func (all *listeners) readFirst() error {
	defer all.pioneer.close()
	for {
		msg, err := all.pioneer.next()
		if err != nil {
			return err
		}
		if _, stamped := sentAt(msg); !stamped {
			continue
		}
		var event struct {
			ID string `json:"event_id"`
		}
		err = json.Unmarshal(bytes.TrimSpace(msg), &event)
		all.first = event.ID
		return err
	}
}

// comeAndGo, on a goroutine of its own for each listener, subscribes behind the first event, reads
// all that was said while it was away, leaves, and begins anew. It ends at the first error but a
// refusal, which it keeps.
func (all *listeners) comeAndGo() {
	for {
		switch err := all.catchUp(); {
		case errors.Is(err, errNotAccepted):
			time.Sleep(100 * time.Millisecond) // too many came at once
		case err != nil:
			all.setError(err)
			return
		default:
			all.returned.Add(1)
		}
	}
}

// catchUp connects a listener that resumes after the first event of the history, reads all of that,
// and leaves.
func (all *listeners) catchUp() error {
	ask := strings.Replace(requestOf(alike, 0), `"capabilities":{`,
		fmt.Sprintf(`"capabilities":{"delivery":{"resume_after":%q},`, all.first), 1)
	l, err := dialListener(all.wire, ours, all.addr, ask)
	if err != nil {
		return err
	}
	defer l.close()
	for events := 0; events < historySize; {
		msg, err := l.next()
		if err != nil {
			return fmt.Errorf("a listener that catches up lost its link after %d events: %w", events, err)
		}
		if _, ok := sentAt(msg); ok {
			events++
		}
	}
	return nil
}
