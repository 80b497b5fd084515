// Package orcatest is a stand-in for the D-Bus service of Orca, for tests of programs that speak
// through it: it keeps what it was asked and when, and can be absent, hang, refuse or be restarted.
// It says nothing.
//
// New needs no bus: what Dial returns is linked to the double alone, so that it can be used in a
// bubble of testing/synctest, where the seconds of an estimate pass at once. Serve puts the same
// double on a real bus.
//
// As Orca, it does not know when it has spoken, and does not report a silence key.
package orcatest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/sessionbus"
)

// State is how an Orca is doing.
type State int

const (
	Well     State = iota // it answers
	Absent                // its name is on the bus no more
	Hung                  // it does not answer
	Refusing              // it answers that it did not do it
)

// Call is something that Orca was asked to do.
type Call struct {
	At time.Time
	// Method is "PresentMessage", "InterruptSpeech" or "GetVoicesForLanguage".
	Method string
	// Argument is the message, or the language.
	Argument string
}

// Orca is the double. Its methods may be called from any goroutine.
type Orca struct {
	root   string // of its names
	voices []string

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed when state changes
	lives   int           // how often it has started
	calls   []Call
	served  map[*dbus.Conn]bool // true for those of a real bus
	clients []*dbus.Conn
}

// New returns an Orca of a version, 49, 50 or 51, with voices for the languages.
func New(version int, voices ...string) *Orca {
	o := &Orca{root: "Orca1", voices: voices, changed: make(chan struct{}), lives: 1, served: map[*dbus.Conn]bool{}}
	if version < 51 {
		o.root = "Orca"
	}
	return o
}

// Name is Orca's name on the bus.
func (o *Orca) Name() string { return "org.gnome." + o.root + ".Service" }

// Dial returns a connection to something like a bus, on which only this Orca is. It fits
// orca.Options.Bus. Both ends are in memory.
func (o *Orca) Dial(context.Context) (*dbus.Conn, error) {
	client, service, err := sessionbus.Pipe()
	if err != nil {
		return nil, err
	}
	err = errors.Join(o.exportMethods(service), service.ExportMethodTable(map[string]any{
		"GetNameOwner": o.nameOwner,
		"AddMatch":     func(string) *dbus.Error { return nil },
		"RemoveMatch":  func(string) *dbus.Error { return nil },
	}, "/org/freedesktop/DBus", "org.freedesktop.DBus"))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.served[service] = false
	o.clients = append(o.clients, client)
	return client, err
}

// Serve offers the double on a real bus, under Orca's name, until Close ends the connection.
func (o *Orca) Serve(conn *dbus.Conn) error {
	o.mu.Lock()
	o.served[conn] = true
	o.mu.Unlock()
	if err := o.exportMethods(conn); err != nil {
		return err
	}
	_, err := conn.RequestName(o.Name(), dbus.NameFlagDoNotQueue)
	return err
}

// exportMethods exports on conn the methods that Orca has under its name: newer versions, "Orca",
// and older ones, "Orca1", differ in how speech is silenced and voices are asked for.
func (o *Orca) exportMethods(conn *dbus.Conn) error {
	path := dbus.ObjectPath("/org/gnome/" + o.root + "/Service")
	err := conn.ExportMethodTable(map[string]any{
		"PresentMessage": func(message string) (bool, *dbus.Error) { return o.recordCall("PresentMessage", message) },
	}, path, o.Name())
	silence := func(bool) (bool, *dbus.Error) { return o.recordCall("InterruptSpeech", "") }
	if o.root == "Orca1" {
		return errors.Join(err, conn.ExportMethodTable(map[string]any{
			"InterruptSpeech":      silence,
			"GetVoicesForLanguage": o.voicesFor,
		}, path+"/SpeechManager", "org.gnome.Orca1.SpeechManager"))
	}
	return errors.Join(err, conn.ExportMethodTable(map[string]any{
		"ExecuteCommand": func(command string, notify bool) (bool, *dbus.Error) {
			if command != "InterruptSpeech" {
				return false, nil
			}
			return silence(notify)
		},
	}, path+"/SpeechAndVerbosityManager", "org.gnome.Orca.Module"))
}

// recordCall keeps a call, and answers as the state wants it: true if Orca is well. While Orca
// hangs it waits; an absent one is an error of D-Bus. It takes o.mu.
func (o *Orca) recordCall(method, argument string) (bool, *dbus.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for first := true; ; first = false {
		switch {
		case o.state == Absent:
			return false, dbus.NewError("org.freedesktop.DBus.Error.ServiceUnknown", []any{"nobody is there"})
		case first:
			o.calls = append(o.calls, Call{At: time.Now(), Method: method, Argument: argument})
		}
		if o.state != Hung {
			return o.state == Well, nil
		}
		changed := o.changed
		o.mu.Unlock()
		<-changed
		o.mu.Lock()
	}
}

// voice is one as Orca describes it.
type voice struct{ Name, Language, Variant string }

// voicesFor answers GetVoicesForLanguage: the voices whose language, or its primary part, was asked
// for.
func (o *Orca) voicesFor(language, variant string) ([]voice, *dbus.Error) {
	if _, err := o.recordCall("GetVoicesForLanguage", language); err != nil {
		return nil, err
	}
	found := []voice{}
	for _, l := range o.voices {
		if primary, _, _ := strings.Cut(l, "-"); l == language || primary == language {
			found = append(found, voice{Name: "Voice of " + l, Language: l, Variant: variant})
		}
	}
	return found, nil
}

// nameOwner answers the bus's GetNameOwner: who owns the name of Orca while it is there.
func (o *Orca) nameOwner(name string) (string, *dbus.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name != o.Name() || o.state == Absent {
		return "", dbus.NewError("org.freedesktop.DBus.Error.NameHasNoOwner", []any{"nobody has the name " + name})
	}
	return o.owner(), nil
}

// owner is the unique name of this life.
func (o *Orca) owner() string { return ":1." + strconv.Itoa(o.lives) }

// Be changes how Orca is doing. What hangs gets its answer when it is Hung no more. Programs on the
// connections see it leave and come back.
func (o *Orca) Be(state State) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	previous, oldOwner := o.state, o.owner()
	o.state = state
	close(o.changed)
	o.changed = make(chan struct{})
	if (previous == Absent) == (state == Absent) {
		return nil
	}
	newOwner := ""
	if previous == Absent {
		o.lives++
		oldOwner, newOwner = "", o.owner()
	}
	var errs []error
	for conn, real := range o.served {
		var err error
		switch {
		case !real:
			err = conn.Emit("/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged", o.Name(),
				oldOwner, newOwner)
		case state == Absent:
			_, err = conn.ReleaseName(o.Name())
		default:
			_, err = conn.RequestName(o.Name(), dbus.NameFlagDoNotQueue)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Calls returns what it was asked so far.
func (o *Orca) Calls() []Call {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

// Close has Orca leave, and ends all of its connections.
func (o *Orca) Close() error {
	o.Be(Absent)
	o.mu.Lock()
	defer o.mu.Unlock()
	for conn := range o.served {
		conn.Close()
	}
	for _, conn := range o.clients {
		conn.Close()
	}
	return nil
}
