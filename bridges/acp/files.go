package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Files that the agent has its client read and write. They are in Config.Folder, whatever links
// lead out of it; what is written there was accepted as it is, by a permission that showed that
// change or by a question of its own.

const maxFile = 10 << 20 // bytes that are read

type readFileRequest struct {
	Path  string `json:"path"`
	Line  *int   `json:"line"`  // the first, counted from 1
	Limit *int   `json:"limit"` // how many lines
}

type readFileResponse struct {
	Content string `json:"content"`
}

type writeFileRequest struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// answerReadFile answers fs/read_text_file with a file of the folder, or with the lines of it that
// were asked for, counted from 1. A path outside the folder, or a file that cannot be read, is
// refused. It runs on a goroutine of its own.
func (c *Conversation) answerReadFile(r *request) {
	var ask readFileRequest
	text, err := "", decodeParams(r.params, &ask)
	if err == nil {
		text, err = c.agent.cfg.readFile(ask.Path)
	}
	if err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, toolwords.Label(err.Error()))
		return
	}
	if ask.Line != nil || ask.Limit != nil {
		lines := strings.SplitAfter(text, "\n")
		if ask.Line != nil {
			lines = lines[min(max(*ask.Line-1, 0), len(lines)):]
		}
		if ask.Limit != nil {
			lines = lines[:min(max(*ask.Limit, 0), len(lines))]
		}
		text = strings.Join(lines, "")
	}
	r.sendResult(readFileResponse{text})
}

// readFile returns the text of a file in the folder. A path that leads out of the folder, and what
// is no regular file, is an error.
func (cfg Config) readFile(path string) (string, error) {
	root, name, err := cfg.openFolder(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return readRegularFile(root, name)
}

// readRegularFile returns the text of a file of at most maxFile bytes in UTF-8. What is no regular
// file, such as a named pipe, is an error and is not waited for.
func readRegularFile(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", name)
	case info.Size() > maxFile:
		return "", fmt.Errorf("%s is longer than %d MiB", name, maxFile>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is no text", name)
	}
	return string(data), err
}

// openFolder opens the folder as a root that no name and no link leads out of, and returns the name
// that path has in it. The caller closes the root.
func (cfg Config) openFolder(path string) (*os.Root, string, error) {
	path, err := cfg.pathInFolder(path)
	if err != nil {
		return nil, "", err
	}
	name, err := filepath.Rel(cfg.Folder, path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(cfg.Folder)
	return root, name, err
}

// answerWriteFile answers fs/write_text_file once the user has accepted the change. It runs on a
// goroutine of its own. A file outside the folder is refused unasked.
func (c *Conversation) answerWriteFile(r *request) {
	var ask writeFileRequest
	err := decodeParams(r.params, &ask)
	if err == nil {
		_, err = c.agent.cfg.pathInFolder(ask.Path)
	}
	if err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, toolwords.Label(err.Error()))
		return
	}
	c.runInTurn(r, "The agent wants to write a file.", nil, func(t *turn) {
		if err := t.writeFile(r, ask); err != nil {
			r.refuse(jsonrpc2.CodeInternalError, toolwords.Label(err.Error()))
			return
		}
		r.sendResult(struct{}{})
	})
}

