package haptic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/cue"
	"github.com/aaep-go/aaep/subscriber/haptic"
)

const (
	name = "org.sigxcpu.Feedback"
	path = dbus.ObjectPath("/org/sigxcpu/Feedback")
)

// daemon is a feedbackd with which things can be wrong.
type daemon struct {
	length time.Duration // of every pattern; 0 is over before TriggerFeedback has answered, below 0 never
	fault  *dbus.Error   // the answer to TriggerFeedback
	hung   chan struct{} // until it is closed there is none

	mu      sync.Mutex
	asked   []string
	service *dbus.Conn
	clients []*dbus.Conn
}

func (d *daemon) dial(context.Context) (*dbus.Conn, error) {
	client, service, err := sessionbus.Pipe()
	if err != nil {
		return nil, err
	}
	d.service = service
	d.clients = append(d.clients, client, service)
	return client, errors.Join(
		service.ExportMethodTable(map[string]any{"AddMatch": func(string) *dbus.Error { return nil }}, "/org/freedesktop/DBus", "org.freedesktop.DBus"),
		service.ExportMethodTable(map[string]any{"TriggerFeedback": d.trigger, "EndFeedback": d.end}, path, name))
}

func (d *daemon) close() {
	for _, c := range d.clients {
		c.Close()
	}
}

func (d *daemon) trigger(app, event string, hints map[string]dbus.Variant, timeout int32) (uint32, *dbus.Error) {
	d.mu.Lock()
	d.asked = append(d.asked, fmt.Sprint(app, " ", event, " ", hints, " ", timeout))
	id := uint32(len(d.asked))
	d.mu.Unlock()
	if d.hung != nil {
		<-d.hung
	}
	if d.fault != nil {
		return 0, d.fault
	}
	d.service.Emit(path, name+".FeedbackEnded", id+1000, uint32(0)) // of another program
	over := func() { d.service.Emit(path, name+".FeedbackEnded", id, uint32(0)) }
	switch {
	case d.length == 0:
		over()
	case d.length > 0:
		time.AfterFunc(d.length, over)
	}
	return id, nil
}

func (d *daemon) end(id uint32) *dbus.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, fmt.Sprint("end ", id))
	return nil
}

