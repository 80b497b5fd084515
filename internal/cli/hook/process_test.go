package hook_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	prompts = `{"session_id":"s1","cwd":"/srv/plans","hook_event_name":"UserPromptSubmit","prompt":"Delete the old report."}`
	asks    = `{"session_id":"s1","cwd":"/srv/plans","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm report.txt"}}`
)

// awaitOutput waits until what a process prints has a pattern, and returns its groups.
func awaitOutput(t *testing.T, out *locked, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if groups := re.FindStringSubmatch(out.String()); groups != nil {
			return groups
		}
		if time.Now().After(late) {
			t.Fatalf("it has not printed %q, but\n%s", pattern, out)
		}
	}
}

// stopServer ends the server that a hook has started.
func (h *home) stopServer() {
	h.t.Cleanup(func() {
		for _, pid := range h.serverProcesses() {
			exec.Command("kill", pid).Run()
		}
	})
}

// serverProcesses returns the process ids of the servers that were started in this home.
func (h *home) serverProcesses() (servers []string) {
	pids, _ := exec.Command("pgrep", "-f", "hook serve --idle").Output()
	for _, pid := range strings.Fields(string(pids)) {
		env, _ := os.ReadFile("/proc/" + pid + "/environ")
		if bytes.Contains(env, []byte("XDG_RUNTIME_DIR="+filepath.Join(h.dir, "run")+"\x00")) {
			servers = append(servers, pid)
		}
	}
	return servers
}

// The whole way of a new user: install, listen without an address, be asked, say yes; no server has
// to be started.
func TestListenWithoutAddress(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	if out, errs, code := h.runCommand("", "hook", "install", "claude"); code != 0 {
		t.Fatal(out, errs)
	}
	listen := h.newCommand("listen", "--settings", os.DevNull)
	var heard locked
	listen.Stdout, listen.Stderr = &heard, &heard
	keys, err := listen.StdinPipe()
	if err == nil {
		err = listen.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { listen.Process.Kill(); listen.Wait() }()
	awaitOutput(t, &heard, "Following Coding agents")
	if out, errs, code := h.runCommand("", "hook", "status"); code != 0 || !strings.Contains(out,
		"Claude Code: installed, and works.") || !strings.Contains(out, "The server runs, with 1 listener.") {
		t.Errorf("status ends with %d: %s%s", code, out, errs)
	}
	if out, errs, code := h.runCommand(prompts, "hook", "claude"); out != "" || code != 0 {
		t.Errorf("%q %s %d", out, errs, code)
	}
	awaitOutput(t, &heard, `Claude Code in plans: Delete the old report\.`)
	hook := h.newCommand("hook", "claude")
	var printed locked
	hook.Stdin, hook.Stdout = strings.NewReader(asks), &printed
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	word := awaitOutput(t, &heard, `Type (\w+) to accept`)[1]
	for !strings.Contains(heard.String(), "Answer sent: "+
		"accept.") { // an answer that comes too soon for the question to be read is none
		io.WriteString(keys, word+"\n")
		time.Sleep(200 * time.Millisecond)
	}
	if err := hook.Wait(); err != nil {
		t.Error(err)
	}
	if got := printed.String(); got != `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`+"\n" {
		t.Errorf("the hook prints %q", got)
	}
	trail, errs, code := h.runCommand("", "audit", "show", filepath.Join(h.dir, "state", "aaep", "hook.trail"))
	if code != 0 || !strings.Contains(trail, "rm report.txt") {
		t.Errorf("the trail: %d %s%s", code, trail, errs)
	}
	if out, errs, code := h.runCommand("", "hook", "install", "--remove", "claude"); code != 0 {
		t.Error(out, errs)
	}
	if left, err := os.ReadDir(filepath.Join(h.dir, ".claude")); len(left) > 0 {
		t.Errorf("left is %v %v", left, err)
	}
}

// A server that was killed is started again by who listens, though no hook is called; that
// something may be missing is said.
func TestServerKilledUnderAListener(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	listen := h.newCommand("listen", "--settings", os.DevNull)
	var heard locked
	listen.Stdout, listen.Stderr = &heard, &heard
	if _, err := listen.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { listen.Process.Kill(); listen.Wait() }()
	awaitOutput(t, &heard, "Following Coding agents")
	if out, errs, code := h.runCommand(prompts, "hook", "claude"); out != "" || code != 0 {
		t.Fatal(out, errs)
	}
	awaitOutput(t, &heard, `Claude Code in plans: Delete the old report\.`)
	first := h.serverProcesses()
	if len(first) != 1 {
		t.Fatalf("the servers are %v", first)
	}
	if err := exec.Command("kill", "-9", first[0]).Run(); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, &heard, "may be missing")
	if now := h.serverProcesses(); len(now) != 1 || now[0] == first[0] {
		t.Errorf("the servers are %v, before %v", now, first)
	}
	if out, errs, _ := h.runCommand("", "hook", "status"); !strings.Contains(out, "The server runs, with 1 listener.") {
		t.Error(out, errs)
	}
}