// writeFile writes a file that an agent gives, after asking the user unless a permission that they
// accepted has shown exactly this change. The error says that it is outside the folder, not
// allowed, or changed since.
func (t *turn) writeFile(r *request, ask writeFileRequest) error {
	cfg := t.c.agent.cfg
	path, err := cfg.resolvePath(ask.Path)
	if err != nil {
		return err
	}
	part := toolContent{Type: "diff", Path: path, NewText: ask.Content}
	switch old, err := cfg.readFile(path); {
	case err == nil:
		part.OldText = &old
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	write := func() error { return cfg.replaceFile(path, part.OldText, ask.Content) }
	if t.spendGrant(func(g grantedAction) bool {
		return g.path == path && g.text == ask.Content && sameText(g.old, part.OldText)
	}) {
		return write()
	}
	edit := &call{title: path, kind: "edit", content: []toolContent{part}}
	return t.askThenDo(r, edit, "Write "+words.Sentence(cfg.describePath(path)), write)
}

// sameText reports whether two texts of a file are the same; nil stands for no file.
func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// resolvePath returns a path in the folder with its links resolved, as far as it exists. A path
// that leads out of the folder is an error.
func (cfg Config) resolvePath(path string) (string, error) {
	absolute, err := cfg.pathInFolder(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(cfg.Folder)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		found, err := filepath.EvalSymlinks(absolute)
		switch {
		case err == nil:
			rel, err := filepath.Rel(folder, filepath.Join(found, rest))
			if err != nil || !filepath.IsLocal(rel) {
				return "", fmt.Errorf("acp: %s leads out of the folder %s", path, cfg.Folder)
			}
			return filepath.Join(cfg.Folder, rel), nil
		case !errors.Is(err, fs.ErrNotExist) || absolute == cfg.Folder:
			return "", err
		}
		absolute, rest = filepath.Dir(absolute), filepath.Join(filepath.Base(absolute), rest)
	}
}

// errMeanwhile is returned by replaceFile, and answered to the agent.
var errMeanwhile = errors.New("the file has changed since its text was compared; nothing was written")

// replaceFile replaces the text of a file in the folder, if its text is still old, where nil stands
// for no file; else the error is errMeanwhile. The path is one that resolvePath returned, and a
// link that has come into it since is errMeanwhile too. The new text is written beside the file and
// renamed.
func (cfg Config) replaceFile(path string, old *string, text string) error {
	root, name, err := cfg.openFolder(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	mode, err := fileMode(root, name)
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(name), ".aaep-"+rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer root.Remove(temporary) // which fails once it is renamed
	_, err = f.WriteString(text)
	if old != nil {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var now *string
	switch text, err := readRegularFile(root, name); {
	case err == nil:
		now = &text
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if !sameText(old, now) {
		return errMeanwhile
	}
	return root.Rename(temporary, name)
}

// A grantedAction is something that an accepted permission has shown: the change of a file, or a
// command.
type grantedAction struct {
	path, text string
	old        *string // what the file had, as the agent told it; nil is that there was none
	command    string
}

// fileMode returns the mode of a file in a folder, or that of a new file where there is none. A
// link at it, or on the way to it, is errMeanwhile.
func fileMode(root *os.Root, name string) (fs.FileMode, error) {
	mode := fs.FileMode(0o666) // less what the process masks
	for place := name; place != "."; place = filepath.Dir(place) {
		switch info, err := root.Lstat(place); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		case info.Mode()&fs.ModeSymlink != 0:
			return 0, errMeanwhile
		case place == name:
			mode = info.Mode().Perm()
		}
	}
	return mode, nil
}

// keepGrants records the changes, or the command, that the user allowed, so that the agent's
// request to do exactly that is not put again. A command that was too long to be announced whole is
// not recorded. The caller holds t.mu.
func (t *turn) keepGrants(allowed call) {
	if t.c.agent.cfg.Version2 { // which has its agents write and run by themselves
		return
	}
	for _, part := range allowed.content {
		if part.Type == "diff" {
			if path, err := t.c.agent.cfg.pathInFolder(part.Path); err == nil {
				t.grants = append(t.grants, grantedAction{path: path, text: part.NewText, old: part.OldText})
			}
		}
	}
	if allowed.kind == "execute" {
		for _, command := range []string{allowed.title, toolwords.Command(allowed.input)} {
			if command == "" {
				continue
			}
			if fitsQuestion(command) {
				t.grants = append(t.grants, grantedAction{command: command})
			}
			return
		}
	}
}

// spendGrant reports whether isGranted holds for a recorded grant, and removes that one: each
// permission counts once, and none counts after a stop or the turn's end. It takes t.mu.
func (t *turn) spendGrant(isGranted func(grantedAction) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, g := range t.grants {
		if isGranted(g) && !t.halted && !t.ended {
			t.grants = append(t.grants[:i:i], t.grants[i+1:]...)
			return true
		}
	}
	return false
}

// askThenDo asks the user whether action may be done, and calls do once they accept. The error is
// that of do, or says that the user did not allow it.
func (t *turn) askThenDo(r *request, c *call, action string, do func() error) error {
	t.mu.Lock()
	t.endText()
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(t.asking, cancel)()
	tool := c.asTool()
	tool.Risk, tool.Timeout = aaep.RiskHigh, t.c.agent.cfg.AnswerTime
	tool.Action, tool.Consequence = aaep.Say(words.Fit(action, maxToldBytes)),
		aaep.Say(words.Fit(c.describeConsequence(t.c.agent.cfg), maxToldBytes))
	var failed error
	err := t.putQuestion(ctx, r, &permission{call: c, about: *c}, func() error {
		_, err := t.s.Tool(ctx, tool, func(context.Context) (string, error) { failed = do(); return "", failed })
		if failed != nil { // which is no fault of the question
			return nil
		}
		return err
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut),
		errors.Is(err, producer.ErrUnreachable):
		return errors.New("the user did not allow it")
	}
	return err
}
