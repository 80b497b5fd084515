package serve_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// TestKill needs processes to kill: the test program itself, told by this variable what to be.
const childVariable = "SERVE_TEST_CHILD"

// child is what such a process does. It says each step on a line of its own, so that it can be killed after it.
func child(what string) {
	args := strings.Fields(what)
	switch args[0] {
	case "agent": // with its listener in the same process, or over a socket
		agent(args[1], args[2], args[3] == "sse")
	case "logged":
		logged(args[1], args[2], args[3])
	case "flood":
		flood(args[1], args[2])
	case "listener":
		conn, err := sse.Dialer{URL: "http://" + args[3]}.Dial(context.Background())
		if err == nil {
			err = listen(conn, args[1], args[2])
		}
		fmt.Println("left:", err)
	}
}

func die(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func trailIn(dir string) string   { return filepath.Join(dir, "trail.jsonl") }
func effectsIn(dir string) string { return filepath.Join(dir, "effects") }
func tokensIn(dir string) string  { return filepath.Join(dir, "tokens") }

// note adds a line to a file that outlives its writer: written by one call, and within one page of memory, so that no
// kill leaves half of it.
func note(path string, words ...any) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%-*s\n", noteLength-1, strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	return err
}

const noteLength = 128

func notes(path string) (all [][]string, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		if len(line) != noteLength {
			return nil, fmt.Errorf("%s: %q is no line", path, line)
		}
		all = append(all, strings.Fields(line))
	}
	return all, err
}

// agent is a producer whose tools are all irreversible. A tool that runs notes that, and how long the trail was then.
func agent(dir, life string, overSSE bool) {
	trail, err := audit.Open(trailIn(dir), &audit.Options{EachSecond: strings.HasSuffix(life, "0")})
	die(err)
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}, Audit: trail, QuestionsAtOnce: 2,
		Grace: 200 * time.Millisecond, ShortTimeouts: true})
	die(err)
	if overSSE {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		die(err)
		fmt.Println("at", ln.Addr())
		go func() { die(serve.Serve(context.Background(), ln, p)) }()
	} else {
		theirs, ours := transports.Pipe()
		go p.ServeConn(ours)
		go func() { die(listen(theirs, dir, life)) }()
	}
	var n atomic.Int64
	for range 3 {
		s, err := p.StartSession(context.Background(), aaep.Say("Paying."))
		die(err)
		for range 2 {
			go func() {
				for {
					die(p.WaitSubscriber(context.Background()))
					tool := pay
					tool.Name = fmt.Sprintf("pay_%s_%d", life, n.Add(1))
					tool.Action = aaep.Say(tool.Name)
					tool.Timeout = time.Second
					_, err := s.Tool(context.Background(), tool, func(context.Context) (string, error) {
						fmt.Println("running", tool.Name)
						info, err := os.Stat(trailIn(dir))
						if err == nil {
							err = note(effectsIn(dir), tool.Name, info.Size())
						}
						die(err)
						fmt.Println("ran", tool.Name)
						return "", nil
					})
					switch {
					case err == nil, errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
						fmt.Println("done", tool.Name, err)
					default:
						die(err)
					}
				}
			}()
		}
	}
	select {}
}

// answerTo is what the listener says to a question: accept and reject in turns, and sometimes nothing.
func answerTo(tool string) aaep.Decision {
	switch tool[len(tool)-1] {
	case '7':
		return ""
	case '0', '2', '4', '6', '8':
		return aaep.Accept
	}
	return aaep.Reject
}

// listen answers until its link ends. Now and then it also accepts what a dead producer had asked: in its own name, or
// in the name of who was asked then.
func listen(conn transports.Conn, dir, life string) error {
	ctx := context.Background()
	send := func(m aaep.Message) error {
		data, err := aaep.Encode(m)
		if err != nil {
			return err
		}
		return conn.Send(ctx, data)
	}
	receive := func() (aaep.Message, error) {
		data, err := conn.Receive(ctx)
		if err != nil {
			return nil, err
		}
		return aaep.Decode(data)
	}
	reply := func(token, id string, d aaep.Decision) error {
		return send(&aaep.ConfirmationReply{ReplyToken: aaep.ReplyToken(token), Decision: d, SubscriptionID: id, Timestamp: time.Now()})
	}
	old, err := notes(tokensIn(dir))
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(was []string) bool { return strings.HasPrefix(was[2], "pay_"+life+"_") })
	if err := send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "chaos", Capabilities: everything}); err != nil {
		return err
	}
	m, err := receive()
	if err != nil {
		return err
	}
	acc, isAccepted := m.(*aaep.SubscriptionAccepted)
	if !isAccepted {
		return fmt.Errorf("%+v", m)
	}
	for {
		m, err := receive()
		if err != nil {
			return err
		}
		ev, isEvent := m.(*aaep.Event)
		if !isEvent {
			return fmt.Errorf("%+v", m)
		}
		q, asks := ev.Payload.(*aaep.AwaitingConfirmation)
		if !asks {
			continue
		}
		if err := note(tokensIn(dir), string(q.ReplyToken), acc.SubscriptionID, q.Action); err != nil {
			return err
		}
		fmt.Println("asked", q.Action)
		if len(old) > 0 {
			was := old[rand.IntN(len(old))]
			if err := reply(was[0], []string{acc.SubscriptionID, was[1]}[rand.IntN(2)], aaep.Accept); err != nil {
				return err
			}
		}
		if d := answerTo(q.Action); d != "" {
			if err := reply(string(q.ReplyToken), acc.SubscriptionID, d); err != nil {
				return err
			}
			fmt.Println("answered", q.Action)
		}
	}
}

