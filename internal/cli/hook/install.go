package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// An installable is an agent in whose settings hooks are written.
type installable struct {
	name string
	file func() (string, error)
	// entry is what stands in the list of an event; command is the command line.
	entry func(command string, asks bool) any
	// events are those that are reported. Those that may ask are open for long.
	events, asking []string
	pieces         string // the event of a piece of an answer; empty where there is none
	alone          string // what else is in a file that holds nothing but hooks; else empty
	heard, not     string
	after          string // what the user has to do yet
}

const (
	askingTime  = 3600 // seconds that a hook may take which asks: more than any question is open
	tellingTime = 10   // seconds that the others may take
)

// timeOf returns how long a hook may take, in seconds: one that asks the person waits for them.
func timeOf(asks bool) int {
	if asks {
		return askingTime
	}
	return tellingTime
}

// groupedEntry returns the function that makes an entry as Claude Code, Codex and Gemini CLI have
// it. unit is how many of the agent's units of time a second has.
func groupedEntry(unit int) func(string, bool) any {
	type command struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}
	return func(line string, asks bool) any {
		return struct {
			Hooks []command `json:"hooks"`
		}{[]command{{"command", line, timeOf(asks) * unit}}}
	}
}

const (
	heardAll  = "Your prompts, the tools it uses, its answers when they are whole, its helpers, and that it waits for you."
	askedAll  = " What it wants to be allowed is asked here, and your answer decides it."
	askedHere = " What can do harm is asked here before it runs; a no is obeyed"
)

var installables = map[string]installable{
	"claude": {
		name: "Claude Code", file: inHome("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), entry: groupedEntry(1),
		events: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
			"Notification", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd"},
		asking: []string{"PermissionRequest", "Elicitation"},
		heard:  heardAll + askedAll, not: "Its answers while they are written, what it thinks, its menus, and questions " +
			"with choices, which it asks in its own window.",
		after: "It counts for the terminal, the desktop app and VS Code, from the next start of Claude Code on.",
	},
	"codex": {
		name: "Codex", file: inHome("CODEX_HOME", ".codex", "hooks.json"), entry: groupedEntry(1),
		events: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart",
			"SubagentStop",
			"Stop"},
		asking: []string{"PermissionRequest"},
		heard:  heardAll + askedAll, not: "Its answers while they are written, what it thinks, and its menus.",
		after: "Codex runs a hook only after you have trusted it: start codex, type /hooks, and trust those of aaep; so " +
			"too after each change.",
	},
	"gemini": {
		name: "Gemini CLI", file: inHome("GEMINI_CLI_HOME", "", filepath.Join(".gemini", "settings.json")),
		entry:  groupedEntry(1000),
		events: []string{"SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "Notification", "SessionEnd"},
		asking: []string{"BeforeTool"}, pieces: "AfterModel",
		heard: heardAll + askedHere + ", and a yes lets it go on.",
		not: "Its answers while they are written, except with --pieces; what it thinks, and its menus. Without --yolo " +
			"it asks in its own window too.",
		after: "It counts from the next start of Gemini CLI on.",
	},
	"copilot": {
		name: "Copilot CLI", file: inHome("COPILOT_HOME", ".copilot", filepath.Join("hooks", "aaep.json")),
		alone: `"version": 1`,
		entry: func(line string, asks bool) any {
			return struct {
				Type    string `json:"type"`
				Bash    string `json:"bash"`
				Timeout int    `json:"timeoutSec"`
			}{"command", line, timeOf(asks)}
		},
		events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Notification",
			"SubagentStop", "Stop", "SessionEnd"},
		asking: []string{"PreToolUse"},
		heard: "Your prompts, the tools it uses, its helpers, that it waits for you, and that it is " +
			"done." + askedHere + ", and after a yes its own rules and its own question count.",
		not:   "Its answers, what it thinks, and its menus.",
		after: "It counts from the next start of Copilot CLI on.",
	},
	"crush": {
		name: "Crush", file: inHome("XDG_CONFIG_HOME", ".config", filepath.Join("crush", "crush.json")),
		entry: func(line string, asks bool) any {
			return struct {
				Name    string `json:"name"`
				Command string `json:"command"`
				Timeout int    `json:"timeout"`
			}{"aaep", line, timeOf(asks)}
		},
		asking: []string{"PreToolUse"},
		heard:  "The tools it uses." + askedHere + ", and a yes allows it.",
		not:    "Your prompts, its answers, that it is done, and what its helpers do: Crush has no hooks for them.",
		after:  "It counts from the next start of Crush on.",
	},
}

// inHome returns the function that finds a file of settings: in the folder that an environment
// variable names, if that is an absolute path, else in a folder of the user's home.
func inHome(variable, folder, name string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, name), nil
		}
		home, err := os.UserHomeDir()
		return filepath.Join(home, folder, name), err
	}
}

// Name is an agent as people know it.
func Name(agent string) string { return installables[agent].name }

// HasPieces reports whether an agent can report each piece of an answer.
func HasPieces(agent string) bool { return installables[agent].pieces != "" }

