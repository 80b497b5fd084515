// Package speech says utterances aloud through the user's Speech Dispatcher, which is the speech
// server of most free desktops. It is for self-voicing: for people at a console or a kiosk, who
// have no screen reader. It speaks SSIP, the server's own protocol, without C and without another
// library (the sections quoted are those of "SSIP", the manual of Speech Dispatcher).
//
// Who runs a screen reader hears agents through it, not through this package: two voices do not
// know of each other, and the key that silences one does not silence the other. Open refuses then.
//
// Speaking is in speech.go, SSIP in ssip.go, which voice has which language in languages.go, the
// speed in rate.go, and finding a screen reader that runs in screenreader.go.
package speech

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// ErrScreenReader is what Open returns when a screen reader runs.
var ErrScreenReader = errors.New("speech: a screen reader is running, and its silence key would not reach a second " +
	"voice; speak through it instead, as package orca does")

// Options say how it is spoken. The zero Options use the server that is there, as the user
// configured it.
type Options struct {
	// WordsPerMinute is the pace, by what eSpeak NG makes of SSIP's rates: 84 to 473; what is
	// beyond is as near as possible. Zero leaves the user's own.
	WordsPerMinute int
	// Voice is one of SSIP's symbolic voices, such as FEMALE1; "" leaves the user's own.
	Voice string
	// Pitch and Volume are from -100 to 100. Zero leaves the user's own.
	Pitch, Volume int
	// Spawn starts a server when none listens, as other programs of the desktop do. It goes on
	// after this one ends.
	Spawn bool
	// Force speaks even beside a screen reader.
	Force bool
	// Dial connects to the server some other way; nil finds the server as its own library does: at
	// SPEECHD_ADDRESS, which is unix_socket:PATH or inet_socket:HOST:PORT, else at
	// speech-dispatcher/speechd.sock in XDG_RUNTIME_DIR.
	Dial func(ctx context.Context) (net.Conn, error)
}

// An Output is a voice. Present is for one goroutine at a time, the others for any. When Present
// has failed because the server is gone or cannot be understood, it goes on to fail: Open another,
// and say again what was not heard.
type Output struct {
	voices  *voices
	closing context.Context // done once Close was called
	stop    context.CancelFunc

	// turn is a lock that holds one token: the goroutine that has put it in owns what follows.
	turn   chan struct{}
	link   *link
	client string // the server's name for us
	err    error  // why it is over
}

// Open connects to the user's speech server, which it starts if Options.Spawn says so and there is
// none, and sets the voice. The error is ErrScreenReader where a screen reader runs and
// Options.Force is not set.
func Open(ctx context.Context, o Options) (*Output, error) {
	if !o.Force {
		if name := screenReader(ctx, sessionbus.Processes); name != "" {
			return nil, fmt.Errorf("%w: found %s", ErrScreenReader, name)
		}
	}
	dial := o.Dial
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) { return dialServer(ctx, o.Spawn) }
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("speech: no speech server: %w", err)
	}
	out := &Output{link: newLink(conn), turn: make(chan struct{}, 1)}
	if err := out.introduce(ctx, o); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("speech: %w", err)
	}
	out.closing, out.stop = context.WithCancel(context.Background())
	return out, nil
}

// introduce sends our name and the person's options over a new link, and asks the server for our
// client id and its voices. It fails where the server has no synthesizer that works.
func (o *Output) introduce(ctx context.Context, options Options) error {
	for _, c := range setupCommands(options) {
		if _, err := o.link.sendChecked(ctx, c); err != nil {
			return err
		}
	}
	var err error
	get := func(command string) string { // after an error, nothing is waited for any more
		if err != nil {
			return ""
		}
		var r reply
		if r, err = o.link.sendChecked(ctx, command); err == nil && len(r.data) != 1 {
			err = fmt.Errorf("the server answered %d lines to %q", len(r.data), command)
		}
		if err != nil {
			return ""
		}
		return r.data[0]
	}
	o.client = get("HISTORY GET CLIENT_ID")
	module := get("GET OUTPUT_MODULE")
	home := commandWord(get("GET LANGUAGE"))
	if err != nil {
		return err
	}
	if module == "dummy" {
		// It answers everything, and plays half a minute of regrets for each sentence.
		return errors.New("the speech server has no synthesizer that works")
	}
	voices, err := o.link.sendCommand(ctx, "LIST SYNTHESIS_VOICES")
	if err != nil {
		return err
	}
	o.voices = newVoices(home, voices.data) // no data if the synthesizer cannot tell
	return nil
}