// process is a child and what it says.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	heard []string
	late  *time.Timer
}

func spawn(t *testing.T, words ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(words, " "))
	out, err := p.cmd.StdoutPipe()
	check(t, err)
	p.cmd.Stderr = os.Stderr
	check(t, p.cmd.Start())
	p.lines = bufio.NewScanner(out)
	p.late = time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	t.Cleanup(p.kill)
	return p
}

// hear waits until the child has said so many lines that begin with a word.
func (p *process) hear(word string, n int) (last string) {
	p.t.Helper()
	for n > 0 {
		if !p.lines.Scan() {
			p.t.Fatalf("a child says no more; the last was %q", p.heard[max(0, len(p.heard)-5):])
		}
		last = p.lines.Text()
		if p.heard = append(p.heard, last); strings.HasPrefix(last, "failed") {
			p.t.Fatal("a child ", last)
		}
		if strings.HasPrefix(last, word) {
			n--
		}
	}
	return last
}

func (p *process) kill() {
	p.late.Stop()
	p.cmd.Process.Kill()
	for p.lines.Scan() { // what it had said before it died
		if text := p.lines.Text(); strings.HasPrefix(text, "failed") {
			p.t.Error("a child ", text)
		}
	}
	p.cmd.Wait()
}

// spread is a random moment, about as long as a step of a child, or none.
func spread() {
	if rand.IntN(2) == 0 {
		time.Sleep(rand.N(2 * time.Millisecond))
	}
}

// TestKill: kill -9, again and again, of an agent, of its listener, and of both. Nothing runs without an acceptance
// and an intention that were on record before, nothing twice, nothing of a dead process in the next one, and what was
// asked by the dead one cannot be answered any more; the trail verifies (INV-56, INV-02, INV-06, INV-17, P1).
func TestKill(t *testing.T) {
	const each = 30 // kills of the producer before it begins with a new trail: the whole of it is checked every time
	files := 1
	if os.Getenv("AAEP_LONG") != "" {
		files = 34
	}
	var sum tally
	for i := range files {
		dir := t.TempDir()
		head := ""
		var found tally
		for life := range each {
			round(t, dir, life)
			if life%5 == 4 { // as if it had died in the middle of a record
				tear(t, dir)
			}
			var err error
			if found, head, err = examine(dir, head); err != nil {
				keep(t, dir)
				t.Fatalf("trail %d, after kill %d: %v", i+1, life+1, err)
			}
		}
		f, err := audit.Open(trailIn(dir), nil)
		check(t, err)
		check(t, f.Close())
		if _, _, err := examine(dir, head); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(trailIn(dir))
		check(t, err)
		if _, err := audit.Verify(bytes.NewReader(data), f.Head()); err != nil { // not even a torn end
			t.Fatal(err)
		}
		sum.add(found)
		if files > 1 {
			t.Logf("%d kills: %+v", (i+1)*each, sum)
		}
	}
	t.Logf("%d kills: %+v", files*each, sum)
	if sum.Ran == 0 || sum.Rejected == 0 || sum.OpenAtDeath == 0 || sum.Stale == 0 || sum.Torn == 0 || files > 1 && (sum.TimedOut == 0 || sum.RanAtDeath == 0) {
		t.Error("that was no test of everything")
	}
}

