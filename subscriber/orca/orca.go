// Package orca presents through Orca, the screen reader of Linux desktops: in the voice, at the
// speed and on the braille display that the user has chosen, and silenced by the same key. Where
// Orca runs this is the output to prefer; a second voice beside a screen reader talks over it and
// does not stop when the user wants silence.
//
// Orca 49 and later have a D-Bus service. Orca 51 gave it another name; both are known. An older
// Orca is reached as an accessible program that shows notifications, which Orca speaks whatever has
// the focus: each begins with that word, in Orca's language, none can be silenced by a program, and
// a critical one waits until what Orca is saying is over.
//
// Presenting, and for how long, is in orca.go, the names of Orca's services in dialect.go, an older
// Orca is reached in accessible.go, and languages are in words.go.
//
// # What Orca does not say
//
//   - When it has spoken. Present estimates that, from the text and Options.WordsPerMinute, and returns then. The
//     estimate is a lower bound: Orca may still be busy with what it said before, or with what the user does.
//   - That it was silenced. The user's silence key, or any other key, ends a message, and Present returns nil as if it
//     had been heard. A caller that needs to know that a message was noticed must ask for an answer.
//   - In which language it speaks. A message carries none; Orca reads all of them in the user's voice. See Output.Speaks.
//
// A message that is Critical interrupts everything that Orca is saying, the user's own reading as
// well, and what it interrupts is not said again by Orca. Others wait their turn in Orca's queue,
// and so does a critical one that follows another within two seconds, such as the second sentence
// of a question: it must not cut the end of the first.
package orca

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// What can be wrong with Orca. After each of them a later Present may succeed.
var (
	ErrAbsent  = errors.New("orca: Orca is not running")
	ErrLeft    = errors.New("orca: Orca ended or was restarted while it had something to say")
	ErrHung    = errors.New("orca: Orca does not answer; it may still say what it was given")
	ErrRefused = errors.New("orca: Orca answered that it did not present the message")
)

const (
	answerWithin = 5 * time.Second // Orca itself waits for programs that hang
	usualPace    = 172             // words a minute, of Orca's default rate with eSpeak NG
	tail         = 2 * time.Second // in which a critical message may still be spoken after its time
)

// Options may be zero.
type Options struct {
	// WordsPerMinute is how fast the user's voice speaks; 0 stands for 172, the speed of Orca as it
	// comes.
	WordsPerMinute int
	// Languages are tags of those that the user's Orca voice speaks. With nil, Orca is asked which
	// it has voices for.
	Languages []string
	// VoiceLanguages are what Orca's own voice is known to speak, as mostly the language of the
	// system. A question in other letters has the time of a voice that names each of them.
	VoiceLanguages []string
	// Bus connects to the bus on which Orca is; nil stands for the session bus. The Output closes
	// what it returns.
	Bus func(context.Context) (*dbus.Conn, error)
}

// Output presents through Orca. Present is for one goroutine at a time, since Orca has one voice;
// the other methods may be called from any.
type Output struct {
	options  Options
	conn     *dbus.Conn
	critical time.Time   // when the last critical message was taken for spoken
	program  *accessible // to an Orca that has no service; nil where that has never been met

	mu     sync.Mutex
	voices map[string]bool // by owner of the name and language, what Orca answered
}

