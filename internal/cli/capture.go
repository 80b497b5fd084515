package cli

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
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports"
)

func captureCommand() *cobra.Command {
	var once, questions bool
	var reach *reaching
	cmd := &cobra.Command{
		Use:   "capture ADDRESS",
		Short: "Record what an agent sends, as it sends it",
		Long: `capture subscribes without a limit and without merging, and prints every message it receives, unchanged, one on
each line; on a terminal, control characters are spelled out. It answers nothing, and so it is asked nothing; with
--questions it is, and the agent waits for an answer from somebody else, or for its own deadline. A recording can be
read by validate and replay. Ctrl-C ends.`,
		Example: `  aaep capture http://127.0.0.1:8080 > session.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			at, err := address(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			ways, err := reach.ways(ctx, at)
			if err != nil {
				return err
			}
			trust, err := reach.trust(at)
			if err != nil {
				return err
			}
			return capture(ctx, at, ways, trust, once, questions, cmd.OutOrStdout(), &announcer{out: cmd.ErrOrStderr()})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "end with the first session that ends")
	cmd.Flags().BoolVar(&questions, "questions", false, "record questions too: the agent then counts on this listener to answer")
	reach = reachingFlags(cmd)
	reach.trustFlags(cmd)
	return cmd
}

// everything asks for all there is, as it is.
func everything(questions bool) aaep.Capabilities {
	return aaep.Capabilities{
		PreferredVerbosity: aaep.VerbosityDetailed,
		// Whoever records wants the agent's own pieces, in any language and of any kind.
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundaryNone},
		EventFilters:               &aaep.EventFilters{Include: []string{"*"}},
		SupportsConfirmationReply:  &questions,
		SupportsClarificationReply: &questions,
	}
}

func capture(ctx context.Context, url string, ways []discover.Way, trust *manifest.Trust, once, questions bool, out io.Writer, status *announcer) error {
	host, _ := os.Hostname()
	tape := &tape{out: out}
	if f, ok := out.(*os.File); ok {
		tape.shown = term.IsTerminal(int(f.Fd()))
	}
	var dialers []transports.Dialer
	for _, w := range ways {
		dialers = append(dialers, recorder{w.Dialer, tape})
	}
	wanted := everything(questions)
	if trust != nil {
		wanted.AcceptSignedManifestsOnly = new(true)
	}
	sub, err := subscriber.Dial(ctx, dialers[0], subscriber.Config{ID: "aaep-capture-" + host, Name: "aaep capture",
		Version: aaep.Version, Capabilities: wanted, Fallback: dialers[1:], Trust: trust})
	if err != nil {
		return dialError(ctx, url, err)
	}
	defer sub.Close()
	status.say("aaep", "Recording. Ctrl-C ends.")
	for ev, err := range sub.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return &exitError{exitFailed, err}
		case tape.failed() != nil:
			return unwritten(tape.failed())
		case ev.Type() == aaep.TypeLost:
			text, _ := phrase.In(ev.Language(), phrase.MayBeLost, "")
			status.say("aaep", text)
		case once && ev.Type().Terminal():
			return nil
		}
	}
	return nil
}

// tape writes messages as they come, one on each line. What a resumed stream repeats is written once.
type tape struct {
	shown bool // on a terminal, which must not be told what to do by whoever is recorded

	mu   sync.Mutex
	out  io.Writer
	err  error
	seen map[string]bool
}

func (t *tape) repeated(msg []byte) bool {
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
	was := t.seen[ev.EventID]
	t.seen[ev.EventID] = true
	return was
}

func (t *tape) write(msg []byte) {
	if t.repeated(msg) {
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
		line = []byte(aaep.SafeText(safeJSON(string(line))))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.out.Write(append(bytes.Clone(line), '\n')); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *tape) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// recorder records what the links that it makes receive.
type recorder struct {
	transports.Dialer
	tape *tape
}

func (r recorder) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := r.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if reopener, ok := conn.(transports.Reopener); ok {
		return &recordedStream{reopener, r.tape}, nil
	}
	return &recordedLink{conn, r.tape}, nil
}

type recordedLink struct {
	transports.Conn
	tape *tape
}

func (r *recordedLink) Receive(ctx context.Context) ([]byte, error) {
	return r.tape.receive(ctx, r.Conn)
}

// recordedStream is a link whose stream can be opened again.
type recordedStream struct {
	transports.Reopener
	tape *tape
}

func (r *recordedStream) Receive(ctx context.Context) ([]byte, error) {
	return r.tape.receive(ctx, r.Reopener)
}

func (t *tape) receive(ctx context.Context, conn transports.Conn) ([]byte, error) {
	msg, err := conn.Receive(ctx)
	if err == nil {
		t.write(msg)
	}
	return msg, err
}