// round lets an agent live for a while.
func round(t *testing.T, dir string, life int) {
	t.Helper()
	if life%10 == 9 { // before it is anything, or while it opens the trail
		p := spawn(t, "agent", dir, fmt.Sprint(life), "pipe")
		time.Sleep(rand.N(30 * time.Millisecond))
		p.kill()
		return
	}
	if life%2 == 0 {
		p := spawn(t, "agent", dir, fmt.Sprint(life), "pipe")
		p.hear([]string{"", "asked", "answered", "running", "ran", "done"}[rand.IntN(6)], 1+rand.IntN(40))
		spread()
		p.kill()
		return
	}
	p := spawn(t, "agent", dir, fmt.Sprint(life), "sse")
	defer p.kill()
	_, addr, _ := strings.Cut(p.hear("at", 1), " ")
	for range 1 + rand.IntN(2) { // its listener dies in the middle of something, and another comes
		l := spawn(t, "listener", dir, fmt.Sprint(life), addr)
		l.hear([]string{"asked", "answered"}[rand.IntN(2)], 1+rand.IntN(25))
		spread()
		if rand.IntN(2) == 0 { // the agent first
			p.kill()
			l.kill()
			return
		}
		l.kill()
	}
	p.hear("done", 1) // what was open ended when nobody was left
	spread()
}

// tear adds what may be left of a record that was being written: less than all of it.
func tear(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(trailIn(dir))
	check(t, err)
	if !bytes.HasSuffix(data, []byte("\n")) {
		return
	}
	last := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1:]
	f, err := os.OpenFile(trailIn(dir), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.Write(last[:1+rand.IntN(len(last)-2)])
	check(t, errors.Join(err, f.Close()))
}

func keep(t *testing.T, dir string) {
	if to := os.Getenv("AAEP_KEEP"); to != "" {
		t.Log(os.CopyFS(to, os.DirFS(dir)))
	}
}

// tally counts what was seen, so that a test that saw nothing is noticed.
type tally struct {
	Records, Asked, Accepted, Rejected, TimedOut, OpenAtDeath, Invoked, Ran, RanAtDeath, Stale, Torn int
}

func (n *tally) add(m tally) {
	n.Records += m.Records
	n.Asked += m.Asked
	n.Accepted += m.Accepted
	n.Rejected += m.Rejected
	n.TimedOut += m.TimedOut
	n.OpenAtDeath += m.OpenAtDeath
	n.Invoked += m.Invoked
	n.Ran += m.Ran
	n.RanAtDeath += m.RanAtDeath
	n.Stale += m.Stale
	n.Torn += m.Torn
}

// deed is all that is known of one tool: its name is used for one call only.
type deed struct {
	call, question                               string
	asked, replied, settled, invoked, ended, ran []placed
}

// placed is a record, in which life of the producer it was written, and where it ends in the file.
type placed struct {
	audit.Entry
	life int
	end  int64
}

// examine looks at what was left behind: the trail, which must still have the head it had before, what ran, and which
// questions the listener had.
func examine(dir, before string) (n tally, head string, err error) {
	data, err := os.ReadFile(trailIn(dir))
	if errors.Is(err, os.ErrNotExist) { // killed before its first step
		return n, before, nil
	}
	if err != nil {
		return n, "", err
	}
	rep, err := audit.Verify(bytes.NewReader(data), before)
	var fault *audit.Fault
	if errors.As(err, &fault) && fault.How == audit.TornEnd {
		err = nil
	}
	if err == nil && before != "" && rep.Anchored == 0 {
		err = errors.New("the trail is not the one that it was")
	}
	if err != nil {
		return n, "", err
	}
	n.Records, n.Torn = int(rep.Records), rep.Torn

	deeds, byQuestion := map[string]*deed{}, map[string]*deed{}
	life, end := 0, int64(0)
	var lives []int64 // where they begin
	for line := range bytes.Lines(data) {
		end += int64(len(line))
		r := placed{life: life, end: end}
		if json.Unmarshal(line, &r.Entry) != nil { // torn: Verify has seen that
			continue
		}
		if r.Kind == audit.Opened {
			life++
			lives = append(lives, end)
			continue
		}
		d := byQuestion[r.QuestionID]
		switch {
		case r.Kind == audit.Asked && r.Tool != "":
			if deeds[r.Tool] != nil {
				return n, "", fmt.Errorf("%s is asked about twice", r.Tool)
			}
			n.Asked++
			d = &deed{call: r.ToolCallID, question: r.QuestionID, asked: []placed{r}}
			deeds[r.Tool], byQuestion[r.QuestionID] = d, d
		case r.Kind == audit.Replied && !r.Counted:
			if d != nil && d.asked[0].life < life {
				n.Stale++
			}
		case r.Kind == audit.Replied && d != nil:
			d.replied = append(d.replied, r)
		case r.Kind == audit.Settled && d != nil:
			d.settled = append(d.settled, r)
		case r.Kind == audit.Settled && r.Cause == "unreachable": // and never asked: nobody was there
			if r.Decision == aaep.Accept {
				return n, "", fmt.Errorf("record %d accepts what nobody was asked", r.Seq)
			}
		case r.Kind == audit.Invoked && deeds[r.Tool] != nil:
			deeds[r.Tool].invoked = append(deeds[r.Tool].invoked, r)
		case r.Kind == audit.Completed && deeds[r.Tool] != nil:
			deeds[r.Tool].ended = append(deeds[r.Tool].ended, r)
		case r.Kind == audit.Asked && d != nil: // of one who came later
		default:
			return n, "", fmt.Errorf("record %d, %q of %s, belongs to nothing", r.Seq, r.Kind, cmp.Or(r.Tool, r.QuestionID))
		}
	}

	effects, err := notes(effectsIn(dir))
	if err != nil {
		return n, "", err
	}
	for _, e := range effects {
		d := deeds[e[0]]
		if d == nil {
			return n, "", fmt.Errorf("%s ran and was not asked about", e[0])
		}
		var size int64
		fmt.Sscan(e[1], &size)
		then := 0 // the life in which it ran
		for then < len(lives) && lives[then] <= size {
			then++
		}
		d.ran = append(d.ran, placed{audit.Entry{Record: audit.Record{Kind: "ran"}}, then, size})
	}
	for name, d := range deeds {
		if err := d.judge(name, &n); err != nil {
			return n, "", fmt.Errorf("%s, call %s, question %s: %w", name, d.call, d.question, err)
		}
	}
	tokens, err := notes(tokensIn(dir))
	if err != nil {
		return n, "", err
	}
	for _, was := range tokens { // whoever was asked is on record
		if d := deeds[was[2]]; d == nil || d.question != audit.QuestionID(aaep.ReplyToken(was[0])) {
			return n, "", fmt.Errorf("the listener was asked about %s, and that is not on record", was[2])
		}
	}
	return n, rep.Head, nil
}

