package hook

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/hook/call"
)

// ownHome gives each agent a home of its own for a test, and returns that of its settings.
func ownHome(t *testing.T, agent string) (path string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME",
		"XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	path, err := installables[agent].file()
	if err != nil || !strings.HasPrefix(path, home) {
		t.Fatalf("%s %v", path, err)
	}
	return path
}

func applyChange(t *testing.T, plan func(string) (Change, error), agent string) Change {
	t.Helper()
	c, err := plan(agent)
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	return string(data)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

var settings = []string{
	"none", "{}", "{}\n", "{ }", "{\n}\n", `{"theme":"dark"}`, "{\n  \"theme\": \"dark\"\n}\n",
	"{\n\t\"theme\": \"dark\",\n\t\"hooks\": {}\n}",
	"{\r\n  \"theme\": \"dark\"\r\n}\r\n", "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\"hooks\": []}\r\n\t\t]\r\n\t}\r\n}",
	`{"hooks":{"PreToolUse":[],"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]},"a":[1, 2 ,3]}`,
	"{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \"Bash\", \"command\": \"mine\", " +
		"\"hooks\": [{\"command\": \"my-tool hook claude\"}]}\n        ],\n        \"BeforeTool\": [ ]\n    }   ,\n\n    " +
		"\"z\" : 1.0e3,   \"u\": \"\\u00e9\\/\"\n}\n\n",
}

// Whatever the settings are, installing keeps all that is in them, twice is as once, and removing
// gives back every byte.
func TestInstall(t *testing.T) {
	for _, agent := range append(slices.Clone(call.Agents), "gemini in pieces") {
		agent, pieces := strings.CutSuffix(agent, " in pieces")
		install := func(agent string) (Change, error) { return Install(agent, pieces) }
		for _, before := range settings {
			path := ownHome(t, agent)
			if before != "none" {
				writeText(t, path, before)
			}
			applyChange(t, install, agent)
			installed := readText(t, path)
			checkKept(t, agent, before, installed)
			if n := strings.Count(installed, "\n"); strings.Contains(before, "\r\n") && strings.Count(installed, "\r\n") != n {
				t.Errorf("%s in %q: %q has two kinds of line breaks", agent, before, installed)
			}
			if line, err := Installed(agent); line == "" || err != nil {
				t.Errorf("%s in %q: not installed, %v", agent, before, err)
			}
			if c := applyChange(t, install, agent); !c.Same() || readText(t, path) != installed {
				t.Errorf("%s in %q: twice is %s", agent, before, readText(t, path))
			}
			if before != "none" && readText(t, path+backupEnding) != before {
				t.Errorf("%s in %q: kept as %q", agent, before, readText(t, path+backupEnding))
			}
			applyChange(t, Remove, agent)
			if got := readText(t, path); got != before {
				t.Errorf("%s: %q comes back as %q", agent, before, got)
			}
			if got := readText(t, path+backupEnding); got != "none" {
				t.Errorf("%s in %q: the backup stays", agent, before)
			}
			if c := applyChange(t, Remove, agent); !c.Same() {
				t.Errorf("%s in %q: removed twice", agent, before)
			}
			if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o640 {
				t.Errorf("%s: the mode is %v", agent, info.Mode())
			}
		}
	}
}

// checkKept checks that settings with hooks are those before, and hooks for each event.
func checkKept(t *testing.T, agent, before, installed string) {
	t.Helper()
	var was, is map[string]any
	if before == "none" {
		before = "{" + installables[agent].alone + "}"
	}
	if err := json.Unmarshal([]byte(before), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(installed), &is); err != nil {
		t.Fatalf("%s: %v in %s", agent, err, installed)
	}
	old, _ := was["hooks"].(map[string]any)
	hooks := is["hooks"].(map[string]any)
	i := installables[agent]
	for _, event := range append(i.asking, i.events...) {
		list := hooks[event].([]any)
		theirs, _ := old[event].([]any)
		if len(list) != len(theirs)+1 || len(theirs) > 0 && !reflect.DeepEqual(list[:len(theirs)], theirs) {
			t.Errorf("%s: %s is %v", agent, event, list)
		}
		delete(hooks, event)
	}
	delete(hooks, i.pieces)
	for event := range hooks {
		if !reflect.DeepEqual(hooks[event], old[event]) {
			t.Errorf("%s: %s is %v", agent, event, hooks[event])
		}
	}
	delete(is, "hooks")
	delete(was, "hooks")
	if !reflect.DeepEqual(is, was) {
		t.Errorf("%s: %v is left of %v", agent, is, was)
	}
}

// What a user changes after the installation stays when the hooks are taken out, also within a
// group of ours.
func TestChangedSince(t *testing.T) {
	path := ownHome(t, "claude")
	writeText(t, path, "{\n  \"theme\": \"dark\"\n}\n")
	applyChange(t, func(agent string) (Change, error) { return Install(agent, false) }, "claude")
	text := strings.Replace(readText(t, path), `"dark"`, `"light"`, 1)
	mine := `{"type": "command", "command": "mine"}, `
	text = strings.Replace(text, "{\n            \"type\": \"command\"", mine+"{\n            \"type\": \"command\"", 1)
	if !strings.Contains(text, mine) {
		t.Fatal(text)
	}
	writeText(t, path, text)
	applyChange(t, Remove, "claude")
	var is map[string]any
	if err := json.Unmarshal([]byte(readText(t, path)), &is); err != nil {
		t.Fatal(err)
	}
	hooks, _ := is["hooks"].(map[string]any)
	if is["theme"] != "light" || len(hooks) != 1 || !strings.Contains(readText(t, path),
		mine[:20]) || strings.Contains(readText(t, path), marker) {
		t.Errorf("left is %s", readText(t, path))
	}
}

// Hooks of a user's that run more than our command are theirs, and stay.
func TestUsersOwn(t *testing.T) {
	for line, want := range map[string]bool{
		"aaep hook claude": true, "/usr/bin/aaep hook claude": true, `"/opt/two words/aaep" hook claude`: true,
		"'/opt/two words/aaep' hook claude": true, `'/opt/a'\''b/aaep' hook claude`: true, "C:/aaep.exe hook claude": true,
		"aaep hook codex": false, "my-aaep hook claude": false, "say done; /usr/bin/aaep hook claude": false,
		"log /usr/bin/aaep hook claude": false, "env A=1 aaep hook claude": false, `"a" && "/b/aaep" hook claude`: false,
		"'a';'/b/aaep' hook claude": false, "$(say done)/aaep hook claude": false, `"$(say done)/aaep" hook claude`: false,
	} {
		if isOurs(line, "claude") != want {
			t.Errorf("%s: ours is %v", line, !want)
		}
		if want {
			continue
		}
		path := ownHome(t, "claude")
		text, _ := json.Marshal(line)
		before := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":` + string(text) + `}]}]}}`
		writeText(t, path, before)
		applyChange(t, func(agent string) (Change, error) { return Install(agent, false) }, "claude")
		os.Remove(path + backupEnding) // the backup cannot be what gives it back
		applyChange(t, Remove, "claude")
		if got := readText(t, path); got != before {
			t.Errorf("%s: left is %s", line, got)
		}
	}
}

// Settings that count above the user's own and switch the hooks off are named.
func TestSwitchedOffAbove(t *testing.T) {
	administrators := managedSettings
	defer func() { managedSettings = administrators }()
	for _, c := range []struct{ file, text, setting string }{
		{"managed.json", `{"disableAllHooks":true}`, "disableAllHooks"},
		{"managed.json", `{"allowManagedHooksOnly":true}`, "allowManagedHooksOnly"},
		{filepath.Join(".claude", "settings.local.json"), `{"disableAllHooks":true}`, "disableAllHooks"},
		{filepath.Join(".claude", "settings.json"), `{"disableAllHooks":true}`, "disableAllHooks"},
		{filepath.Join(".claude", "settings.json"), `{"allowManagedHooksOnly":true}`, ""}, // which is for administrators
		{filepath.Join(".claude", "settings.json"), `{`, ""},
	} {
		ownHome(t, "claude")
		change, err := Install("claude", false)
		if err == nil {
			err = change.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		managedSettings = "managed.json"
		writeText(t, c.file, c.text)
		line, err := Installed("claude")
		if c.setting == "" && (line == "" || err != nil) || c.setting != "" &&
			(err == nil || !strings.Contains(err.Error(), "switched off by "+c.setting+" in "+c.file+", which counts above your own")) {
			t.Errorf("%s in %s: %q, %v", c.text, c.file, line, err)
		}
	}
}

// Settings that are not as they should be are left alone, and why is said.
func TestLeftAlone(t *testing.T) {
	for text, why := range map[string]string{
		"{\n  \"a\": 1,\n  // mine\n}": "has comments: line 3: ",
		"":                             "not valid JSON", "{": "not valid JSON", "// mine\n{}": "not valid JSON", "{} x": "not valid JSON",
		"[]":           "not as they should be",
		`{"hooks":[]}`: "not as they should be", `{"hooks":{"PreToolUse":{}}}`: "not as they should be",
		`{"a":1,"a":2}`: "not valid JSON", "\xff": "not valid JSON",
	} {
		for _, agent := range []string{"claude", "crush"} {
			path := ownHome(t, agent)
			writeText(t, path, text)
			if _, err := Install(agent, false); err == nil || !strings.Contains(err.Error(),
				why) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q: %v", text, err)
			}
			if readText(t, path) != text || readText(t, path+backupEnding) != "none" {
				t.Errorf("%q was changed", text)
			}
		}
	}
	path := ownHome(t, "claude")
	target := filepath.Join(t.TempDir(), "target")
	writeText(t, target, "{}")
	writeText(t, filepath.Join(filepath.Dir(path), "x"), "")
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	if _, err := Install("claude", false); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
	if readText(t, target) != "{}" {
		t.Error("what the link leads to was changed")
	}
}

// Settings that another program changes in between are not overwritten.
func TestChangedMeanwhile(t *testing.T) {
	path := ownHome(t, "claude")
	writeText(t, path, "{}")
	c, err := Install("claude", false)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, path, `{"a":1}`)
	if err := c.Apply(); err == nil || !strings.Contains(err.Error(), "just been changed") {
		t.Error(err)
	}
	if readText(t, path) != `{"a":1}` {
		t.Error("it was overwritten")
	}
}

// A path that a shell would take apart is quoted.
func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"/usr/bin/aaep": "/usr/bin/aaep",
		"/opt/two words/aaep": "'/opt/two words/aaep'", "a'b": `'a'\''b'`, "": "''", "$x": "'$x'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}

// Any settings come back, byte for byte.
func FuzzInstall(f *testing.F) {
	for _, text := range settings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		for _, agent := range []string{"claude", "crush"} {
			with, err := installables[agent].addHooks("/bin/aaep hook "+agent, false, before)
			if err != nil || len(before) == 0 {
				continue
			}
			if lines, err := ourLines(with, agent); err != nil || len(lines) == 0 {
				t.Fatalf("%q becomes %q: %v", before, with, err)
			}
			if lines, err := ourLines(before, agent); err != nil || len(lines) > 0 {
				continue
			}
			left, err := removeEntries(with, agent)
			if err != nil {
				t.Fatalf("%q is left as %q: %v", before, left, err)
			}
			if lines, _ := ourLines(left, agent); len(lines) > 0 || bytes.Contains(left,
				[]byte("/bin/aaep")) && !bytes.Contains(before, []byte("/bin/aaep")) {
				t.Fatalf("%q is left as %q", before, left)
			}
		}
	})
}
