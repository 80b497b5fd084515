package acp

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// This file sends a prompt: what the person typed, with the files that they named as @path, and
// waits until the agent has done what it asks.

// stopTimeout is for an agent to say that it has stopped.
const stopTimeout = 10 * time.Second

// Prompt sends a message of the user, and waits for the end of the turn, which is one session of
// the Producer. A word such as @main.go that names a file in the folder attaches that file. When
// ctx ends, the agent is asked to stop. The error says why there is no answer: ErrBusy,
// ErrAuthRequired, or what the agent reports; it is announced in the session, too.
func (c *Conversation) Prompt(ctx context.Context, text string) error {
	t, err := c.beginTurn(ctx, text)
	if err != nil {
		return err
	}
	defer t.s.Close()
	wait, forget, err := c.agent.peer.startCall("session/prompt",
		promptRequest{SessionID: c.id, Prompt: c.promptBlocks(text)})
	if err != nil {
		return t.endTurn("", c.agent.explainError(err))
	}
	defer forget()
	var m message
	ok := true
	select {
	case m, ok = <-wait:
	case <-ctx.Done():
		t.stopAgent()
		m, ok, err = awaitStopped(wait)
	case <-t.stopped:
		m, ok, err = awaitStopped(wait)
	}
	if err != nil {
		return t.endTurn("", err)
	}
	var answer promptResponse
	if err := decodeAnswer(m, ok, &answer); err != nil {
		return t.endTurn("", c.agent.explainError(err))
	}
	if c.agent.cfg.Version2 {
		answer.StopReason, err = t.awaitIdle(ctx)
	}
	return t.endTurn(answer.StopReason, err)
}

// awaitIdle waits until an agent of version 2 says that the turn is over, and returns its reason.
// When ctx ends, the agent is told to stop; stopTimeout after a stop, the error is errNotStopped.
// errEnded says that the agent has gone.
func (t *turn) awaitIdle(ctx context.Context) (reason string, err error) {
	stopped := t.stopped
	var timeout <-chan time.Time
	for {
		select {
		case reason := <-t.idle:
			return reason, nil
		case <-t.c.agent.done:
			return "", t.c.agent.explainError(errEnded)
		case <-ctx.Done():
			ctx = context.Background()
			t.stopAgent()
		case <-stopped:
			stopped, timeout = nil, time.After(stopTimeout)
		case <-timeout:
			return "", errNotStopped
		}
	}
}

// errNotStopped ends a turn whose agent was told to stop, and goes on.
var errNotStopped = fmt.Errorf("acp: the agent was told to stop, and has not said within %v that it did", stopTimeout)

// awaitStopped waits for the answer to a prompt after the agent was asked to stop, at most
// stopTimeout; then the error is errNotStopped. ok is false where the link ended first.
func awaitStopped(wait <-chan message) (m message, ok bool, err error) {
	select {
	case m, ok = <-wait:
		return m, ok, nil
	case <-time.After(stopTimeout):
		return m, false, errNotStopped
	}
}

// promptBlocks returns a prompt as the protocol sends it: its text, and a link for each word such
// as @main.go that names a file in the folder.
func (c *Conversation) promptBlocks(text string) []contentBlock {
	blocks := []contentBlock{{Type: "text", Text: text}}
	for _, word := range strings.Fields(text) {
		name, ok := strings.CutPrefix(word, "@")
		if !ok || name == "" {
			continue
		}
		path, err := c.agent.cfg.pathInFolder(strings.TrimRight(name, ",;:!?"))
		if err != nil {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		uri := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		blocks = append(blocks, contentBlock{Type: "resource_link", Name: filepath.Base(path), URI: uri.String()})
	}
	return blocks
}
