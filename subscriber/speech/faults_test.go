package speech_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// answerWith returns a server that answers commands with the prefix by what reply says, from the
// nth on.
func answerWith(prefix, reply string, nth int) *speechtest.Server {
	return &speechtest.Server{Answer: func(command string) (string, bool) {
		if !strings.HasPrefix(command, prefix) {
			return "", false
		}
		nth--
		return reply, nth < 0
	}}
}

// A server that is not fit to speak, or lies, or falls silent, while we introduce ourselves.
func TestDialFaults(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name   string
		server *speechtest.Server
		want   string
		limit  time.Duration
	}{
		{"no synthesizer", &speechtest.Server{Module: "dummy"}, "no synthesizer", 0},
		{"refuses events", answerWith("SET SELF NOTIFICATION", "300 ERR INTERNAL\r\n", 0),
			`300 "ERR INTERNAL" to "SET SELF NOTIFICATION ALL on"`, 0},
		{"garbage", answerWith("SET", "HTTP/1.1 400 Bad Request\r\n", 0), "which is no reply", 0},
		{"event inside a reply", answerWith("GET", "251-a\r\n701-1\r\n", 0), "inside a reply of 251", 0},
		{"long line", answerWith("SET", "200 "+long+"\r\n", 0), "more than 4096 bytes", 0},
		{"endless line", answerWith("SET", "200 "+long+long, 0), "more than 4096 bytes", 0},
		{"endless reply", answerWith("LIST", strings.Repeat("249-a\taf\tx\r\n", 1e6), 0), "more than 8388608 bytes", 0},
		{"no language", answerWith("GET LANGUAGE", "251 OK\r\n", 0), "answered 0 lines", 0},
		{"stalls", answerWith("HISTORY", "", 0), os.ErrDeadlineExceeded.Error(), 5 * time.Second},
		{"stalls for ever", answerWith("", "", 2), os.ErrDeadlineExceeded.Error(), 5 * time.Second},
		{"half a reply", answerWith("HISTORY", "245-1\r\n245", 0), os.ErrDeadlineExceeded.Error(), 5 * time.Second},
		{"events for ever", answerWith("HISTORY", strings.Repeat("701-1\r\n701-1\r\n701 BEGIN\r\n", 5000), 0),
			os.ErrDeadlineExceeded.Error(), 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer c.server.Close()
				checkDuration(t, c.limit, c.limit, func() {
					o, err := speech.Open(t.Context(), speech.Options{Dial: c.server.Dial, Force: true})
					if err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("Dial = %v, %v; want %q", o, err, c.want)
					}
				})
			})
		})
	}
}

// Dial ends soon after its context.
func TestDialContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &speechtest.Server{}
		defer s.Close()
		s.Stall()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		checkDuration(t, time.Second, 1250*time.Millisecond, func() {
			if _, err := speech.Open(ctx, speech.Options{Dial: s.Dial, Force: true}); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Errorf("Dial = %v", err)
			}
		})
		if _, err := speech.Open(ctx, speech.Options{Force: true,
			Dial: func(context.Context) (net.Conn, error) { return nil, io.ErrUnexpectedEOF }}); !errors.Is(err,
			io.ErrUnexpectedEOF) {
			t.Errorf("Dial = %v", err)
		}
	})
}

