package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
)

// HTTPDriver starts a scenario with POST {Base}/scenarios/{name}, whose body is the Scenario as
// JSON. Any answer from 200 to 299 says that it was started; 404 and 501 that the target does not
// have it.
type HTTPDriver struct {
	Base string
	// Client sends the requests. If nil, http.DefaultClient.
	Client *http.Client
}

// Start posts the scenario to the driver, and returns when the driver has answered. Any status but
// 2xx is an error; ErrNoDriver says that the driver cannot be reached.
func (d HTTPDriver) Start(ctx context.Context, s Scenario) error {
	body, err := jsonv2.Marshal(s)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(d.Base, "/")+"/scenarios/"+s.Name,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	client := d.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the driver answered %s", strings.TrimSuffix(resp.Status+": "+oneLine(string(said)), ": "))
	}
	return nil
}

// CommandDriver runs a program for each scenario, with its name as one more argument and the
// Scenario as JSON on standard input. A program that is still running when no subscriber listens
// any more is killed.
type CommandDriver struct {
	Command []string
}

// Start runs the driver's program with the scenario on its standard input, and returns when the
// program has ended. What the program printed is in the error of one that fails; one that cannot be
// started is ErrNoDriver. When ctx ends, the program is killed, and the error is nil.
func (d CommandDriver) Start(ctx context.Context, s Scenario) error {
	if len(d.Command) == 0 {
		return errors.New("there is no command")
	}
	in, err := jsonv2.Marshal(s)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, d.Command[0], append(d.Command[1:len(d.Command):len(d.Command)], s.Name)...)
	cmd.Stdin = bytes.NewReader(in)
	cmd.WaitDelay = time.Second // what it started may still hold its output
	var said head
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Start()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil && ctx.Err() == nil {
		what := strings.TrimSuffix(": "+strings.TrimSpace(aaep.SafeText(string(said))), ": ")
		return fmt.Errorf("%s %s: %w%s", d.Command[0], s.Name, err, what)
	}
	return nil
}

// head keeps the beginning of what a program says.
type head []byte

// Write keeps the first bytes of a program's output, for an error, and drops the rest.
func (h *head) Write(b []byte) (int, error) {
	if room := 200 - len(*h); room > 0 {
		*h = append(*h, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// ChildDriver runs a program once, which may be the agent itself. The program prints {} on a line
// when it is ready. It is given each Scenario as one line of JSON on its standard input, and for
// each it prints one line: {} when it has begun or is over, or {"error": "why not"}. It should end
// when its input ends. Close ends it. Scenarios are started one after another.
type ChildDriver struct {
	Command []string
	// Stderr gets what the program says beside. If nil, it is discarded.
	Stderr io.Writer

	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Closer
	answers chan string
	owed    int // answers to scenarios that are awaited no more
}

// Open starts the program, unless it runs, and waits until it says that it is ready. ctx bounds the
// wait; errNotReady says that it did not.
func (d *ChildDriver) Open(ctx context.Context) error {
	if d.cmd != nil {
		return nil
	}
	if err := d.startProgram(); err != nil {
		return err
	}
	return d.awaitAnswer(ctx, errNotReady)
}

var errNotReady = errors.New("the program did not say that it is ready")

// Start gives the program a scenario, which it opens first if it is not open yet, and waits for its
// answer. The error is ErrNoDriver where it cannot be started or has ended, or what it answered.
// When ctx ends first, Start returns nil, and the answer is passed over later.
func (d *ChildDriver) Start(ctx context.Context, s Scenario) error {
	if err := d.Open(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	line, err := jsonv2.Marshal(s)
	if err != nil {
		return err
	}
	unstuck := context.AfterFunc(ctx, func() { d.cmd.Process.Kill() }) // a program that reads nothing
	_, err = d.in.Write(append(line, '\n'))
	unstuck()
	if err != nil {
		return fmt.Errorf("%s: %w", d.Command[0], err)
	}
	return d.awaitAnswer(ctx, nil)
}

// awaitAnswer waits for the next line that answers what was last asked, or returns late when ctx
// ends first. An answer that was owed to an earlier question is passed over. The error is what the
// program answered, or ErrNoDriver where it has ended. Start and Close call it, one at a time.
func (d *ChildDriver) awaitAnswer(ctx context.Context, late error) error {
	for {
		select {
		case <-ctx.Done():
			d.owed++
			return late
		case said, ok := <-d.answers:
			var answer struct {
				Error string `json:"error"`
			}
			switch {
			case !ok:
				return fmt.Errorf("%w: %s ended", ErrNoDriver, d.Command[0])
			case d.owed > 0:
				d.owed--
				continue
			case jsonv2.Unmarshal([]byte(said), &answer) != nil:
				return fmt.Errorf("%s printed %q, which is neither {} nor {\"error\": …}", d.Command[0],
					aaep.SafeText(said[:min(len(said), 200)]))
			case answer.Error != "":
				return errors.New(aaep.SafeText(answer.Error))
			}
			return nil
		}
	}
}

// startProgram starts the command and reads its lines into d.answers, on a goroutine, until its
// output ends; that closes d.answers. Open calls it once.
func (d *ChildDriver) startProgram() error {
	if len(d.Command) == 0 {
		return errors.New("there is no command")
	}
	cmd := exec.Command(d.Command[0], d.Command[1:]...)
	cmd.Stderr, cmd.WaitDelay = d.Stderr, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d.cmd, d.in, d.out, d.answers = cmd, in, out, make(chan string, 64)
	go func() {
		defer close(d.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			d.answers <- lines.Text()
		}
	}()
	return nil
}

// Close ends the input of the program, kills it if it then does not end within two seconds, and
// returns how it ended.
func (d *ChildDriver) Close() error {
	if d.cmd == nil {
		return nil
	}
	d.in.Close()
	timer := time.AfterFunc(2*time.Second, func() {
		d.cmd.Process.Kill()
		d.out.Close() // which something that it started may hold
	})
	defer timer.Stop()
	for range d.answers { // Wait closes the pipe, so all is read first
	}
	err := d.cmd.Wait()
	d.cmd = nil
	return err
}