// Open connects to Orca, and returns ErrAbsent if it is not there; an Orca without a service is
// reached as an accessible program. Connecting takes at most answerWithin. ctx bounds the
// connecting, not the Output.
func Open(ctx context.Context, options Options) (*Output, error) {
	if options.WordsPerMinute <= 0 {
		options.WordsPerMinute = usualPace
	}
	dial := options.Bus
	if dial == nil {
		dial = sessionbus.Dial
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("orca: %w", err)
	}
	o := &Output{options: options, conn: conn, voices: map[string]bool{}}
	for _, d := range dialects {
		if err == nil {
			err = conn.AddMatchSignalContext(ctx, ownerChanged(d.name)...)
		}
	}
	if err != nil {
		err = fmt.Errorf("orca: %w", err)
	} else {
		_, _, err = o.findOrca(ctx)
	}
	if errors.Is(err, ErrAbsent) {
		err = o.becomeAccessible(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return o, nil
}

// ownerChanged matches the signals that a name on the bus has another owner.
func ownerChanged(name string) []dbus.MatchOption {
	return []dbus.MatchOption{dbus.WithMatchSender("org.freedesktop.DBus"),
		dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, name)}
}

// Present gives Orca the text and returns nil when it can have been spoken. When ctx ends first,
// Orca is silenced. Where Speaks knows that there is no voice for its language, which Orca would
// garble in another, it returns announce.ErrLanguage.
func (o *Output) Present(ctx context.Context, u announce.Utterance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.Language != "" && !o.Speaks(u.Language) {
		return announce.ErrLanguage
	}
	// A bus drops a client that sends it what is no text, so nothing of that kind leaves here.
	text := strings.ReplaceAll(strings.ToValidUTF8(u.Text, "\ufffd"), "\x00", "")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	signals := make(chan *dbus.Signal, 16)
	o.conn.Signal(signals)
	defer o.conn.RemoveSignal(signals)
	d, owner, err := o.findOrca(ctx)
	if errors.Is(err, ErrAbsent) {
		return o.presentNotification(ctx, u, text)
	}
	if err != nil {
		return err
	}
	if u.Critical && time.Since(o.critical) > tail {
		o.interruptSpeech(ctx, d, owner) // an Orca that cannot be interrupted still has to say it
	}
	var presented bool
	if err := o.callMethod(ctx, owner, d.path, d.name+".PresentMessage", text).storeResult(&presented); err != nil {
		if ctx.Err() != nil {
			o.interruptDetached(ctx, d, owner) // it may have arrived
		}
		return err
	}
	if !presented {
		return ErrRefused
	}
	left := func(s *dbus.Signal) bool { return s != nil && ownerLeft(s, d.name, owner) }
	if err := o.awaitSpoken(ctx, o.speakingTime(u, text), signals, left); err != nil {
		if ctx.Err() != nil {
			o.interruptDetached(ctx, d, owner)
		}
		return err
	}
	if u.Critical {
		o.critical = time.Now()
	}
	return nil
}

// awaitSpoken waits for as long as an utterance takes. It returns an error if ctx is done before,
// if the bus is gone, or if left says of a signal that Orca is.
func (o *Output) awaitSpoken(ctx context.Context, takes time.Duration, signals <-chan *dbus.Signal,
	left func(*dbus.Signal) bool) error {
	timer := time.NewTimer(takes)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-o.conn.Context().Done():
			return announce.ErrClosed
		case s := <-signals:
			if left(s) {
				return ErrLeft
			}
		}
	}
}

// speakingTime returns how long Orca takes to say a text of an utterance. Of a question, which
// counts as heard then, it is that of the slowest voice that it may have.
func (o *Output) speakingTime(u announce.Utterance, text string) time.Duration {
	if u.Kind == announce.Question {
		return spoken.TimeBy(text, int64(o.options.WordsPerMinute), slices.Concat(o.options.VoiceLanguages, o.options.Languages)...)
	}
	return spoken.Time(text, int64(o.options.WordsPerMinute))
}

// becomeAccessible makes this program one whose notifications an Orca without a service speaks; it
// is one already after the first call. The error is ErrAbsent where no Orca runs. Open and
// presentNotification call it.
func (o *Output) becomeAccessible(ctx context.Context) error {
	if sessionbus.Running(sessionbus.Processes, "orca") == "" {
		return ErrAbsent
	}
	if o.program != nil {
		return nil
	}
	program, err := openAccessible(ctx, o.conn)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.program = program
	return err
}