// judge says what is wrong with the life of one question and its deed.
func (d *deed) judge(name string, n *tally) error {
	first := d.asked[0]
	inOrder := func(before, after []placed) bool {
		return len(after) == 0 || len(before) == 1 && before[0].end < after[0].end && before[0].life == after[0].life
	}
	for _, all := range [][]placed{d.asked, d.replied, d.settled, d.invoked, d.ended, d.ran} {
		if len(all) > 1 {
			return fmt.Errorf("%q happened %d times", all[0].Kind, len(all))
		}
		for _, r := range all {
			switch {
			case r.life != first.life:
				return fmt.Errorf("%q happened in life %d, and it was asked in life %d", r.Kind, r.life, first.life)
			case r.ToolCallID != d.call && r.ToolCallID != "":
				return fmt.Errorf("record %d is of the call %s", r.Seq, r.ToolCallID)
			}
		}
	}
	said := answerTo(name)
	accepted := len(d.settled) == 1 && d.settled[0].Decision == aaep.Accept
	switch {
	case !inOrder(d.asked, d.settled) || !inOrder(d.settled, d.invoked) || !inOrder(d.invoked, d.ended):
		return errors.New("the records are not in order, or one is missing")
	case len(d.replied) == 1 && d.replied[0].Claims.Decision != said:
		return fmt.Errorf("the listener says %q, and %q was counted", said, d.replied[0].Claims.Decision)
	case accepted && (d.settled[0].Cause != "replied" || said != aaep.Accept || !inOrder(d.replied, d.settled)):
		return fmt.Errorf("it was accepted because it was %s; the listener says %q", d.settled[0].Cause, said)
	case len(d.invoked) == 1 && !accepted:
		return errors.New("it was invoked, and not accepted")
	case len(d.ran) == 1 && len(d.invoked) == 0:
		return errors.New("it ran, and that it would is not on record")
	case len(d.ran) == 1 && d.invoked[0].end > d.ran[0].end:
		return errors.New("it ran before it was on record that it would")
	case len(d.ended) == 1 && d.ended[0].Status == aaep.ToolSuccess && len(d.ran) == 0:
		return errors.New("it was done, and did not run")
	}
	n.Invoked += len(d.invoked)
	n.Ran += len(d.ran)
	switch {
	case len(d.settled) == 0:
		n.OpenAtDeath++
	case accepted:
		n.Accepted++
	case d.settled[0].Cause == "timed_out":
		n.TimedOut++
	default:
		n.Rejected++
	}
	if len(d.ran) == 1 && len(d.ended) == 0 {
		n.RanAtDeath++
	}
	return nil
}