// A pattern is an event of the theme; it ends by itself, with ctx, or after five seconds where a
// theme has no end.
func TestFeedbackd(t *testing.T) {
	for _, c := range []struct {
		name    string
		options haptic.FeedbackdOptions
		pattern string
		length  time.Duration
		limit   time.Duration // of ctx
		want    string
		after   time.Duration
		err     error
	}{
		{"felt only", haptic.FeedbackdOptions{}, cue.Done, time.Second, time.Minute,
			`io.github.aaep-go timeout-completed map[profile:"quiet"] -1`, time.Second, nil},
		{"with sound", haptic.FeedbackdOptions{AppID: "org.example.App", Sound: true}, cue.Working, 0, time.Minute,
			`org.example.App button-released map[] -1`, 0, nil},
		{"important", haptic.FeedbackdOptions{Sound: true}, cue.NeedsYou, time.Second, time.Minute,
			`io.github.aaep-go message-new-instant map[important:true] -1`, time.Second, nil},
		{"a theme of one's own", haptic.FeedbackdOptions{Events: map[string]string{"wave": "x-wave"}}, "wave", time.Second, time.Minute,
			`io.github.aaep-go x-wave map[profile:"quiet"] -1`, time.Second, nil},
		{"what it has not", haptic.FeedbackdOptions{}, "wave", time.Second, time.Minute, "", 0, nil},
		{"cut", haptic.FeedbackdOptions{Sound: true}, cue.Done, 3 * time.Second, time.Second,
			`io.github.aaep-go timeout-completed map[] -1, end 1`, time.Second, context.DeadlineExceeded},
		{"a theme without end", haptic.FeedbackdOptions{Sound: true}, cue.Done, -1, time.Minute,
			`io.github.aaep-go timeout-completed map[] -1, end 1`, 5 * time.Second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &daemon{length: c.length}
				defer d.close()
				c.options.Bus = d.dial
				device, err := haptic.OpenFeedbackd(t.Context(), c.options)
				if err != nil {
					t.Fatal(err)
				}
				defer device.Close()
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				start := time.Now()
				if err := device.Play(ctx, extensions.HapticData{Pattern: c.pattern}); !errors.Is(err, c.err) || time.Since(start) != c.after {
					t.Errorf("Play = %v after %v, want %v after %v", err, time.Since(start), c.err, c.after)
				}
				if got := strings.Join(d.asked, ", "); got != c.want {
					t.Errorf("feedbackd was asked %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

// A daemon that hangs, one that is gone and one that refuses an event are told apart.
func TestFeedbackdTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{hung: make(chan struct{})}
		defer d.close()
		device, err := haptic.OpenFeedbackd(t.Context(), haptic.FeedbackdOptions{Bus: d.dial})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := device.Play(ctx, extensions.HapticData{Pattern: cue.Done}); !errors.Is(err, haptic.ErrHung) || time.Since(start) != 2*time.Second {
			t.Errorf("hung, Play = %v after %v", err, time.Since(start))
		}
		close(d.hung)
		synctest.Wait()
		for want, fault := range map[error]*dbus.Error{
			haptic.ErrAbsent: dbus.NewError("org.freedesktop.DBus.Error.ServiceUnknown", nil),
			nil:              dbus.NewError("org.freedesktop.DBus.Error.InvalidArgs", []any{"an event without a name"}),
		} {
			d.fault = fault
			err := device.Play(t.Context(), extensions.HapticData{Pattern: cue.Done})
			if want != nil && !errors.Is(err, want) || want == nil && !strings.Contains(fmt.Sprint(err), "an event without a name") {
				t.Errorf("Play = %v", err)
			}
		}
		d.fault = nil
		d.length = time.Minute
		time.AfterFunc(time.Second, func() { device.Close() })
		for range 2 {
			if err := device.Play(t.Context(), extensions.HapticData{Pattern: cue.Done}); !errors.Is(err, announce.ErrClosed) {
				t.Errorf("closed, Play = %v", err)
			}
		}
		no := errors.New("no bus")
		if _, err := haptic.OpenFeedbackd(t.Context(), haptic.FeedbackdOptions{Bus: func(context.Context) (*dbus.Conn, error) { return nil, no }}); !errors.Is(err, no) {
			t.Errorf("OpenFeedbackd = %v", err)
		}
	})
}

// NeedsYou comes first, since that is what a critical event feels like where nothing else fits.
func TestPatterns(t *testing.T) {
	d := &daemon{}
	defer d.close()
	device, err := haptic.OpenFeedbackd(t.Context(), haptic.FeedbackdOptions{Bus: d.dial})
	if err != nil {
		t.Fatal(err)
	}
	if got := device.Patterns(); !slices.Equal(got, []string{"needs_you", "done", "failed", "started", "working"}) {
		t.Errorf("Patterns = %q", got)
	}
}

// The real one, which has neither motor nor sound card here, and says each time that it is done.
func TestRealFeedbackd(t *testing.T) {
	bustest.Start(t, "fbcli")
	for _, sound := range []bool{false, true} {
		device, err := haptic.OpenFeedbackd(t.Context(), haptic.FeedbackdOptions{Sound: sound})
		if err != nil {
			t.Fatal(err)
		}
		defer device.Close()
		for _, pattern := range device.Patterns() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than what Play waits for in vain
			if err := device.Play(ctx, extensions.HapticData{Pattern: pattern}); err != nil {
				t.Errorf("%s: Play = %v", pattern, err)
			}
			cancel()
		}
		if err := cue.New(device).Present(t.Context(), announce.Utterance{Kind: announce.Question, Critical: true}); err != nil {
			t.Errorf("Present = %v", err)
		}
	}
}