// Heard returns three sentences about an agent that has the hooks, for the person who installs
// them: what they will hear of it, what they will not, and what they have to do now.
func Heard(agent string) (heard, not, after string) {
	i := installables[agent]
	return i.heard, i.not, i.after
}

// File is where an agent has its settings.
func File(agent string) (string, error) { return installables[agent].file() }

// Printed returns what the settings of an agent need besides what is in them, for a person who
// edits them. pieces is as for Install.
func Printed(agent string, pieces bool) ([]byte, error) {
	line, err := commandLine(agent)
	if err != nil {
		return nil, err
	}
	return installables[agent].addHooks(line, pieces, nil)
}

// marker is in every command line of ours, and in no other.
const marker = " hook "

// commandLine is the command that an agent runs.
func commandLine(agent string) (string, error) {
	program, err := os.Executable()
	return shellWord(filepath.ToSlash(program)) + marker + agent, err // backslashes mean something else to a shell
}

// shellWord returns a word for a shell of Unix: in single quotes where it has other characters than
// letters, digits and /._-+:, else as it is.
func shellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+:", r))
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// A Change is what installing or removing does to a file of settings.
type Change struct {
	Path     string
	Backup   string // where the file is kept as it was; "" where there was none
	Old, New []byte // nil where there is no file
	before   []byte // the file without our hooks
	install  bool
	mode     fs.FileMode
}

// Same reports whether nothing changes.
func (c Change) Same() bool { return (c.Old == nil) == (c.New == nil) && bytes.Equal(c.Old, c.New) }

const backupEnding = ".before-aaep"

// Install plans the hooks of an agent in its settings; all else in them stays as it is, byte for
// byte. Pieces also reports each piece of an answer, where the agent can.
func Install(agent string, pieces bool) (Change, error) { return planChange(agent, true, pieces) }

// Remove plans to take them out. A file that was not changed since gets the bytes that it had
// before.
func Remove(agent string) (Change, error) { return planChange(agent, false, false) }

// planChange returns the change to the settings of an agent that installs the hook, or removes it,
// and writes nothing. Hooks of ours that are there are taken out first, so installing twice changes
// nothing. pieces also has the agent hand on its answers while it writes them.
func planChange(agent string, install, pieces bool) (c Change, err error) {
	i := installables[agent]
	if c.Path, err = i.file(); err != nil {
		return c, err
	}
	c.install = install
	if c.Old, c.mode, err = readSettings(c.Path); err != nil {
		return c, err
	}
	if c.before, err = i.removeHooks(agent, c.Old, c.Path+backupEnding); err != nil {
		return c, fmt.Errorf("%s is left alone: %w", c.Path, err)
	}
	if c.before != nil {
		c.Backup = c.Path + backupEnding
	}
	if c.New = c.before; !install {
		return c, nil
	}
	line, err := commandLine(agent)
	if err != nil {
		return c, err
	}
	if c.New, err = i.addHooks(line, pieces, c.before); err != nil {
		return c, fmt.Errorf("%s is left alone: %w", c.Path, err)
	}
	return c, nil
}

// addHooks returns settings with the hooks added; line is the command that each hook runs, pieces
// adds the one for pieces of answers, and base is nil where there are no settings.
func (i installable) addHooks(line string, pieces bool, base []byte) ([]byte, error) {
	if base == nil {
		base = []byte("{}\n")
		if i.alone != "" {
			base = []byte("{\n  " + i.alone + "\n}\n")
		}
	}
	events := slices.Concat(i.asking, i.events)
	if pieces && i.pieces != "" {
		events = append(events, i.pieces)
	}
	for n, event := range events {
		entry, err := json.Marshal(i.entry(line, n < len(i.asking)))
		if err != nil {
			return nil, err
		}
		if base, err = addEntry(base, event, entry); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// removeHooks returns settings without the hooks: the saved file at backup, to the byte, where the
// hooks added to that make these settings; nil where nothing else is in them, so that the file
// goes. Settings without hooks of ours come back unchanged, and nil as nil.
func (i installable) removeHooks(agent string, settings []byte, backup string) ([]byte, error) {
	if settings == nil {
		return nil, nil
	}
	lines, err := ourLines(settings, agent)
	if err != nil || len(lines) == 0 {
		return settings, err
	}
	saved, _, err := readSettings(backup)
	if err != nil {
		return nil, err
	}
	for _, pieces := range []bool{false, true} {
		if rebuilt, err := i.addHooks(lines[0], pieces, saved); err == nil && bytes.Equal(rebuilt, settings) {
			return saved, nil
		}
	}
	remaining, err := removeEntries(settings, agent)
	if err == nil && saved == nil && i.isEmpty(remaining) {
		remaining = nil
	}
	return remaining, err
}

// isEmpty reports whether settings hold nothing but what we begin them with.
func (i installable) isEmpty(settings []byte) bool {
	var none, all map[string]any
	json.Unmarshal([]byte("{"+i.alone+"}"), &none)
	return json.Unmarshal(settings, &all) == nil && reflect.DeepEqual(none, all)
}

// Installed returns the command line of the hooks in an agent's settings, or "" if there are none.
// Hooks that a setting switches off, and settings that cannot be read, are an error that says what
// to do.
func Installed(agent string) (line string, err error) {
	i := installables[agent]
	path, err := i.file()
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil { // reading changes nothing there
		path = target
	}
	settings, _, err := readSettings(path)
	if err != nil || settings == nil {
		return "", err
	}
	lines, err := ourLines(settings, agent)
	if len(lines) == 0 || err != nil {
		return "", err
	}
	if name := switchedOff(settings); name != "" {
		return "", fmt.Errorf("installed, and switched off by %s in %s. To use the hooks, take that out", name, path)
	}
	if agent == "claude" {
		if name, file := switchedOffAbove(); name != "" {
			return "", fmt.Errorf("installed, and switched off by %s in %s, which counts above your own settings. "+
				"To use the hooks, have that taken out", name, file)
		}
	}
	return lines[0], nil
}

// managedSettings are the settings of Claude Code by the machine's administrator.
var managedSettings = managedPath()

// managedPath returns the file by which an administrator of this system sets for Claude Code what
// users cannot change; it may not exist.
func managedPath() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		return `C:\Program Files\ClaudeCode\managed-settings.json`
	}
	return "/etc/claude-code/managed-settings.json"
}

