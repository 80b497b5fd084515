//go:build linux

package orca_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/orcadesktop"
	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/orca"
)

// registry is that of the accessible programs, and names its own bus as theirs.
type registry struct{ embedded chan string }

func (r registry) GetAddress() (string, *dbus.Error) {
	return os.Getenv("DBUS_SESSION_BUS_ADDRESS"), nil
}

func (r registry) Embed(plug struct {
	Name string
	Path dbus.ObjectPath
}) (struct {
	Name string
	Path dbus.ObjectPath
}, *dbus.Error) {
	r.embedded <- plug.Name
	plug.Name = "org.a11y.atspi.Registry"
	return plug, nil
}

// Where Orca runs and has no service, a text is a notification of an accessible program, each an
// object of its own that says its text, its role and that it shows.
func TestNotifications(t *testing.T) {
	bustest.Start(t)
	old := sessionbus.Processes
	t.Cleanup(func() { sessionbus.Processes = old })
	sessionbus.Processes = t.TempDir()
	if _, err := orca.Open(t.Context(), orca.Options{}); !errors.Is(err, orca.ErrAbsent) {
		t.Fatalf("without Orca: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(sessionbus.Processes, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sessionbus.Processes, "7", "comm"), []byte("orca\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := sessionbus.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	r := registry{make(chan string, 1)}
	for name, path := range map[string]dbus.ObjectPath{"org.a11y.Bus": "/org/a11y/bus",
		"org.a11y.atspi.Registry": "/org/a11y/atspi/accessible/root"} {
		if _, err := reader.RequestName(name, dbus.NameFlagDoNotQueue); err != nil {
			t.Fatal(err)
		}
		reader.Export(r, path, name)
		reader.Export(r, path, "org.a11y.atspi.Socket")
	}
	if err := reader.AddMatchSignal(dbus.WithMatchInterface("org.a11y.atspi.Event.Object")); err != nil {
		t.Fatal(err)
	}
	events := make(chan *dbus.Signal, 10)
	reader.Signal(events)
	out, err := orca.Open(t.Context(), orca.Options{WordsPerMinute: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	name := <-r.embedded
	seen := map[dbus.ObjectPath]bool{}
	for _, text := range []string{"Decide: Pay five dollars.", "Decide: Pay five dollars."} {
		if err := out.Present(t.Context(), announce.Utterance{Text: text, Critical: true}); err != nil {
			t.Fatal(err)
		}
		var ev *dbus.Signal
		for ev = range events {
			if ev.Name == "org.a11y.atspi.Event.Object.StateChanged" {
				break
			}
		}
		if seen[ev.Path] || ev.Body[0] != "showing" || ev.Body[1] != int32(1) {
			t.Errorf("the event is %+v", ev)
		}
		seen[ev.Path] = true
		object := reader.Object(name, ev.Path)
		said, err := object.GetProperty("org.a11y.atspi.Accessible.Name")
		var role uint32
		var states []uint32
		if err != nil || said.Value() != text ||
			object.Call("org.a11y.atspi.Accessible.GetRole", 0).Store(&role) != nil || role != 101 ||
			object.Call("org.a11y.atspi.Accessible.GetState", 0).Store(&states) != nil || len(states) != 2 ||
			states[0]&(1<<25) == 0 {
			t.Errorf("it says %v, %v, role %d, states %v", said, err, role, states)
		}
	}
	os.RemoveAll(filepath.Join(sessionbus.Processes, "7"))
	if err := out.Present(t.Context(), announce.Utterance{Text: "Gone."}); !errors.Is(err, orca.ErrAbsent) {
		t.Errorf("after Orca ended: %v", err)
	}
}

// TestOldOrca: the Orca of this machine, which may be one that has no service, speaks each text to
// its end, the same text twice, and a question whole.
func TestOldOrca(t *testing.T) {
	if os.Getenv("AAEP_ORCA") == "" {
		t.Skip("AAEP_ORCA is not set: no desktop is started. make orca installs what that needs")
	}
	s := orcadesktop.Start(t)
	time.Sleep(3 * time.Second) // it greets before it is there for others
	out, err := orca.Open(t.Context(), orca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	texts := []string{"The first message is here.", "Decide: Transfer 500 dollars to savings.",
		"Consequence: The money moves at once.", "High risk.", "High risk."}
	began := time.Now()
	for i, text := range texts {
		if err := out.Present(t.Context(), announce.Utterance{Text: text, Critical: i > 0}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := out.Present(ctx, announce.Utterance{Text: "This goes on for longer than a second, which is all the time that there is for it."}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Present = %v", err)
	}
	cut := time.Now()
	if err := out.Present(t.Context(), announce.Utterance{Text: "An error came.", Critical: true}); err != nil {
		t.Fatal(err)
	}
	over := func() bool {
		all := s.Messages()
		return len(all) > 0 && strings.Contains(all[len(all)-1].Text, "error") && !all[len(all)-1].Over.IsZero()
	}
	for end := time.Now().Add(time.Minute); !over() && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	var heard []string
	for _, m := range s.Messages() {
		text := m.Words()
		t.Logf("%5.1f to %5.1f s: %s", m.Begun.Sub(began).Seconds(), m.Over.Sub(began).Seconds(), text)
		if m.Heard() {
			heard = append(heard, text)
		}
		if strings.HasSuffix(text, "An error came.") {
			t.Logf("what is critical began %v after it came", m.Begun.Sub(cut))
		}
	}
	all := strings.Join(heard, "\n")
	for _, text := range append(texts, "An error came.") {
		if !strings.Contains(all, text) {
			t.Errorf("%q was not heard to its end in\n%s", text, all)
		}
	}
	if strings.Count(all, "High risk.") != 2 {
		t.Errorf("what came twice was not heard twice in\n%s", all)
	}
}