// A hook never ends with 2, by which agents take an action as forbidden, and prints nothing where
// anything is wrong.
func TestNothingPrinted(t *testing.T) {
	h := newHome(t)
	check := func(name, input string, why string, args ...string) {
		t.Helper()
		began := time.Now()
		out, errs, code := h.runCommand(input, args...)
		if out != "" || code == 2 || len(args) == 2 && code != 0 && args[1] != "other" || !strings.Contains(errs, why) {
			t.Errorf("%s: %d %q %q", name, code, out, errs)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it takes %v", name, took)
		}
	}
	run := filepath.Join(h.dir, "run")
	folder := filepath.Join(run, "aaep")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	check("a folder that is open to others", asks, "open to others", "hook", "claude")
	os.Chmod(folder, 0o700)
	if os.Geteuid() == 0 {
		os.Chown(folder, 12345, 12345)
		check("another user's folder", asks, "belongs to somebody else", "hook", "claude")
		check("another user's folder, to listen", "", "belongs to somebody else", "listen")
	}
	os.Remove(folder)
	elsewhere := filepath.Join(h.dir, "elsewhere")
	os.Mkdir(elsewhere, 0o700)
	os.Symlink(elsewhere, folder)
	check("a link to a folder", asks, "is not a folder", "hook", "claude")
	os.Remove(folder)
	h.env = append(h.env, "XDG_STATE_HOME="+filepath.Join(h.dir, "file"))
	os.WriteFile(filepath.Join(h.dir, "file"), nil, 0o600)
	check("a server that cannot start", asks, "", "hook", "claude")
	h.env = h.env[:len(h.env)-1]
	check("an unknown agent", asks, "there are no hooks for", "hook", "other")

	server := h.startServer()
	who := h.followServer(func(*person, *aaep.Event) {})
	for name, input := range map[string]string{"nothing": "", "half JSON": asks[:60],
		"an unknown event": strings.Replace(asks, "PermissionRequest", "Surprise", 1), "no JSON": "\x00\xff",
		"50 MB": `{"session_id":"s1","cwd":"/srv/plans","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"` + strings.Repeat("x", 50<<20) + `"}}`} {
		check(name, input, "", "hook", "claude")
	}
	who.awaitHeard(t, "It asks for permission for something that is too long to be told.")
	var printed locked
	hook := h.newCommand("hook", "claude")
	hook.Stdin, hook.Stdout = strings.NewReader(asks), &printed
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	who.awaitHeard(t, "rm report.txt")
	server.Process.Kill()
	if err := hook.Wait(); err != nil || printed.String() != "" {
		t.Errorf("the server is killed: %v %q", err, printed.String())
	}
}

// A hook initialises little: it runs before the schemas and the producer are.
func TestEarly(t *testing.T) {
	h := newHome(t)
	h.startServer()
	h.env = append(h.env, "GODEBUG=inittrace=1")
	out, traced, code := h.runCommand(prompts, "hook", "claude")
	if out != "" || code != 0 || !strings.Contains(traced, "init github.com/aaep-go/aaep ") && !strings.Contains(traced,
		"init os ") {
		t.Fatalf("%d %q %.300q", code, out, traced)
	}
	for _, heavy := range []string{"santhosh-tekuri/jsonschema", "aaep-go/aaep/conformance ", "aaep-go/aaep/producer ",
		"modernc.org/sqlite ", "spf13/cobra "} {
		if strings.Contains(traced, heavy) {
			t.Errorf("a hook initialises %s", heavy)
		}
	}
}

