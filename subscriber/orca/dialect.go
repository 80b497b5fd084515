package orca

import "github.com/godbus/dbus/v5"

// dialect is one of the two ways in which versions of Orca offer the same thing.
type dialect struct {
	name    string // on the bus, and of the interface with PresentMessage
	path    dbus.ObjectPath
	modules []string // the objects below path which can know InterruptSpeech, newest first
	// interrupt is the method of a module that silences, and args what goes with it.
	interrupt string
	args      []any
	voices    string // the method that lists voices, or "" where its arguments are another matter
}

// dialects are all of them, the newest first.
var dialects = []dialect{
	{ // Orca 51: each module has an interface of its own
		name: "org.gnome.Orca1.Service", path: "/org/gnome/Orca1/Service",
		modules:   []string{"SpeechManager"},
		interrupt: "org.gnome.Orca1.SpeechManager.InterruptSpeech", args: []any{false},
		voices: "org.gnome.Orca1.SpeechManager.GetVoicesForLanguage",
	},
	{ // Orca 49 and 50: all modules have the same, and commands are named in words
		name: "org.gnome.Orca.Service", path: "/org/gnome/Orca/Service",
		modules:   []string{"SpeechManager", "SpeechAndVerbosityManager"},
		interrupt: "org.gnome.Orca.Module.ExecuteCommand", args: []any{"InterruptSpeech", false},
	},
}
