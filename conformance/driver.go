package conformance

import (
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

// HTTPDriver starts a scenario with POST {Base}/scenarios/{name}, whose body is the Scenario as JSON. Any answer
// from 200 to 299 says that it was started; 404 and 501 that the target does not have it.
type HTTPDriver struct {
	Base string
	// Client sends the requests. If nil, http.DefaultClient.
	Client *http.Client
}

// Start posts the scenario.
func (d HTTPDriver) Start(ctx context.Context, s Scenario) error {
	body, err := jsonv2.Marshal(s)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(d.Base, "/")+"/scenarios/"+s.Name, bytes.NewReader(body))
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
		return err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the driver answered %s: %s", resp.Status, aaep.SafeText(string(said)))
	}
	return nil
}

// CommandDriver runs a program for each scenario, with its name as one more argument and the Scenario as JSON on
// standard input. A program that is still running when nobody listens any more is killed.
type CommandDriver struct {
	Command []string
}

// Start runs the program to its end.
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
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s %s: %w: %s", d.Command[0], s.Name, err, aaep.SafeText(string(said)))
	}
	return nil
}

// head keeps the beginning of what a program says.
type head []byte

func (h *head) Write(b []byte) (int, error) {
	if room := 200 - len(*h); room > 0 {
		*h = append(*h, b[:min(room, len(b))]...)
	}
	return len(b), nil
}
