package orca

import (
	"context"
	"fmt"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Before version 49 Orca has no service, but speaks every notification that an accessible program
// shows, whatever has the focus. An accessible is such a program as far as Orca asks, which is a
// tree of one application and what it shows, on the bus of accessibility.
type accessible struct {
	conn *dbus.Conn

	mu     sync.Mutex
	parent reference // the desktop
	last   int       // the number of the newest notification
}

// reference is an object on the bus of accessibility.
type reference struct {
	Name string
	Path dbus.ObjectPath
}

const (
	registry   = "org.a11y.atspi.Registry"
	rootPath   = dbus.ObjectPath("/org/a11y/atspi/accessible/root")
	nullPath   = dbus.ObjectPath("/org/a11y/atspi/null")
	properties = "org.freedesktop.DBus.Properties"
	ofObjects  = "org.a11y.atspi.Accessible"
	ofApps     = "org.a11y.atspi.Application"
	asEvent    = "org.a11y.atspi.Event.Object.StateChanged"

	roleApplication, roleNotification = 75, 101
	statesShown                       = 1<<8 | 1<<24 | 1<<25 | 1<<30 // enabled, sensitive, showing, visible
)

// openAccessible makes this program an accessible one, on the bus that the session names. The error
// is ErrAbsent where there is no bus of accessibility. Closing the result's connection takes the
// program away again.
func openAccessible(ctx context.Context, session *dbus.Conn) (*accessible, error) {
	var address string
	get := session.Object("org.a11y.Bus", "/org/a11y/bus").CallWithContext(ctx, "org.a11y.Bus.GetAddress",
		dbus.FlagNoAutoStart)
	if err := get.Store(&address); err != nil {
		return nil, ErrAbsent
	}
	conn, err := dbus.Connect(address)
	if err != nil {
		return nil, fmt.Errorf("orca: no bus of accessibility: %w", err)
	}
	a := &accessible{conn: conn}
	root := &object{of: a, path: rootPath, name: "aaep", role: roleApplication}
	if err = a.exportObject(root, ofObjects, ofApps); err == nil {
		embed := conn.Object(registry, rootPath).CallWithContext(ctx, "org.a11y.atspi.Socket.Embed", 0,
			a.referenceTo(rootPath))
		err = embed.Store(&a.parent)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("orca: the registry of accessibility: %w", err)
	}
	return a, nil
}

// referenceTo returns a reference to an object of this program.
func (a *accessible) referenceTo(path dbus.ObjectPath) reference {
	return reference{a.conn.Names()[0], path}
}

// exportObject lets other programs on the bus ask an object for these interfaces, and for its
// properties. The error is the connection's.
func (a *accessible) exportObject(o *object, interfaces ...string) error {
	o.interfaces = interfaces
	for _, name := range append([]string{properties}, interfaces...) {
		if err := a.conn.Export(o, o.path, name); err != nil {
			return err
		}
	}
	return nil
}

// showNotification shows a text. Each is an object of its own, since what Orca knows of an object
// is kept; the last keptShown stay. Any goroutine may call it.
func (a *accessible) showNotification(text string) error {
	a.mu.Lock()
	a.last++
	o := &object{of: a, path: dbus.ObjectPath(fmt.Sprintf("/org/a11y/atspi/accessible/%d", a.last)), name: text,
		role: roleNotification}
	oldest := dbus.ObjectPath(fmt.Sprintf("/org/a11y/atspi/accessible/%d", a.last-keptShown))
	a.mu.Unlock()
	for _, name := range []string{properties, ofObjects} {
		a.conn.Export(nil, oldest, name)
	}
	if err := a.exportObject(o, ofObjects); err != nil {
		return err
	}
	return a.conn.Emit(o.path, asEvent, "showing", int32(1), int32(0), dbus.MakeVariant(int32(0)),
		map[string]dbus.Variant{})
}

// keptShown is how many notifications can still be asked for: Orca may be busy when one is shown.
const keptShown = 50

// object is one of the tree: the application, or a notification. Its exported methods are those of
// the interfaces of accessibility.
type object struct {
	of         *accessible
	path       dbus.ObjectPath
	name       string
	role       uint32
	interfaces []string
}

// propertyValue returns the value of a property of accessibility, and whether there is one.
func (o *object) propertyValue(name string) (dbus.Variant, bool) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	values := map[string]any{"Name": o.name, "Description": "", "Parent": o.parentReference(), "ChildCount": int32(0),
		"Locale": "", "AccessibleId": "",
		"ToolkitName": "aaep", "Version": "1", "AtspiVersion": "2.1", "Id": int32(0)}
	value, known := values[name]
	return dbus.MakeVariant(value), known
}

// parentReference returns the parent of the object in the tree of accessibility: the application
// for a notification, and the desktop for the application.
func (o *object) parentReference() reference {
	if o.path == rootPath {
		return o.of.parent
	}
	return o.of.referenceTo(rootPath)
}

// Get is the method of org.freedesktop.DBus.Properties: it returns one property.
func (o *object) Get(_, name string) (dbus.Variant, *dbus.Error) {
	value, known := o.propertyValue(name)
	if !known {
		return value, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
	}
	return value, nil
}

// GetAll is the method of org.freedesktop.DBus.Properties: it returns all properties, whatever
// interface is asked for.
func (o *object) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	values := map[string]dbus.Variant{}
	for _, name := range []string{"Name", "Description", "Parent", "ChildCount", "Locale", "AccessibleId"} {
		values[name], _ = o.propertyValue(name)
	}
	return values, nil
}

// Set takes the id that the registry gives an application.
func (o *object) Set(string, string, dbus.Variant) *dbus.Error { return nil }

// GetChildAtIndex returns none: what was shown is not there to be looked for.
func (o *object) GetChildAtIndex(int32) (reference, *dbus.Error) { return reference{"", nullPath}, nil }

func (o *object) GetChildren() ([]reference, *dbus.Error)         { return []reference{}, nil }
func (o *object) GetIndexInParent() (int32, *dbus.Error)          { return 0, nil }
func (o *object) GetRelationSet() ([]relation, *dbus.Error)       { return []relation{}, nil }
func (o *object) GetRole() (uint32, *dbus.Error)                  { return o.role, nil }
func (o *object) GetRoleName() (string, *dbus.Error)              { return "notification", nil }
func (o *object) GetLocalizedRoleName() (string, *dbus.Error)     { return "", nil }
func (o *object) GetState() ([]uint32, *dbus.Error)               { return []uint32{statesShown, 0}, nil }
func (o *object) GetAttributes() (map[string]string, *dbus.Error) { return map[string]string{}, nil }
func (o *object) GetApplication() (reference, *dbus.Error)        { return o.of.referenceTo(rootPath), nil }
func (o *object) GetInterfaces() ([]string, *dbus.Error)          { return o.interfaces, nil }

// relation is one of an object to others.
type relation struct {
	Kind uint32
	To   []reference
}
