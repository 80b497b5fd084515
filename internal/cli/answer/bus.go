package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/sessionbus"
)

// The name on the session bus, the object there and its interface, by which programs of the
// desktop answer without starting a process.
const (
	busName                 = "io.github.aaep_go.Aaep"
	busPath dbus.ObjectPath = "/io/github/aaep_go/Aaep"
	busFace                 = "io.github.aaep_go.Aaep.Answer1"
)

// busService is the object. It reaches all listeners of the user, as the command does, whichever of
// them has the name.
type busService struct {
	ctx  context.Context
	conn *dbus.Conn
	busy chan struct{} // holds one for each call that goes on
}

// mostBusCalls is how many calls are obeyed at once; of more, each is told so.
const mostBusCalls = 8

// ServeBus offers on the session bus what the command does, until ctx is done. Where another
// listener has the name, this one takes it when that ends. Without a bus it does nothing. What has
// the name sends the signal Changed, with what State returns, when it gets it and at each change.
func ServeBus(ctx context.Context) {
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	s := &busService{ctx: ctx, conn: conn, busy: make(chan struct{}, mostBusCalls)}
	if conn.Export(s, busPath, busFace) != nil {
		return
	}
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	if _, err := conn.RequestName(busName, 0); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(conn.Context(), cancel)()
	for {
		select {
		case signal := <-signals:
			if signal != nil && signal.Sender == "org.freedesktop.DBus" &&
				signal.Name == "org.freedesktop.DBus.NameAcquired" && slices.Contains(signal.Body, busName) {
				conn.RemoveSignal(signals)
				watchListeners(ctx, func(state string) error { return conn.Emit(busPath, busFace+".Changed", state) })
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Answer answers a question, as "aaep answer" does: text is accept, reject, a choice or a text; id
// is that of the question, from State, or "" for the one that is put. It returns whether the answer
// was sent, and the lines that the person heard.
func (s *busService) Answer(sender dbus.Sender, text, id string) (done bool, said []string, _ *dbus.Error) {
	return s.obey(func(out *bytes.Buffer, all []*control.Link) error {
		if err := refuseAgent(s.environmentOf(sender)); err != nil {
			return err
		}
		return sendAnswer(s.ctx, out, all, text, id, 0)
	})
}

// Command runs a command of "aaep answer", such as again, or to with the text heading, for a caller
// on the session bus. It returns whether the listeners took it, and the lines that the person
// heard. An unknown name fails.
func (s *busService) Command(name, text string) (done bool, said []string, _ *dbus.Error) {
	return s.obey(func(out *bytes.Buffer, all []*control.Link) error {
		if !isCommand(name) {
			return fmt.Errorf("%.40q is no command of aaep answer", name)
		}
		return sendCommand(s.ctx, out, all, name, text, 0)
	})
}

// State returns the state of all listeners of this user as a line of JSON, as "aaep answer --watch"
// prints it. Without listeners it is that of none.
func (s *busService) State() (string, *dbus.Error) {
	states := map[int]*control.State{}
	for _, l := range control.Find(s.ctx, nil) {
		states[l.Slot] = &l.State
		l.Close()
	}
	line, err := json.Marshal(combineStates(states))
	if err != nil {
		return "", dbus.MakeFailedError(err)
	}
	return string(line), nil
}

// obey runs a command for all listeners of this user, and returns whether it succeeded and the
// lines that it printed, an error's last. Where too many calls run, or nothing listens, it returns
// false and one line that says so.
func (s *busService) obey(command func(out *bytes.Buffer, links []*control.Link) error) (bool, []string, *dbus.Error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		return false, []string{"Too many calls at once, and this one did nothing."}, nil
	}
	links := control.Find(s.ctx, nil)
	defer func() {
		for _, l := range links {
			l.Close()
		}
	}()
	if len(links) == 0 {
		return false, []string{"Nothing of yours listens."}, nil
	}
	var out bytes.Buffer
	err := command(&out, links)
	lines := strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
	if err != nil && err.Error() != "" {
		lines = append(lines, err.Error())
	}
	return err == nil, append([]string{}, lines...), nil
}

// environmentOf returns the environment of the program that called, as NAME=VALUE; nil where it
// cannot be read.
func (s *busService) environmentOf(sender dbus.Sender) []string {
	var pid uint32
	if s.conn.BusObject().CallWithContext(s.ctx, "org.freedesktop.DBus.GetConnectionUnixProcessID", 0, string(sender)).
		Store(&pid) != nil {
		return nil
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	return strings.Split(string(environment), "\x00")
}
