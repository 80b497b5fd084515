package soak_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
)

// A note is one line of a listener's journal: a link, an event, a reply or the end. The journal
// outlives the process, which may be killed at any byte of it.
type note struct {
	At     time.Time       `json:"at"`
	Link   *link           `json:"link,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"`
	Place  string          `json:"place,omitempty"` // after which event to go on from now on
	Reply  string          `json:"reply,omitempty"` // accepts the question with this token
	Closed string          `json:"closed,omitempty"`
}

// A link is the beginning of a stream of events.
type link struct {
	Subscription string
	Location     string `json:",omitempty"` // where it can be opened again
	After        string // the event after which it goes on; "" is none
	GoesOn       bool   // it does
	Kept         bool   // the same telling goes on over another link, the relay has seen to that
}

type journal struct {
	f    *os.File
	last note // the newest place, link and end
}

// openJournal takes back half a line that a killed process has left.
func openJournal(path string) (*journal, error) {
	all, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	whole := all[:bytes.LastIndexByte(all, '\n')+1]
	j := &journal{}
	if j.f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	notes, err := notesIn(whole)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		j.keep(n)
	}
	if err := j.f.Truncate(int64(len(whole))); err != nil {
		return nil, err
	}
	_, err = j.f.Seek(0, 2)
	return j, err
}

func (j *journal) keep(n note) {
	if n.Link != nil {
		j.last.Link = n.Link
	}
	if n.Place != "" {
		j.last.Place = n.Place
	}
	if n.Closed != "" {
		j.last.Closed = n.Closed
	}
}

// add writes a line with one call.
func (j *journal) add(n note) error {
	n.At = time.Now()
	j.keep(n)
	line, err := json.Marshal(n)
	if err == nil {
		_, err = j.f.Write(append(line, '\n'))
	}
	return err
}

// endsWith reports whether one of these texts is in the last lines of a journal.
func endsWith(t testing.TB, path string, texts []string) bool {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	size, err := f.Seek(0, 2)
	check(t, err)
	data := make([]byte, min(size, lately*1000))
	n, err := f.ReadAt(data, size-int64(len(data)))
	if err != io.EOF {
		check(t, err)
	}
	return containsAny(data[:n], texts)
}

func containsAny(data []byte, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(data, []byte(text)) })
}

func notesIn(data []byte) (notes []note, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var n note
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			return nil, err
		}
		notes = append(notes, n)
	}
	return notes, lines.Err()
}

// A shape is what one listener asks for.
type shape struct {
	Name  string
	Terms aaep.Capabilities
}

// shapes are as different as listeners are. Those with a rate leave out what does not fit into it
// in the long run: they are to be slowed down, not to be too slow.
func shapes() []shape {
	yes, no := new(true), new(false)
	exclude := func(types ...string) *aaep.EventFilters { return &aaep.EventFilters{Exclude: types} }
	few := exclude("aaep:agent.tool.*", "aaep:agent.output.*")
	return []shape{
		{"all",
			aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}, SupportsConfirmationReply: yes,
				SupportsClarificationReply: yes, PreferredVerbosity: aaep.VerbosityDetailed}},
		{"sentences",
			aaep.Capabilities{Languages: []string{"es"}, CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence},
				SupportsConfirmationReply: yes, SupportsClarificationReply: no}},
		{"paced",
			aaep.Capabilities{Languages: []string{"de"}, MaxEventsPerSecond: 30,
				CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryWord}, PreferredVerbosity: aaep.VerbosityTerse,
				SupportsConfirmationReply: no, SupportsClarificationReply: no}},
		{"calm",
			aaep.Capabilities{Languages: []string{"ar"}, MaxEventsPerSecond: 20,
				CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryParagraph},
				CognitiveLoad:      aaep.LoadLow, SupportsConfirmationReply: no, SupportsClarificationReply: no,
				EventFilters: exclude("aaep:agent.tool.*")}},
		{"few", aaep.Capabilities{Languages: []string{"pt", "es"}, MaxEventsPerSecond: 15, EventFilters: few,
			SupportsConfirmationReply: no, SupportsClarificationReply: no}},
		{"whole",
			aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion},
				SupportsConfirmationReply: yes, SupportsClarificationReply: yes}},
		{"critical",
			aaep.Capabilities{Languages: []string{"de"}, EventFilters: exclude("*"), SupportsConfirmationReply: no,
				SupportsClarificationReply: no}},
	}
}

// asking is what a listener asks for to go on after an event.
func (s shape) asking(place string) aaep.Capabilities {
	c := s.Terms
	if err := c.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: place}); err != nil {
		panic(err)
	}
	return c
}

// goesOn reports whether a producer honors that.
func goesOn(acc *aaep.SubscriptionAccepted, place string) bool {
	return place != "" && strings.Contains(string(acc.HonoredCapabilities.Extensions["delivery"]), place)
}

// isPlace reports whether to go on after an event, on a link that has no ids beside the events.
func isPlace(ev *aaep.Event) bool {
	var d extensions.DeliveryData
	data := ev.Extensions["delivery"]
	return data == nil || extensions.DeliveryVocabulary.Read(data, &d) == nil && (d.Resumable == nil || *d.Resumable)
}