// switchedOffAbove returns the setting by which Claude Code calls none of the user's hooks, and the
// file that it is in: one that counts above the user's own settings, of the administrator or of the
// folder where it is started.
func switchedOffAbove() (setting, path string) {
	for _, path := range []string{managedSettings, filepath.Join(".claude", "settings.local.json"),
		filepath.Join(".claude", "settings.json")} {
		settings, _, err := readSettings(path)
		if err != nil || settings == nil { // Claude Code says what is wrong with them
			continue
		}
		var managed struct {
			Only bool `json:"allowManagedHooksOnly"`
		}
		setting = switchedOff(settings)
		if json.Unmarshal(settings, &managed) == nil && managed.Only && path == managedSettings {
			setting = "allowManagedHooksOnly"
		}
		if setting != "" {
			return setting, path
		}
	}
	return "", ""
}

// switchedOff returns the name of the setting by which an agent calls none of the hooks in its
// settings, or "". Settings of another form switch nothing off.
func switchedOff(settings []byte) string {
	var s struct {
		Disabled bool `json:"disableAllHooks"` // of Claude Code
		Hooks    struct {
			Enabled *bool `json:"enabled"`
		} `json:"hooksConfig"` // of Gemini CLI
		Tools struct {
			Enabled *bool `json:"enableHooks"`
		} `json:"tools"` // of Gemini CLI, too
	}
	json.Unmarshal(settings, &s) // what is of another type switches nothing off
	switch {
	case s.Disabled:
		return "disableAllHooks"
	case s.Hooks.Enabled != nil && !*s.Hooks.Enabled:
		return "hooksConfig.enabled"
	case s.Tools.Enabled != nil && !*s.Tools.Enabled:
		return "tools.enableHooks"
	}
	return ""
}

const maxSettings = 4 << 20

// readSettings reads a file of settings and its mode; nil and 0600 where there is no file. Anything
// but a plain file of at most maxSettings bytes is an error; so is a symbolic link, which could
// lead to what is none of the agent's.
func readSettings(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o600, nil
	case err != nil:
		return nil, 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, fmt.Errorf("%s is left alone: it is a symbolic link. Add what --print shows to the file that it "+
			"leads to", path)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is left alone: it is no file", path)
	case info.Size() > maxSettings:
		return nil, 0, fmt.Errorf("%s is left alone: it is longer than %d MiB", path, maxSettings>>20)
	}
	data, err := os.ReadFile(path)
	return data, info.Mode().Perm(), err
}

// Apply writes the planned change, or returns an error if the file is not as it was when it was
// planned. An installation keeps a copy of a file that was there beside it; a removal takes the
// copy away.
func (c Change) Apply() error {
	now, _, err := readSettings(c.Path)
	switch {
	case err != nil:
		return err
	case (now == nil) != (c.Old == nil) || !bytes.Equal(now, c.Old):
		return fmt.Errorf("%s has just been changed by another program; try again", c.Path)
	case c.Same():
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	backup := c.Path + backupEnding
	keepsBackup := c.install && c.before != nil
	if keepsBackup {
		err = lockfile.WriteWhole(backup, c.before, c.mode)
	}
	switch {
	case err != nil:
		return err
	case c.New == nil:
		err = os.Remove(c.Path)
	default:
		err = lockfile.WriteWhole(c.Path, c.New, c.mode)
	}
	if err == nil && !keepsBackup {
		if err = os.Remove(backup); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// Unit returns the text of a unit of systemd for the user, which runs the server for good. "aaep
// hook serve --print-unit" prints it.
func Unit() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`[Unit]
Description=Coding agents for assistive technology (AAEP)

[Service]
ExecStart=%s hook serve
Restart=on-failure

[Install]
WantedBy=default.target
`, strings.ReplaceAll(shellWord(program), "%", "%%")), nil
}
