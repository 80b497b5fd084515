package conformance_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

// A panic of what the caller gave, such as a Dialer, comes through to the caller: the run does not
// wait for a scenario run that it ended.
func TestPanicEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, dials := newTarget(t), 0
		panics := dialer(func(ctx context.Context) (transports.Conn, error) {
			if dials++; dials > 2 {
				panic("out of sockets")
			}
			return g.Dial(ctx)
		})
		defer shutDown(g)
		defer func() {
			if got := recover(); got != "out of sockets" {
				t.Errorf("the panic that came is %v", got)
			}
		}()
		conformance.ProducerRun{Dialer: panics, Driver: g, Level: 1}.Prove(t.Context())
	})
}

// dyingConn is a link whose target is gone after some messages, and has none of its links then.
type dyingConn struct {
	transports.Conn
	left *atomic.Int32
}

func (c dyingConn) Receive(ctx context.Context) ([]byte, error) {
	if c.left.Add(-1) < 0 {
		return nil, io.EOF
	}
	return c.Conn.Receive(ctx)
}

// D-76: whenever a target dies, the run ends in bounded time, the level is not passed, and the
// report can be written.
func TestTargetDiesAtEachStep(t *testing.T) {
	for _, lives := range []int32{1, 2, 3, 4, 5, 7, 12, 40, 120} {
		t.Run(fmt.Sprint(lives, " messages"), func(t *testing.T) {
			t.Parallel()
			var began time.Time
			r := inBubble(t, func(g *target) conformance.ProducerRun {
				left := new(atomic.Int32)
				left.Store(lives)
				began = time.Now()
				return conformance.ProducerRun{Driver: g, Level: 2, Dialer: dialer(func(ctx context.Context) (transports.Conn,
					error) {
					c, err := g.Dial(ctx)
					return dyingConn{c, left}, err
				})}
			})
			if r == nil || r.Verdict == conformance.Pass {
				t.Fatalf("%+v", r)
			}
			if took := r.Date.Sub(began); took > 20*time.Minute {
				t.Errorf("it took %v", took)
			}
			if err := r.WriteText(io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}

// D-76: a message of 100 MB ends the recording and fails, and costs no more than itself.
func TestHundredMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("its memory is for make test-all")
	}
	huge := bytes.Repeat([]byte(" "), 100<<20)
	m := mutant{raw: func(msg []byte) []byte {
		if bytes.Contains(msg, []byte("session.cancelled")) {
			return append(append([]byte("{"), huge...), msg[1:]...)
		}
		return msg
	}}
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Driver: g, Level: 1,
			Only: []string{"events-valid"}}
	})
	var text bytes.Buffer
	if r.WriteText(&text); r.Verdict != conformance.Fail || !strings.Contains(text.String(), "MiB came") ||
		text.Len() > 1<<20 {
		t.Errorf("%s, a report of %d bytes", r.Verdict, text.Len())
	}
}

// What a target writes is text in every report, whatever it looks like to who shows the report.
func TestHostileWordsInReports(t *testing.T) {
	const words = "]]><script>alert(1)</script>\"'&\x1b[2J\x07\u202e\u0000\r\n"
	m := mutant{out: func(_ *proxy, o object) []object {
		for _, name := range []string{"summary_normal", "tool", "to_state", "reason_code", "reason_message", "aaep_version",
			"chunk",
			"action", words} {
			if _, there := o[name]; there || name == words {
				o[name] = words
			}
		}
		return []object{o}
	}}
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Driver: g, Level: 3,
			Target: words}
	})
	var text, page, junit bytes.Buffer
	for _, err := range []error{r.WriteText(&text), r.WriteHTML(&page), r.WriteJUnit(&junit)} {
		if err != nil {
			t.Error(err)
		}
	}
	for name, report := range map[string]string{"text": text.String(), "HTML": page.String(), "JUnit": junit.String()} {
		if i := strings.IndexAny(report, "\x1b\x07\u202e\u0000\r"); i >= 0 {
			t.Errorf("the report as %s has %q", name, report[max(i-80, 0):i+1])
		}
		if name != "text" && strings.Contains(report, "<script") {
			t.Errorf("the report as %s has a script", name)
		}
	}
	cases := 0
	for d := xml.NewDecoder(&junit); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, is := token.(xml.StartElement); is && e.Name.Local == "testcase" {
			cases++
		}
	}
	if cases != len(r.Results) {
		t.Errorf("the JUnit report has %d test cases, and %d were judged", cases, len(r.Results))
	}
}