// presentNotification shows a text to an Orca without a service, and returns nil when it can have
// been spoken, by an estimate. The error is ErrLeft where Orca has gone, announce.ErrClosed, or
// that of ctx. Present calls it.
func (o *Output) presentNotification(ctx context.Context, u announce.Utterance, text string) error {
	if err := o.becomeAccessible(ctx); err != nil {
		return err
	}
	if err := o.program.showNotification(text); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.program.conn.Close()
		o.program = nil
		return ErrLeft
	}
	timer := time.NewTimer(o.speakingTime(u, "notification "+text))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-o.conn.Context().Done():
		return announce.ErrClosed
	}
	if sessionbus.Running(sessionbus.Processes, "orca") == "" {
		return ErrLeft
	}
	return nil
}

// ownerLeft reports whether a signal says that the name is no longer the owner's.
func ownerLeft(s *dbus.Signal, name, owner string) bool {
	return s.Name == "org.freedesktop.DBus.NameOwnerChanged" && len(s.Body) == 3 && s.Body[0] == name &&
		s.Body[2] != owner
}

// findOrca returns the dialect and the owner of the Orca that runs now, or ErrAbsent. Another error
// says that the bus does not answer.
func (o *Output) findOrca(ctx context.Context) (d dialect, owner string, err error) {
	for _, d := range dialects {
		err := o.callMethod(ctx, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetNameOwner",
			d.name).storeResult(&owner)
		if err == nil {
			return d, owner, nil
		}
		if !errors.Is(err, ErrAbsent) {
			return d, "", err
		}
	}
	return d, "", ErrAbsent
}

// interruptSpeech silences Orca, by the first of its modules that takes the call, within a second.
// A failure is not reported: the person's own key silences Orca too.
func (o *Output) interruptSpeech(ctx context.Context, d dialect, owner string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, module := range d.modules {
		if o.callMethod(ctx, owner, d.path+dbus.ObjectPath("/"+module), d.interrupt, d.args...).err == nil {
			return
		}
	}
}

// interruptDetached is interruptSpeech after ctx has ended.
func (o *Output) interruptDetached(ctx context.Context, d dialect, owner string) {
	o.interruptSpeech(context.WithoutCancel(ctx), d, owner)
}

// reply is the end of a call.
type reply struct {
	body []any
	err  error
}

// storeResult stores the one result of a call in what result points to, or returns the call's
// error; a result of another type is an error too.
func (r reply) storeResult(result any) error {
	if r.err != nil {
		return r.err
	}
	return dbus.Store(r.body, result)
}

// callMethod calls a method, with a limit of answerWithin. It never starts a program: a screen
// reader is the user's to start. The error is ErrAbsent, ErrHung, announce.ErrClosed or that of
// ctx.
func (o *Output) callMethod(ctx context.Context, destination string, path dbus.ObjectPath, method string,
	args ...any) reply {
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	call := o.conn.Object(destination, path).CallWithContext(limited, method, dbus.FlagNoAutoStart, args...)
	err := call.Err
	var answer dbus.Error
	switch {
	case err == nil:
		return reply{body: call.Body}
	case ctx.Err() != nil:
		err = ctx.Err()
	case !o.conn.Connected():
		err = announce.ErrClosed
	case limited.Err() != nil:
		err = ErrHung
	case errors.As(err, &answer) && slices.Contains(absentErrors, answer.Name):
		err = ErrAbsent
	default:
		err = fmt.Errorf("orca: %w", err)
	}
	return reply{err: err}
}

// absentErrors are the answers of a bus on which the addressee is not.
var absentErrors = []string{"org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.ServiceUnknown",
	"org.freedesktop.DBus.Error.NoReply"} // it left before it replied

// Close ends the connection. A Present that still waits returns announce.ErrClosed; Orca finishes
// what it was given.
func (o *Output) Close() error {
	err := o.conn.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.program != nil {
		o.program.conn.Close()
	}
	return err
}