// Two hooks ask at once, one is killed: its question is withdrawn, which is said, and the other
// gets its own answer.
func TestKilledBesideAnother(t *testing.T) {
	h := newHome(t)
	h.startServer()
	killed := make(chan struct{})
	who := h.followServer(func(p *person, ev *aaep.Event) {
		if strings.Contains(ev.Payload.(*aaep.AwaitingConfirmation).Consequence, "Codex asks") {
			go func() { <-killed; p.sub.Question(ev).Accept(context.Background()) }()
		}
	})
	var outs [2]locked
	var hooks [2]*exec.Cmd
	for i, agent := range []string{"claude", "codex"} {
		hooks[i] = h.newCommand("hook", agent)
		hooks[i].Stdin, hooks[i].Stdout = strings.NewReader(asks), &outs[i]
		if err := hooks[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	who.awaitHeard(t, "Claude Code in plans")
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		who.mu.Lock()
		n := len(who.asked)
		who.mu.Unlock()
		if n == 2 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("%d were asked", n)
		}
	}
	hooks[0].Process.Kill()
	hooks[0].Wait()
	who.awaitHeard(t, "Claude Code does not wait for an answer here any more.")
	close(killed)
	if err := hooks[1].Wait(); err != nil || !strings.Contains(outs[1].String(), `"allow"`) || outs[0].String() != "" {
		t.Errorf("%v %q %q", err, outs[0].String(), outs[1].String())
	}
}

// A server that was started by a hook ends when it is idle. A second one is refused.
func TestIdle(t *testing.T) {
	h := newHome(t)
	if _, errs, code := func() (string, string, int) {
		h.startServer()
		return h.runCommand("", "hook",
			"serve")
	}(); code != 1 || !strings.Contains(errs, "runs already") {
		t.Errorf("a second server ends with %d: %s", code, errs)
	}
	h = newHome(t)
	server := h.startServer("--idle", "300ms")
	ended := make(chan error, 1)
	go func() { _, err := server.Process.Wait(); ended <- err }()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("it does not end")
	}
}

// What is posted needs the secret, and a name of this machine.
func TestHTTP(t *testing.T) {
	h := newHome(t)
	server := h.newCommand("hook", "serve", "--http", "127.0.0.1:0")
	var says locked
	server.Stderr = &says
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	at := awaitOutput(t, &says,
		`posted to (http://\S+)/claude, with the header Authorization: Bearer and the secret in (\S+)\.`)
	awaitOutput(t, &says, "Serving Coding agents")
	info, err := os.Stat(at[2])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the secret: %v %v", info, err)
	}
	data, _ := os.ReadFile(at[2])
	secret := strings.TrimSpace(string(data))
	post := func(path, token, host, input string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at[1]+path, strings.NewReader(input))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	h.followServer(replyWith(aaep.Accept))
	for name, c := range map[string]struct {
		path, token, host, input, want string
		code                           int
	}{
		"right": {"/claude", secret, "", asks,
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, 200},
		"tells": {"/claude", secret, "", prompts, "", 200}, "half": {"/claude", secret, "", asks[:50], "", 200},
		"no secret":   {"/claude", "", "", asks, "", 403},
		"a wrong one": {"/claude", secret + "x", "", asks, "", 403}, "a foreign name": {"/claude", secret, "evil.example",
			asks, "", 403}, "no agent": {"/x", secret, "", asks, "", 404},
	} {
		if code, body := post(c.path, c.token, c.host, c.input); code != c.code || body != c.want {
			t.Errorf("%s: %d %q", name, code, body)
		}
	}
	if _, errs, code := h.runCommand("", "hook", "serve", "--http", "0.0.0.0:0"); code == 0 || errs == "" {
		t.Errorf("other machines: %d %s", code, errs)
	}
}

// Settings that are wrong are told by status, which then fails; a command that is not there any
// more too.
func TestStatusOfBroken(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	dir := filepath.Join(h.dir, ".claude")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "settings.json")
	for text, want := range map[string]string{
		"{": "not valid JSON",
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/nowhere/aaep hook claude"}]}]}}`: "installed, and " +
			"does not work",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := h.runCommand("", "hook", "status"); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s%s", text, code, out, errs)
		}
	}
	if _, errs, code := h.runCommand("", "hook", "install", "claude", "other"); code != 2 || !strings.Contains(errs,
		"no hooks for") {
		t.Errorf("%d %s", code, errs)
	}
	if out, _, code := h.runCommand("", "hook", "serve", "--print-unit"); code != 0 || !strings.Contains(out,
		"ExecStart="+os.Args[0]+" hook serve\n") {
		t.Errorf("the unit: %d %s", code, out)
	}
}

