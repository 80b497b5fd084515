package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
)

// In the folder, and nowhere else, files are read and written and commands run for the agent. What
// an accepted permission has shown is done once without another question; anything else is asked
// about as it is.
func TestFilesAndTerminals(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{filepath.Join(folder, "a.txt"): "one\ntwo\nthree\n",
		filepath.Join(outside, "secret"): "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Skip(err)
	}
	os.Mkdir(filepath.Join(folder, "sub"), 0o700)
	os.Symlink("sub", filepath.Join(folder, "near"))
	os.Symlink(outside, filepath.Join(folder, "away"))
	at := func(name string) string { return filepath.Join(folder, name) }
	const yes = `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`
	edit := fmt.Sprintf(`{"toolCallId":"e","title":"b.txt","kind":"edit","content":[{"type":"diff","path":%q,"newText":"new\n"}]}`, at("b.txt"))
	fresh := fmt.Sprintf(`{"toolCallId":"e","title":"a.txt","kind":"edit","content":[{"type":"diff","path":%q,"newText":"x\n"}]}`, at("a.txt"))
	other := fmt.Sprintf(`{"toolCallId":"e","title":"a.txt","kind":"edit","content":[{"type":"diff","path":%q,"oldText":"y\n","newText":"x\n"}]}`, at("a.txt"))
	for _, tc := range []struct {
		name     string
		first    string // a permission that is asked for, and allowed
		method   string
		params   string
		decision aaep.Decision
		want     string // of the result, or "error"
		asked    string // what the person was asked beside the first
	}{
		{"a file", "", "fs/read_text_file", fmt.Sprintf(`"path":%q`, at("a.txt")), "",
			"map[content:one\ntwo\nthree\n]", ""},
		{"a part of it", "", "fs/read_text_file", fmt.Sprintf(`"path":%q,"line":2,"limit":1`, at("a.txt")), "",
			"map[content:two\n]", ""},
		{"a part that is not there", "", "fs/read_text_file",
			fmt.Sprintf(`"path":%q,"line":-5,"limit":-1`, at("a.txt")), "", "map[content:]", ""},
		{"a file elsewhere", "", "fs/read_text_file", fmt.Sprintf(`"path":%q`, filepath.Join(outside, "secret")), "",
			"error", ""},
		{"by way of the folder above", "", "fs/read_text_file",
			fmt.Sprintf(`"path":%q`, folder+"/../"+filepath.Base(outside)+"/secret"), "", "error", ""},
		{"by a link", "", "fs/read_text_file", fmt.Sprintf(`"path":%q`, at("link")), "", "error", ""},
		{"writing by a link", "", "fs/write_text_file", fmt.Sprintf(`"path":%q,"content":"x"`, at("link")),
			aaep.Accept, "error", ""},
		{"writing", "", "fs/write_text_file", fmt.Sprintf(`"path":%q,"content":"one\n2\nthree\n"`, at("a.txt")),
			aaep.Accept, "map[]", "Write a.txt. In a.txt: 1 line added, 1 removed."},
		{"writing that is refused", "", "fs/write_text_file", fmt.Sprintf(`"path":%q,"content":"x"`, at("c.txt")),
			aaep.Reject, "error", "Write c.txt. In c.txt: a new file, 1 line."},
		{"writing what was accepted", edit, "fs/write_text_file",
			fmt.Sprintf(`"path":%q,"content":"new\n"`, at("b.txt")), aaep.Accept, "map[]", ""},
		{"writing something else", edit, "fs/write_text_file",
			fmt.Sprintf(`"path":%q,"content":"evil\n"`, at("b.txt")), aaep.Reject, "error",
			"Write b.txt. In b.txt: 1 line added, 1 removed."},
		{"overwriting what was told as new", fresh, "fs/write_text_file",
			fmt.Sprintf(`"path":%q,"content":"x\n"`, at("a.txt")), aaep.Reject, "error",
			"Write a.txt. In a.txt: 1 line added, 3 removed."},
		{"overwriting another text than was told", other, "fs/write_text_file",
			fmt.Sprintf(`"path":%q,"content":"x\n"`, at("a.txt")), aaep.Reject, "error",
			"Write a.txt. In a.txt: 1 line added, 3 removed."},
		{"a command", "", "terminal/create", `"command":"cat","args":["a.txt"]`, aaep.Accept,
			"map[terminalId:terminal-1]", `Run the command "cat a.txt". In the folder `},
		{"a command that is refused", "", "terminal/create", `"command":"rm","args":["a.txt"]`, aaep.Reject, "error",
			`Run the command "rm a.txt". In the folder `},
		{"a command that was accepted", `{"toolCallId":"x","title":"cat a.txt","kind":"execute"}`, "terminal/create",
			`"command":"cat a.txt"`, aaep.Reject, "map[terminalId:terminal-1]", ""},
		{"another command", `{"toolCallId":"x","title":"cat a.txt","kind":"execute"}`, "terminal/create",
			`"command":"cat","args":["a.txt link"]`, aaep.Reject, "error", `Run the command "cat 'a.txt link'".`},
		{"a command elsewhere", "", "terminal/create", fmt.Sprintf(`"command":"ls","cwd":%q`, outside), aaep.Accept,
			"error", ""},
		{"a command in a folder elsewhere, by a link", "", "terminal/create", `"command":"ls","cwd":"away"`,
			aaep.Accept, "error", ""},
		{"a command in a folder by a link", "", "terminal/create", `"command":"ls","cwd":"near"`, aaep.Reject, "error",
			"In the folder " + at("sub") + "."},
		{"a word that is no pattern", "", "terminal/create", `"command":"rm","args":["*"]`, aaep.Reject, "error",
			`Run the command "rm '*'".`},
		{"a pattern of a shell", "", "terminal/create", `"command":"sh","args":["-c","rm *"]`, aaep.Reject, "error",
			`Run the command "sh -c 'rm *'".`},
		{"a pattern that was not accepted", `{"toolCallId":"x","title":"cat *","kind":"execute"}`, "terminal/create",
			`"command":"cat","args":["*"]`, aaep.Reject, "error", `Run the command "cat '*'".`},
		{"a word with letters that deceive", "", "terminal/create", `"command":"rm","args":["a\u202etxt.b"]`,
			aaep.Reject, "error", `Run the command ""rm a\u202etxt.b"".`},
		{"a command with a long setting", "", "terminal/create",
			`"command":"env","env":[{"name":"A","value":"` + strings.Repeat("x", 4000) + `"}]`, aaep.Accept, "error",
			""},
		{"a command that is too long", "", "terminal/create",
			`"command":"echo","args":["` + strings.Repeat("x", 4000) + `"]`, aaep.Accept, "error", ""},
		{"a command that was accepted and is too long", `{"toolCallId":"x","title":"echo ` + strings.Repeat("x", 4000) +
			`","kind":"execute"}`, "terminal/create", `"command":"echo ` + strings.Repeat("x", 4000) + `"`, aaep.Accept,
			"error", ""},
		{"a setting that passes for two", "", "terminal/create",
			`"command":"env","env":[{"name":"A","value":"a\". With B set to \"b"}]`, aaep.Reject, "error",
			`With A set to "a\". With B set to \"b".`},
		{"a command with settings", "", "terminal/create",
			`"command":"env","env":[{"name":"LD_PRELOAD","value":"x.so"}]`, aaep.Reject, "error",
			`With LD_PRELOAD set to "x.so".`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, asked, printed := "", []string{}, ""
				turn := func(a *scriptedAgent, _ string) string {
					if tc.first != "" {
						a.askPermission(`"first"`, tc.first, yes)
					}
					a.send(`{"jsonrpc":"2.0","id":"r","method":%q,"params":{"sessionId":"s1",%s}}`, tc.method,
						tc.params)
					m := a.awaitResponse(`"r"`)
					if got = "error"; m["error"] == nil {
						got = fmt.Sprint(m["result"])
					}
					if strings.Contains(got, "terminal-1") {
						for _, method := range []string{"wait_for_exit", "output", "release"} {
							a.send(`{"jsonrpc":"2.0","id":%q,"method":"terminal/%s","params":{"sessionId":"s1","terminalId":"terminal-1"}}`, method, method)
							line, _ := json.Marshal(a.awaitResponse(fmt.Sprintf("%q", method))["result"])
							printed += string(line)
						}
					}
					return "end_turn"
				}
				decide := func(p *person, ev *aaep.Event) {
					if tc.first != "" && len(asked) == 0 {
						asked = append(asked, "")
						p.sub.Question(ev).Accept(context.Background())
						return
					}
					asked = append(asked, strings.TrimPrefix(eventWords(ev), "Confirm: "))
					replies.Send(context.Background(), p.sub.Question(ev), tc.decision, nil)
				}
				f := newFixture(t, folder, turn, decide)
				f.talk.Prompt(t.Context(), "Go on.")
				waitTenSeconds()
				if got != tc.want {
					t.Errorf("answered %q, want %q", got, tc.want)
				}
				if said := strings.Join(asked, ""); !strings.Contains(said, tc.asked) || tc.asked == "" && said != "" {
					t.Errorf("asked %q, want %q", said, tc.asked)
				}
				if printed != "" && (!strings.Contains(printed, "three") ||
					!strings.Contains(printed, `"exitCode":0`)) {
					t.Errorf("the terminal says %s", printed)
				}
			})
		})
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("the file elsewhere is %q, %v", text, err)
	}
}
