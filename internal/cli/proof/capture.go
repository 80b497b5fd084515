package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports"
)

// CaptureCommand makes "aaep capture"; captureMessages does its work.
func CaptureCommand() *cobra.Command {
	var once, questions bool
	var how *reach.Flags
	cmd := &cobra.Command{
		Use:   "capture ADDRESS",
		Short: "Record what an agent sends, as it sends it",
		Long: `capture subscribes without a limit and without merging, and prints every message it receives, unchanged, one on
each line; on a terminal, control characters are spelled out. It answers nothing, and so it is asked nothing; with
--questions it is, and the agent waits for an answer from somebody else, or for its own deadline. A recording can be
read by validate and replay. Ctrl-C ends.`,
		Example: `  aaep capture http://127.0.0.1:8080 > session.jsonl`,
		Args:    exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			address, err := reach.CheckAddress(args[0])
			if err != nil {
				return exits.With(exits.Usage, err)
			}
			ways, err := how.FindWays(ctx, address)
			if err != nil {
				return err
			}
			trust, err := how.ReadTrust(address)
			if err != nil {
				return err
			}
			return captureMessages(ctx, address, ways, trust, once, questions, cmd.OutOrStdout(),
				&lineio.Printer{Out: cmd.ErrOrStderr()})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "end with the first session that ends")
	cmd.Flags().BoolVar(&questions, "questions", false,
		"record questions too: the agent then counts on this listener to answer")
	how = reach.AddFlags(cmd)
	how.AddTrustFlags(cmd)
	return cmd
}

// captureTerms returns the terms of a recording: all events, in full words and in the agent's own
// pieces; questions says whether it can be asked questions.
func captureTerms(questions bool) aaep.Capabilities {
	return aaep.Capabilities{
		PreferredVerbosity: aaep.VerbosityDetailed,
		// A recording has the agent's own pieces, in any language and of any kind.
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundaryNone},
		EventFilters:               &aaep.EventFilters{Include: []string{"*"}},
		SupportsConfirmationReply:  &questions,
		SupportsClarificationReply: &questions,
	}
}

// captureMessages follows an agent and writes what it sends, until ctx is done, the agent ends or,
// with once, a session does. ways lead to the agent at url, trust is whose proof counts, or nil.
// The error has the exit code.
func captureMessages(ctx context.Context, url string, ways []discover.Way, trust *manifest.Trust, once, questions bool,
	out io.Writer, status *lineio.Printer) error {
	host, _ := os.Hostname()
	recording := &captureWriter{out: out}
	if f, ok := out.(*os.File); ok {
		recording.shown = term.IsTerminal(int(f.Fd()))
	}
	var dialers []transports.Dialer
	for _, w := range ways {
		dialers = append(dialers, recorder{w.Dialer, recording})
	}
	wanted := captureTerms(questions)
	if trust != nil {
		wanted.AcceptSignedManifestsOnly = new(true)
	}
	sub, err := subscriber.Dial(ctx, dialers[0], subscriber.Config{ID: "aaep-capture-" + host, Name: "aaep capture",
		Version: aaep.Version, Capabilities: wanted, Fallback: dialers[1:], Trust: trust})
	if err != nil {
		return reach.DialError(ctx, url, err)
	}
	defer sub.Close()
	status.PrintLabelled("aaep", "Recording. Ctrl-C ends.")
	for ev, err := range sub.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return exits.With(exits.Failed, err)
		case recording.writeError() != nil:
			return lineio.UnwrittenError(recording.writeError())
		case ev.Type() == aaep.TypeLost:
			text, _ := phrase.In(ev.Language(), phrase.MayBeLost, "")
			status.PrintLabelled("aaep", text)
		case once && ev.Type().Terminal():
			return nil
		}
	}
	return nil
}

// captureWriter writes messages as they come, one on each line. What a resumed stream repeats is
// written once.
type captureWriter struct {
	shown bool // on a terminal, which must not be told what to do by the recorded agent

	mu   sync.Mutex
	out  io.Writer
	err  error
	seen map[string]bool
}

// isRepeated reports whether msg is an event that was written before, and remembers it; what is no
// event never is. After 100,000 events it forgets all. It takes t.mu.
func (t *captureWriter) isRepeated(msg []byte) bool {
	m, err := aaep.Decode(msg)
	ev, ok := m.(*aaep.Event)
	if err != nil || !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil || len(t.seen) > 100_000 {
		t.seen = map[string]bool{}
	}
	seen := t.seen[ev.EventID]
	t.seen[ev.EventID] = true
	return seen
}

// writeMessage writes a message as one line; a repeated one is left out, and one of several lines
// loses the space between its members. On a terminal, control characters are spelled out. Its error
// is kept for writeError.
func (t *captureWriter) writeMessage(msg []byte) {
	if t.isRepeated(msg) {
		return
	}
	line := bytes.TrimSpace(msg)
	if bytes.ContainsAny(line, "\r\n") { // pretty-printed: only the space between members changes
		var b bytes.Buffer
		if json.Compact(&b, line) == nil {
			line = b.Bytes()
		}
	}
	if t.shown {
		line = []byte(aaep.SafeText(lineio.SafeJSON(string(line))))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.out.Write(append(bytes.Clone(line), '\n')); err != nil && t.err == nil {
		t.err = err
	}
}

// writeError returns the first error of writing.
func (t *captureWriter) writeError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// A recorder makes links whose messages are written.
type recorder struct {
	transports.Dialer
	recording *captureWriter
}

// Dial connects as the Dialer does. What is received over the link is recorded, also where its
// stream is opened again.
func (r recorder) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := r.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if reopener, ok := conn.(transports.Reopener); ok {
		return &recordedStream{reopener, r.recording}, nil
	}
	return &recordedLink{conn, r.recording}, nil
}

type recordedLink struct {
	transports.Conn
	recording *captureWriter
}

// Receive receives a message, and records it.
func (r *recordedLink) Receive(ctx context.Context) ([]byte, error) {
	return r.recording.receiveAndWrite(ctx, r.Conn)
}

// recordedStream is a link whose stream can be opened again.
type recordedStream struct {
	transports.Reopener
	recording *captureWriter
}

// Receive receives a message, and records it.
func (r *recordedStream) Receive(ctx context.Context) ([]byte, error) {
	return r.recording.receiveAndWrite(ctx, r.Reopener)
}

// receiveAndWrite receives a message and writes it before it is handed on.
func (t *captureWriter) receiveAndWrite(ctx context.Context, conn transports.Conn) ([]byte, error) {
	msg, err := conn.Receive(ctx)
	if err == nil {
		t.writeMessage(msg)
	}
	return msg, err
}