// Whatever the server does in the middle of speaking, Present ends with an error, and so do all
// that follow.
func TestPresentFaults(t *testing.T) {
	const text = "one two three four five six" // 2.5 s
	after := func(d time.Duration, f func(*speechtest.Server)) func(*speechtest.Server) {
		return func(s *speechtest.Server) { time.AfterFunc(d, func() { f(s) }) }
	}
	for _, c := range []struct {
		name   string
		server *speechtest.Server
		fault  func(*speechtest.Server)
		want   string
		limit  time.Duration
	}{
		{"dies in the middle", nil, after(time.Second, (*speechtest.Server).Close), "EOF", time.Second},
		{"stalls in the middle", nil, after(time.Second, (*speechtest.Server).Stall), "did not say in time",
			20500 * time.Millisecond},
		{"stalls before", nil, (*speechtest.Server).Stall, os.ErrDeadlineExceeded.Error(), 5 * time.Second},
		{"stalls after a pause", nil, after(time.Second, func(s *speechtest.Server) {
			s.Send("704-1\r\n704-1\r\n704 PAUSED\r\n705-1\r\n705-1\r\n705 RESUMED\r\n")
			time.AfterFunc(time.Second, s.Stall)
		}), "did not say in time", 21500 * time.Millisecond},
		{"garbage in the middle", nil, after(time.Second, func(s *speechtest.Server) { s.Send("\x00\x01\r\n") }),
			"which is no reply", time.Second},
		{"an answer to nothing", nil, after(time.Second, func(s *speechtest.Server) { s.Send("225-8\r\n225 OK\r\n") }),
			"to nothing", time.Second},
		{"refuses", answerWith("SPEAK", "380 ERR NOT IMPLEMENTED\r\n", 0), nil, `380 "ERR NOT IMPLEMENTED" to "SPEAK"`,
			0},
		{"good news of another kind", answerWith("SPEAK", "200 OK\r\n", 0), nil, `200 "OK" to "SPEAK"`, 0},
		{"queued, but which", answerWith(".", "225 OK MESSAGE QUEUED\r\n", 0), nil, "0 messages", 0},
		{"queued, and never said", answerWith(".", "225-5\r\n225 OK MESSAGE QUEUED\r\n", 0), nil,
			"did not say in time", 2 * time.Minute},
		{"no voice after all", answerWith("SET SELF PRIORITY", "408 ERR\r\n", 0), nil, `408 "ERR"`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.server
			if s == nil {
				s = &speechtest.Server{}
			}
			runVirtual(t, s, func(t *testing.T, o *speech.Output) {
				if c.fault != nil {
					c.fault(s)
				}
				var first error
				checkDuration(t, c.limit, c.limit+500*time.Millisecond, func() {
					if first = o.Present(t.Context(), sayText(text)); first == nil ||
						!strings.Contains(first.Error(), c.want) {
						t.Errorf("Present = %v, want %q", first, c.want)
					}
				})
				checkDuration(t, 0, 0, func() {
					if err := o.Present(t.Context(), sayText(text)); err != first {
						t.Errorf("then Present = %v", err)
					}
				})
				time.Sleep(time.Minute)
				if strings.HasPrefix(c.name, "stalls") {
					return // a server that does not listen cannot be silenced
				}
				if heard := s.Heard(); len(heard) != 0 {
					t.Errorf("heard %q", heard)
				}
			})
		})
	}
}

// The context ends, and the server does not obey: Present does not wait for it, and says so the
// next time.
func TestInterruptFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply string
		gone  bool
	}{
		{"no answer", "", true},
		{"refused", "300 ERR INTERNAL\r\n", true},
		{"yes, and no more", "213 OK CANCELED\r\n", false},
		{"events without end", "213 OK CANCELED\r\n" + strings.Repeat("701-1\r\n701-1\r\n701 BEGIN\r\n", 1000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := answerWith("CANCEL SELF", c.reply, 0)
			runVirtual(t, s, func(t *testing.T, o *speech.Output) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				checkDuration(t, time.Second, 1250*time.Millisecond, func() {
					if err := o.Present(ctx, sayText("one two three four five six")); err != context.DeadlineExceeded {
						t.Errorf("Present = %v", err)
					}
				})
				if err := o.Present(t.Context(), sayText("two")); (err != nil) != c.gone {
					t.Errorf("then Present = %v", err)
				}
			})
		})
	}
}

// The server falls silent while a message is handed over, and the context ends then.
func TestInterruptStalled(t *testing.T) {
	s := answerWith(".", "", 0)
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		checkDuration(t, time.Second, 1250*time.Millisecond, func() {
			if err := o.Present(ctx, sayText("one")); err != context.DeadlineExceeded {
				t.Errorf("Present = %v", err)
			}
		})
	})
}
