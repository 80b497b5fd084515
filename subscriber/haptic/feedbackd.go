// Package haptic plays the patterns of package subscriber/cue through feedbackd, the daemon of
// Linux telephones and desktops, which makes them felt and plays sounds (earcons) as well: its
// users decide in one place whether an event of theirs is felt, heard or neither, so both are one
// package here.
//
//	device, err := haptic.OpenFeedbackd(ctx, haptic.FeedbackdOptions{})
//	out := cue.New(device)
//
// Sounds are switched with FeedbackdOptions.Sound; words are another output's and are not touched
// by it.
package haptic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/cue"
)

// What can be wrong with feedbackd.
var (
	ErrAbsent = errors.New("haptic: feedbackd is not installed, or does not start")
	ErrHung   = errors.New("haptic: feedbackd does not answer")
)

// FeedbackdOptions may be zero.
type FeedbackdOptions struct {
	// AppID is under what its user finds this program in feedbackd's settings, to silence it or to
	// let it be felt in spite of silence; "" stands for "io.github.aaep-go".
	AppID string
	// Sound lets feedbackd play sounds as well, where its user's profile has them.
	Sound bool
	// Events are feedbackd's events by pattern, for a theme of one's own or for more patterns than
	// five. A nil map stands for events that feedbackd's own theme has.
	Events map[string]string
	// Bus connects to the bus on which feedbackd is; nil stands for the session bus. The Feedbackd
	// closes what it returns.
	Bus func(context.Context) (*dbus.Conn, error)
}

// What feedbackd's own theme makes of its events is little, so that they are chosen by how they
// feel, or sound, and not by their names: a tick of 15 ms and one of 12, twice half a second, a
// tenth of a second, three times 0.75 s.
var (
	toFeel = map[string]string{cue.Started: "button-pressed", cue.Working: "button-released", cue.NeedsYou: "message-new-sms",
		cue.Done: "timeout-completed", cue.Failed: "message-new-email"}
	toHear = map[string]string{cue.Started: "button-pressed", cue.Working: "button-released", cue.NeedsYou: "message-new-instant",
		cue.Done: "timeout-completed", cue.Failed: "phone-failure"}
)

const (
	name, path   = "org.sigxcpu.Feedback", "/org/sigxcpu/Feedback"
	startWithin  = 10 * time.Second
	answerWithin = 2 * time.Second
	longest      = 5 * time.Second // of a pattern, whatever the theme says
)

// Feedbackd plays patterns through feedbackd, the daemon of Phosh and other Linux shells for all
// that buzzes, sounds and blinks. Whether, and how, is for its user to say: the profile "silent"
// lets nothing through, "quiet" no sound. Where there is no motor, no sound card or nothing in the
// theme, nothing happens, and that is no error.
//
// cue.NeedsYou and cue.Failed are marked as important; a person who lets this program be important
// feels them in any profile.
type Feedbackd struct {
	options FeedbackdOptions
	conn    *dbus.Conn
}

// OpenFeedbackd connects to feedbackd, which the bus starts if it is installed, and otherwise
// returns ErrAbsent. ctx bounds the connecting, not the Feedbackd.
func OpenFeedbackd(ctx context.Context, options FeedbackdOptions) (*Feedbackd, error) {
	if options.AppID == "" {
		options.AppID = "io.github.aaep-go"
	}
	if options.Events == nil {
		options.Events = toFeel
		if options.Sound {
			options.Events = toHear
		}
	}
	dial := options.Bus
	if dial == nil {
		dial = sessionbus.Dial
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("haptic: %w", err)
	}
	f := &Feedbackd{options: options, conn: conn}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(name), dbus.WithMatchInterface(name),
		dbus.WithMatchMember("FeedbackEnded"))
	if err == nil {
		_, err = f.callMethod(ctx, startWithin, "org.freedesktop.DBus.Peer.Ping")
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return f, nil
}

// Patterns returns what Events has, cue.NeedsYou first.
func (f *Feedbackd) Patterns() []string {
	names := slices.Sorted(maps.Keys(f.options.Events))
	if i := slices.Index(names, cue.NeedsYou); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, cue.NeedsYou)
	}
	return names
}

// Play plays a pattern, and returns when it has ended, after longest at the latest; its location
// does not matter. A pattern without an event in Options.Events is not played, and is no error.
// When ctx ends first, the pattern is ended.
func (f *Feedbackd) Play(ctx context.Context, felt extensions.HapticData) error {
	event, ok := f.options.Events[felt.Pattern]
	if !ok {
		return nil
	}
	hints := map[string]dbus.Variant{}
	if !f.options.Sound {
		hints["profile"] = dbus.MakeVariant("quiet")
	}
	if felt.Pattern == cue.NeedsYou || felt.Pattern == cue.Failed {
		hints["important"] = dbus.MakeVariant(true)
	}
	ended := make(chan *dbus.Signal, 64) // of all programs
	f.conn.Signal(ended)
	defer f.conn.RemoveSignal(ended)
	// Not ctx: what was begun can only be ended by the number in the answer.
	body, err := f.callMethod(context.WithoutCancel(ctx), answerWithin, name+".TriggerFeedback", f.options.AppID, event,
		hints, int32(-1))
	if err != nil {
		return err
	}
	var id uint32
	if err := dbus.Store(body, &id); err != nil {
		return fmt.Errorf("haptic: %w", err)
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for {
		select {
		case s := <-ended:
			if s != nil && s.Name == name+".FeedbackEnded" && len(s.Body) > 0 && s.Body[0] == id {
				return nil
			}
		case <-f.conn.Context().Done():
			return announce.ErrClosed
		case <-timer.C:
			_, err := f.callMethod(ctx, answerWithin, name+".EndFeedback", id)
			return err
		case <-ctx.Done():
			f.callMethod(context.WithoutCancel(ctx), answerWithin, name+".EndFeedback", id)
			return ctx.Err()
		}
	}
}

// callMethod calls a method of feedbackd, for at most limit, and returns its results. The error is
// ErrAbsent, ErrHung, announce.ErrClosed, that of ctx, or feedbackd's own.
func (f *Feedbackd) callMethod(ctx context.Context, limit time.Duration, method string, args ...any) ([]any, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call := f.conn.Object(name, path).CallWithContext(limited, method, 0, args...)
	var answer dbus.Error
	switch {
	case call.Err == nil:
		return call.Body, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !f.conn.Connected():
		return nil, announce.ErrClosed
	case limited.Err() != nil:
		return nil, ErrHung
	case errors.As(call.Err, &answer) && slices.Contains(absentErrors, answer.Name):
		return nil, ErrAbsent
	}
	return nil, fmt.Errorf("haptic: %w", call.Err)
}

// absentErrors are the answers of a bus that knows no program of that name, or cannot start it.
var absentErrors = []string{"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
	"org.freedesktop.DBus.Error.Spawn.ExecFailed", "org.freedesktop.DBus.Error.Spawn.ChildExited",
	"org.freedesktop.DBus.Error.NoReply"}

// Close ends the connection, and with it what is being played.
func (f *Feedbackd) Close() error { return f.conn.Close() }
