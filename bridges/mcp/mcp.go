// Package mcp stands between the program that runs an agent and one of its servers of the Model
// Context Protocol on standard input and output, so that a person hears what the agent's tools do,
// and so that no tool that could destroy something is called before that person said yes. Neither
// side need know of it: the program starts it in the server's place, as "aaep bridge mcp" does.
//
//	err := mcp.Tee(p, mcp.Config{}, client, server)
//
// What the two say to each other passes byte for byte, line by line. A call of a tool is held
// unless the server's newest list of tools says of it that it only reads (readOnlyHint), or that it
// only adds (destructiveHint is false): so MCP reads a tool without annotations. A tool that is not
// listed is held too, and one that says of itself both that it reads and that it destroys. A held
// call reaches the server once, after one accepted answer. Every other outcome is a result that
// says the action was not done, which the server never sees.
//
// A line of the client that can be read in more than one way is not passed on, for the server could
// find a call in it. All else passes, also where nothing can be told.
//
// The annotations are what the server says of itself. Config.AskAll trusts it less.
//
// A goroutine for each direction reads lines; a third owns the session and tells; each held call
// has one that waits for the user. Begin to read at tee.admitClient.
//
// The annotations that decide whether a call is held are judged in held.go; tee.go passes, holds
// and asks, with the bounds for that, and wire.go has the messages of JSON-RPC.
package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/producer"
)

// Config says what a Tee holds, and for how long.
type Config struct {
	// AskAll holds every call of a tool that is not marked as read-only.
	AskAll bool
	// AnswerTime is how long the user has to answer. Zero is five minutes. The client may give up
	// sooner; a question is withdrawn then.
	AnswerTime time.Duration
	// State is a file that remembers which calls are held, so that the next Tee says what became
	// of those that a crash left. Only this user can read it, and only one Tee has it. Empty is
	// memory alone.
	State string
	// Logger receives what was refused or could not be told. Nil discards it.
	Logger *slog.Logger
}

// Tee stands between a client and a server until the server has ended; it closes the server's link
// when the client has hung up. Calls that are held then are refused. An error that is not of a link
// says that nothing was copied, because Config.State cannot be used.
func Tee(p *producer.Producer, cfg Config, client io.ReadWriter, server io.ReadWriteCloser) error {
	cfg.Logger = shield.Logger(cfg.Logger)
	held, _, left, err := toolcall.Open[heldRecord, *message](cfg.State, nil, cfg.Logger)
	if err != nil {
		return fmt.Errorf("mcp: what is held cannot be remembered in %s: %w", cfg.State, err)
	}
	defer held.Close()
	t := &tee{cfg: cfg, held: held, run: rand.Text(), news: make(chan func(*toolcall.Conversation), maxNews),
		open: map[string]*request{}}
	t.toClient.Writer, t.toServer.Writer = client, server
	ctx, cancel := context.WithCancel(context.Background())
	t.ctx = ctx
	tellerDone := make(chan struct{})
	go func() {
		defer close(tellerDone)
		c := toolcall.NewConversation(p, cfg.Logger, "Following an agent's tools.")
		for do := range t.news {
			do(c)
		}
		c.Complete("This conversation is over.")
	}()
	for _, call := range left {
		t.queueForConversation(func(c *toolcall.Conversation) {
			c.AnnounceNotice(call.AfterRestart(toolcall.ToolName(call.Record.Tool)))
			held.SettleLeft(call)
		})
	}
	go func() {
		err := bridge.CopyLines(t.toServer.Writer, client, &t.toServer.Mutex, maxLine, t.admitClient)
		if err != io.EOF {
			cfg.Logger.Warn("mcp: the client's lines cannot be passed on any more", "error", err)
		}
		t.withdrawAll()
		server.Close()
	}()
	err = bridge.CopyLines(t.toClient.Writer, server, &t.toClient.Mutex, maxLine, t.admitServer)
	cancel()
	t.closeQueue()
	<-tellerDone
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// tee is what Tee keeps.
type tee struct {
	cfg      Config
	held     *toolcall.Held[heldRecord, *message]
	run      string          // begins the ids of held calls: those of an earlier run may be in the file
	ctx      context.Context // ends with the server
	work     sync.WaitGroup  // the goroutines of held calls
	toServer lineWriter
	toClient lineWriter

	mu    sync.Mutex // a leaf; guards what follows
	news  chan func(*toolcall.Conversation)
	over  bool             // news is closed, and nothing is held any more
	tools map[string]*tool // as they were listed last
	open  map[string]*request
	calls int // that were held so far
}

// heldRecord is what the file keeps of a held call.
type heldRecord struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
}

// Name returns what a held call is known by in the file. Ids of the client's may repeat, so it is
// one of ours.
func (r heldRecord) Name() toolcall.Name { return toolcall.Name{ID: r.ID} }