// setupCommands returns the commands that a new link begins with: our name, which has to come first
// and once, and the options that are set.
func setupCommands(options Options) []string {
	commands := []string{"SET SELF CLIENT_NAME " + userName() + ":aaep:main", "SET SELF NOTIFICATION ALL on"}
	if options.WordsPerMinute != 0 {
		commands = append(commands, fmt.Sprint("SET SELF RATE ", rateFor(options.WordsPerMinute)))
	}
	if options.Voice != "" {
		commands = append(commands, "SET SELF VOICE_TYPE "+commandWord(options.Voice))
	}
	if options.Pitch != 0 {
		commands = append(commands, fmt.Sprint("SET SELF PITCH ", options.Pitch))
	}
	if options.Volume != 0 {
		commands = append(commands, fmt.Sprint("SET SELF VOLUME ", options.Volume))
	}
	return commands
}

// Speaks reports whether there is a voice for texts in a language. The server itself says yes to
// every language, and spells Yoruba letter by letter in English. "" is the language of the server.
func (o *Output) Speaks(language string) bool {
	_, ok := o.voices.chooseVoice(language)
	return ok
}

// Present says u and returns when that is over: nil when it was said to its end, announce.ErrCut
// when it was silenced, by the person or by a more important message of another program (the server
// does not say which), ctx's error when ctx ended first; then it is silent, within some 50 ms. The
// end of an utterance is reported about 0.4 s after its last sound. announce.ErrLanguage is for u
// alone; with any other error the output is over, and u was not heard to its end.
//
// While another program speaks, u waits for its turn, but a critical one cuts the other off; that
// one is not resumed.
func (o *Output) Present(ctx context.Context, u announce.Utterance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	language, ok := o.voices.chooseVoice(u.Language)
	if !ok {
		return fmt.Errorf("%w %.40q", announce.ErrLanguage, u.Language)
	}
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.err != nil {
		return o.err
	}
	text := oneLine(u.Text)
	if text == "" {
		return nil
	}
	// Not SSIP's "text" for answers nor "progress" for progress: of these the server drops what it
	// likes, and says that it was cancelled. What is out of date never comes here: one utterance is
	// under way at a time. "message" waits until others have finished, and "important" cuts them
	// off.
	priority := "message"
	if u.Critical {
		priority = "important"
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.closing, cancel)()
	err := o.speakText(inner, text, language, priority)
	switch {
	case err == nil, err == announce.ErrCut, err == errSilenced:
	default:
		o.endWithError(fmt.Errorf("speech: the speech server is gone: %w", err))
		err = o.err
	}
	switch {
	case inner.Err() == nil || err == nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return announce.ErrClosed
}

// errSilenced is what speakText returns when it was its context that ended.
var errSilenced = errors.New("silenced")

// speakText has the server speak a text, safe to send, in a voice for a language that the server
// has, with an SSIP priority, and waits until that is over. It is called with the turn held. Errors
// other than announce.ErrCut and errSilenced mean that the link is of no more use.
func (o *Output) speakText(ctx context.Context, text, language, priority string) error {
	for _, c := range []string{"SET SELF LANGUAGE " + language, "SET SELF PRIORITY " + priority} {
		if _, err := o.link.sendChecked(ctx, c); err != nil {
			return err
		}
	}
	if _, err := o.link.sendChecked(ctx, "SPEAK", codeGoOn); err != nil {
		return err
	}
	queued, err := o.link.sendChecked(ctx, text+"\r\n.", codeQueued, codeNothing)
	if err != nil || queued.code == codeNothing {
		return err
	}
	if len(queued.data) != 1 {
		return fmt.Errorf("the server queued %d messages instead of one", len(queued.data))
	}
	return o.awaitEnd(ctx, queued.data[0], speakLimit(text))
}

// Longest times until something happens. They end what would never end; a sane server needs a
// fraction of them.
const (
	turnLimit  = 2 * time.Minute // until others have finished
	pauseLimit = time.Hour       // while the person has all speech paused
)

// speakLimit is how long a text can take: at the slowest pace a letter takes 150 ms, but digits and
// symbols are words.
func speakLimit(text string) time.Duration {
	return 10*time.Second + time.Duration(utf8.RuneCountInString(text))*400*time.Millisecond
}

// awaitEnd returns when the message with an id is over: nil where it was spoken to its end,
// announce.ErrCut, or what silenceMessage returns once ctx ended. limit is how long it may take
// once it has begun.
func (o *Output) awaitEnd(ctx context.Context, message string, limit time.Duration) error {
	deadline := time.Now().Add(turnLimit)
	for {
		event, err := o.link.nextEvent(ctx, time.Until(deadline))
		switch {
		case timedOut(err) && ctx.Err() != nil:
			return o.silenceMessage(ctx, message)
		case timedOut(err):
			return fmt.Errorf("it did not say in time that the utterance began or ended: %w", err)
		case err != nil:
			return err
		case !event.isAbout(o.client, message):
			continue
		}
		switch event.code {
		case codeBegun, codeResumed:
			deadline = time.Now().Add(limit)
		case codePaused:
			deadline = time.Now().Add(pauseLimit)
		case codeEnded:
			return nil
		case codeCanceled:
			return announce.ErrCut
		}
	}
}

// silenceMessage silences a message when ctx has ended, and waits until the server says that it is
// silent, which is errSilenced: 30 to 45 ms, hushLimit at most. If the message came to its end
// before that the error is nil, for it was heard.
func (o *Output) silenceMessage(ctx context.Context, message string) error {
	deadline := time.Now().Add(hushLimit)
	if _, err := o.link.sendChecked(ctx, "CANCEL SELF"); err != nil {
		return err
	}
	for {
		event, err := o.link.nextEvent(context.Background(), time.Until(deadline))
		switch {
		case timedOut(err):
			return errSilenced // it obeyed, and will say so some time
		case err != nil:
			return err
		case !event.isAbout(o.client, message):
		case event.code == codeEnded:
			return nil
		case event.code == codeCanceled:
			return errSilenced
		}
	}
}

// Close silences what is being said, and closes the connection. Present then returns
// announce.ErrClosed. A second Close does nothing.
func (o *Output) Close() error {
	o.stop()
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.err == nil {
		o.link.sendCommand(o.closing, "CANCEL SELF") // the server goes on to speak for clients that have left
		o.link.conn.Close()
		o.err = announce.ErrClosed
	}
	return nil
}

// endWithError ends the output for the reason err. What may still be spoken is silenced, if the
// server listens at all.
func (o *Output) endWithError(err error) {
	o.err = err
	o.link.conn.SetWriteDeadline(time.Now().Add(hushLimit))
	o.link.conn.Write([]byte("CANCEL SELF\r\n"))
	o.link.conn.Close()
}

// userName returns the name of the system's user, for the server's own book-keeping; "user" where
// it is unknown or no word that the server takes.
func userName() string {
	if u, err := user.Current(); err == nil && commandWord(u.Username) != "" {
		return commandWord(u.Username)
	}
	return "user"
}

// commandWord returns s without every character that could end a word of a command.
func commandWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return -1
	}, s)
}