// What was asked in the name of an agent that has no question of its own is forbidden when the
// listener leaves, the server is killed, or the hook is told to end.
func TestForbiddenUnanswered(t *testing.T) {
	if !unix {
		t.Skip("a process cannot be told to end by a signal here")
	}
	const forbidden = `{"decision":"deny","reason":"Nobody answered, so this was not allowed."}` + "\n"
	input := strings.NewReplacer("PermissionRequest", "BeforeTool", "Bash", "run_shell_command").Replace(asks)
	for name, end := range map[string]func(server, hook *exec.Cmd, who *person){
		"the listener leaves":     func(_, _ *exec.Cmd, who *person) { who.sub.Close() },
		"the server is killed":    func(server, _ *exec.Cmd, _ *person) { server.Process.Kill() },
		"the hook is told to end": func(_, hook *exec.Cmd, _ *person) { hook.Process.Signal(syscall.SIGTERM) },
	} {
		h := newHome(t)
		server := h.startServer()
		who := h.followServer(func(*person, *aaep.Event) {})
		var printed locked
		hook := h.newCommand("hook", "gemini")
		hook.Stdin, hook.Stdout = strings.NewReader(input), &printed
		if err := hook.Start(); err != nil {
			t.Fatal(err)
		}
		who.awaitHeard(t, "rm report.txt")
		end(server, hook, who)
		if err := hook.Wait(); err != nil || printed.String() != forbidden {
			t.Errorf("%s: %v %q", name, err, printed.String())
		}
	}
}

// Hooks that the agent's settings switch off are not said to work.
func TestSwitchedOff(t *testing.T) {
	for agent, settings := range map[string][]string{
		"claude": {`{"disableAllHooks":true}`},
		"gemini": {`{"hooksConfig":{"enabled":false}}`, `{"tools":{"enableHooks":false}}`},
	} {
		for _, text := range settings {
			h := newHome(t)
			h.stopServer()
			dir := filepath.Join(h.dir, "."+agent)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, errs, code := h.runCommand("", "hook", "install", agent); code != 0 {
				t.Fatal(out, errs)
			}
			if out, _, code := h.runCommand("", "hook", "status"); code != 1 || !strings.Contains(out, "installed, and switched off by ") {
				t.Errorf("%s: %d %s", text, code, out)
			}
		}
	}
}

// What --print prints is said to be the hooks alone, for a file; status finds them where the
// settings are a link to that file.
func TestPrinted(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	out, errs, code := h.runCommand("", "hook", "install", "--print", "claude")
	path := filepath.Join(h.dir, ".claude", "settings.json")
	if code != 0 || !strings.Contains(errs, "These are the hooks alone.") || !strings.Contains(errs, path) {
		t.Fatalf("%d %s", code, errs)
	}
	target := filepath.Join(h.dir, "kept.json")
	if err := os.WriteFile(target, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := h.runCommand("", "hook", "status"); code != 0 || !strings.Contains(out, "Claude Code: installed, and works.") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// A user has one server, whatever runtime directory an agent or a listener was started with: each
// finds it where it says that it is.
func TestSecondRuntimeFolder(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	begin := func() *locked {
		listen := h.newCommand("listen", "--settings", os.DevNull)
		var heard locked
		listen.Stdout, listen.Stderr = &heard, &heard
		if _, err := listen.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := listen.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listen.Process.Kill(); listen.Wait() })
		awaitOutput(t, &heard, "Following Coding agents")
		return &heard
	}
	first := begin()
	second := filepath.Join(h.dir, "second")
	if err := os.Mkdir(second, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "XDG_RUNTIME_DIR="+second)
	if out, errs, code := h.runCommand(prompts, "hook", "claude"); out != "" || errs != "" || code != 0 {
		t.Errorf("%q %s %d", out, errs, code)
	}
	awaitOutput(t, first, `Claude Code in plans: Delete the old report\.`)
	awaitOutput(t, begin(), `Claude Code in plans: Delete the old report\.`)
	if out, errs, _ := h.runCommand("", "hook", "status"); !strings.Contains(out, "The server runs, with 2 listeners.") {
		t.Error(out, errs)
	}
}

// Why an input is not taken is said once where the agent shows it, and decides nothing.
func TestInputThatCannotBeRead(t *testing.T) {
	h := newHome(t)
	h.stopServer()
	for _, input := range []string{"{bad", "", "[1]", `{"session_id":1}`} {
		out, errs, code := h.runCommand(input, "hook", "claude")
		if out != "" || code != 0 || !strings.HasPrefix(errs, "aaep: ") || !strings.Contains(errs, "the input of Claude Code cannot be read") ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: %q %q %d", input, out, errs, code)
		}
	}
}
