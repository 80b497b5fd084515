package listen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// walk is where a person walked to last in what the agents said: the next of it is what they want
// where they say nothing else.
type walk struct {
	place announce.Place
	text  string // that they looked for
}

// runWalkCommand obeys a command by which a person walks in what the agents said, or saves it, and
// reports whether name is one. A command without its argument takes the one before, or gets an
// answer that says the form.
func (l *Listener) runWalkCommand(name, word string) bool {
	switch name {
	case "to", "back":
		if word != "" {
			l.walk.place = announce.Place(strings.ToLower(word))
		}
		if !slices.Contains(announce.Places(), l.walk.place) {
			l.walk.place = ""
			l.informOfMisuse(strings.TrimSpace("/"+name+" "+word), "/"+name+" "+joinPlaces())
			return true
		}
		l.forEachOutput(func(p *present.Presenter) { p.Walk(l.walk.place, name == "back") })
	case "find":
		if word != "" {
			l.walk.text = word
		}
		if l.walk.text == "" {
			l.informOfMisuse("/find", "/find main.go")
			return true
		}
		l.forEachOutput(func(p *present.Presenter) { p.Find(l.walk.text, false) })
	case "save":
		if word == "" {
			l.informOfMisuse("/save", "/save talk.md")
			return true
		}
		l.saveTranscript(word)
	default:
		return false
	}
	return true
}

// joinPlaces returns the names of the places that a person can walk to, with commas between, for an
// error.
func joinPlaces() string {
	var all []string
	for _, place := range announce.Places() {
		all = append(all, string(place))
	}
	return strings.Join(all, ", ")
}

// forEachOutput calls f with each output of the person, of which the terminal is one.
func (l *Listener) forEachOutput(f func(p *present.Presenter)) {
	for _, p := range l.allOutputs() {
		f(p)
	}
}

// NoteTyped keeps what the person typed for their agent, to be walked to and saved with what it
// says.
func (l *Listener) NoteTyped(text string) {
	l.forEachOutput(func(p *present.Presenter) {
		p.Plan(func(a *announce.Announcer, now time.Time) { a.NoteTyped(now, text) })
	})
}

// saveTranscript writes what the agents said into a new file that no other user can read, and says
// so.
func (l *Listener) saveTranscript(name string) {
	if err := writeTranscript(name, l.reads); err != nil {
		l.informPerson(l.PhraseText(phrase.NotSaved, words.Sentence(exits.PlainError(err))))
		return
	}
	l.informPerson(l.PhraseText(phrase.SavedIn, name))
}

// writeTranscript writes what the agents said into a new file, that only its owner may read; "~/"
// is the person's own directory. A file that is there is an error.
func writeTranscript(name string, person *present.Presenter) error {
	if rest, isInHome := strings.CutPrefix(name, "~/"); isInHome {
		if home, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(home, rest)
		}
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = person.WriteTranscript(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
