package hook_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/realtest"
)

// codexProgram returns the real Codex, as npm has it.
func codexProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("Codex is large: make test-all runs it")
	}
	codex := npmtest.Install(t, "testdata/codex", "--include=optional")
	found, err := filepath.Glob(filepath.Join(codex, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) != 1 {
		realtest.Missing(t, "npm has no Codex for this system: %v %v", found, err)
	}
	return found[0]
}

// A codex is "codex app-server", whose client this is, as an editor is.
type codex struct {
	t     testing.TB
	in    io.Writer
	lines *bufio.Reader
	asked int // requests for approval, each of which is declined
}

type rpc struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func (c *codex) sendMessage(m rpc) {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// awaitMessage reads messages until one is as it should be, and declines what is asked for in
// between.
func (c *codex) awaitMessage(is func(rpc) bool) rpc {
	for {
		line, err := c.lines.ReadBytes('\n')
		var m rpc
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err != nil {
			c.t.Fatalf("Codex has ended: %v %s", err, line)
		}
		if strings.HasSuffix(m.Method, "requestApproval") {
			c.asked++
			c.sendMessage(rpc{ID: m.ID, Result: json.RawMessage(`{"decision":"decline"}`)})
		}
		if is(m) {
			return m
		}
	}
}

func (c *codex) callMethod(id int, method string, params, result any) {
	c.t.Helper()
	key := json.RawMessage(fmt.Sprint(id))
	c.sendMessage(rpc{ID: key, Method: method, Params: params})
	m := c.awaitMessage(func(m rpc) bool { return m.Method == "" && bytes.Equal(m.ID, key) })
	if m.Error != nil {
		c.t.Fatalf("%s: %s", method, m.Error)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		c.t.Fatal(err)
	}
}

// The real Codex, with a model of ours and hooks that our command has installed and that are
// trusted as with /hooks: a yes deletes the file and a no keeps it, and Codex asks no other client;
// where no person listens it asks its own client.
func TestCodex(t *testing.T) {
	program := codexProgram(t)
	h := newHome(t)
	if _, errs, code := h.runCommand("", "hook", "install", "codex"); code != 0 {
		t.Fatal(errs)
	}
	h.startServer()
	for _, c := range []struct {
		name   string
		answer func(*person, *aaep.Event)
		there  bool
		asked  int
	}{{"accept", replyWith(aaep.Accept), false, 0}, {"reject", replyWith(aaep.Reject), true, 0}, {"nobody", nil, true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			folder := t.TempDir()
			file := filepath.Join(folder, "report.txt")
			if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
				t.Fatal(err)
			}
			var who *person
			if c.answer != nil {
				who = h.followServer(c.answer)
			}
			asked := h.runCodex(program, folder)
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) == c.there {
				t.Errorf("the file: %v", err)
			}
			if asked != c.asked {
				t.Errorf("Codex asks its own client %d times, want %d", asked, c.asked)
			}
			if who == nil {
				return
			}
			who.awaitHeard(t, "I have looked after it.")
			who.mu.Lock()
			defer who.mu.Unlock()
			if len(who.asked) != 1 || !strings.HasSuffix(who.asked[0].Action, `Run the command "rm report.txt".`) {
				t.Errorf("asked %+v", who.asked)
			}
		})
	}
}

// runCodex has Codex delete a file in a folder, and returns how often it asked its own client.
func (h *home) runCodex(program, folder string) (asked int) {
	t := h.t
	model := fakemodel.New(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "c1", Name: "exec_command",
		Args: `{"cmd":"rm report.txt"}`}}}, fakemodel.Answer{Says: []string{"I have looked after it."}})
	at := httptest.NewServer(model)
	defer at.Close()
	dir := filepath.Join(h.dir, ".codex")
	config := fmt.Sprintf("model = \"none\"\nmodel_provider = \"none\"\n[model_providers.none]\nname = "+
		"\"none\"\nbase_url = \"%s/v1\"\nwire_api = \"responses\"\n", at.URL)
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "app-server")
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, append(h.env, "CODEX_HOME="+dir), 10*time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer func() { late.Stop(); cmd.Process.Kill(); cmd.Wait() }()
	c := &codex{t: t, in: in, lines: bufio.NewReader(out)}
	var ignored any
	c.callMethod(1, "initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "title": "test",
		"version": "1"}}, &ignored)
	c.sendMessage(rpc{Method: "initialized"})
	var list struct {
		Data []struct {
			Hooks []struct {
				Key     string
				Hash    string `json:"currentHash"`
				Command string
			}
		}
	}
	c.callMethod(2, "hooks/list", map[string]any{"cwds": []string{folder}}, &list)
	trusted := map[string]any{}
	for _, d := range list.Data {
		for _, one := range d.Hooks {
			trusted[one.Key] = map[string]any{"trusted_hash": one.Hash}
		}
	}
	if len(trusted) < 7 {
		t.Fatalf("Codex finds %d hooks", len(trusted))
	}
	c.callMethod(3, "config/batchWrite", map[string]any{"edits": []any{map[string]any{"keyPath": "hooks.state",
		"value": trusted, "mergeStrategy": "upsert"}}, "reloadUserConfig": true}, &ignored)
	var started struct{ Thread struct{ ID string } }
	c.callMethod(4, "thread/start", map[string]any{"cwd": folder, "approvalPolicy": "untrusted",
		"sandbox": "danger-full-access"}, &started)
	c.callMethod(5, "turn/start", map[string]any{"threadId": started.Thread.ID, "input": []any{map[string]any{"type": "text",
		"text": "Delete the old report."}}}, &ignored)
	c.awaitMessage(func(m rpc) bool { return m.Method == "turn/completed" })
	return c.asked
}

// What the hooks of Codex take and give is as the schemas say that are in the program itself.
func TestCodexSchemas(t *testing.T) {
	program := codexProgram(t)
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	h.startServer()
	for _, c := range []struct {
		answer func(*person, *aaep.Event)
		want   string
	}{{replyWith(aaep.Accept), `"allow"`}, {replyWith(aaep.Reject), `"deny"`}} {
		who := h.followServer(c.answer)
		input := `{"session_id":"s1","turn_id":"t1","transcript_path":null,"cwd":"/srv/plans","hook_event_name":"PermissionRequest","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"rm report.txt"}}`
		if err := codexSchema(t, data, "permission-request.command.input").Validate(decodeInto(t, input)); err != nil {
			t.Errorf("the input: %v", err)
		}
		out, errs, code := h.runCommand(input, "hook", "codex")
		if code != 0 || !strings.Contains(out, c.want) {
			t.Fatalf("%d %s %s", code, out, errs)
		}
		if err := codexSchema(t, data, "permission-request.command.output").Validate(decodeInto(t, out)); err != nil {
			t.Errorf("the output: %v", err)
		}
		who.sub.Close()
	}
}

func decodeInto(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// codexSchema returns the schema with a title that is in the program.
func codexSchema(t *testing.T, program []byte, title string) *jsonschema.Schema {
	t.Helper()
	at := bytes.Index(program, []byte(`"title": "`+title+`"`))
	if at < 0 {
		t.Fatalf("Codex has no schema %s", title)
	}
	begin := bytes.LastIndex(program[:at], []byte("{\n  \"$schema\""))
	var whole json.RawMessage
	if begin < 0 || json.NewDecoder(bytes.NewReader(program[begin:])).Decode(&whole) != nil {
		t.Fatalf("the schema %s cannot be read", title)
	}
	compiler := jsonschema.NewCompiler()
	err := compiler.AddResource(title+".json", decodeInto(t, string(whole)))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(title + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
