package handshake

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// An Extension is a vocabulary beyond AAEP's own that a producer serves (chapter 7): what a subscriber may
// declare under its prefix, what of that is honored, and what that changes. Register it in
// producer.Config.Extensions. The extensions of this SDK are in package handshake/extensions, and are made
// of nothing else.
//
// An extension adds to events and never takes from the core: it cannot reach the envelope, the payload, or the
// confirmation contract (§7.2).
type Extension struct {
	// Vocabulary is the prefix and the URI of the extension.
	aaep.Vocabulary
	// Capability reports what is wrong with a capability object, and Event what is wrong with the data on an
	// event; schemas.MustCompile makes such functions from a JSON Schema. Nil takes any object.
	Capability, Event func(json.RawMessage) error
	// Honor decides what of a capability object is honored, and what that changes; the object has passed
	// Capability, and Vocabulary.Read reads it. It is a pure function, and must not honor more than was asked. Nil honors all of it, as
	// something that only the agent's author acts upon.
	Honor func(asked json.RawMessage) Effect
}

// Effect is what honoring a capability object changes for one subscription. Where several extensions have an
// effect, the one that asks more of the producer wins.
type Effect struct {
	// Honored is the object for honored_capabilities. Nil is as asked.
	Honored json.RawMessage
	// Note says in words what differs from what was asked, or is empty.
	Note string

	// MaxChunk is the most characters of one output event; text is cut between words. Zero is no such limit.
	MaxChunk int
	// TimeoutMultiplier, from 1 to 10, gives more time to answer a question. Zero is 1.
	TimeoutMultiplier float64
	// MinTimeout is the least time to answer a question. Zero is none; a day is as long as a question may be open.
	MinTimeout time.Duration
	// MoreTime is the token of a question that its listener wants more time to answer, in a renegotiation; it is
	// given at once, as much again and ten times at most. Granted then stands in the answer in place of Honored.
	MoreTime aaep.ReplyToken
	Granted  json.RawMessage
	// ResumeAfter is the id of the event after which the subscription goes on, instead of with what comes next. Where the
	// producer still has what came then, Resumed stands in the first answer in place of Honored.
	ResumeAfter string
	Resumed     json.RawMessage
	// Quiet holds back what is not critical for this long from now on, or until the next declaration.
	Quiet time.Duration
	// IdleTimeout ends a subscription to which nothing was sent for so long, MaxDuration one that is so old.
	// Zero is never.
	IdleTimeout, MaxDuration time.Duration
	// Keep says whether an event that is not critical is sent; data is what stands under the extension's prefix,
	// or nil. A nil Keep sends all.
	Keep func(ev *aaep.Event, data json.RawMessage) bool
	// Data returns what stands under the extension's prefix on an event for this subscription, or nil for
	// nothing; data is what the agent put there, or nil. A nil Data sends it as it is.
	//
	// Neither Keep nor Data may change ev. What they return depends on what was honored and on the arguments alone: who was
	// honored the same is told the same.
	Data func(ev *aaep.Event, data json.RawMessage) json.RawMessage
}

// agreed is an extension that both sides know, with what was honored of its capability object.
type agreed struct {
	Extension
	Effect
	listed bool // the subscriber named its URI, so it gets the extension's data (§5.3.1.9)
}

// extensions chooses the extensions that request and offer have in common, and lets them decide.
func (t *Terms) extensions(ask aaep.Capabilities, offered []Extension, note func(string, ...any)) error {
	t.Extensions = []string{}
	byPrefix := map[string]*agreed{}
	for _, ext := range offered {
		listed := slices.Contains(ask.SupportedExtensions, ext.URI)
		if !listed && (ask.Extensions[ext.Prefix] == nil || slices.ContainsFunc(offered, func(other Extension) bool {
			return other.Prefix == ext.Prefix && slices.Contains(ask.SupportedExtensions, other.URI)
		})) {
			continue
		}
		old := byPrefix[ext.Prefix]
		if old == nil {
			byPrefix[ext.Prefix] = &agreed{Extension: ext, listed: listed}
			continue
		}
		name, major := splitMajor(ext.URI)
		oldName, oldMajor := splitMajor(old.URI)
		if name != oldName {
			return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible, Message: clip(fmt.Sprintf(
				"The extensions %s and %s both use the prefix %q. Ask for one of them.", old.URI, ext.URI, ext.Prefix))}
		}
		if major > oldMajor { // two majors of one extension: the newer (D-62)
			*old = agreed{Extension: ext, listed: listed}
		}
	}
	for _, uri := range ask.SupportedExtensions { // in the subscriber's order
		for _, a := range byPrefix {
			if a.URI == uri {
				t.Extensions = append(t.Extensions, uri)
			}
		}
	}
	profile := sha256.New() // short, however long the objects are: it is compared and kept for every event
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		a := byPrefix[prefix]
		if asked := ask.Extensions[prefix]; asked != nil {
			if err := a.honor(asked); err != nil {
				note("The capability %s is not used: %s.", prefix, strings.TrimSuffix(err.Error(), "."))
			} else {
				if a.Note != "" {
					note("%s", a.Note)
				}
				t.add(prefix, a.Effect)
			}
		}
		if a.listed || a.Keep != nil {
			t.agreed = append(t.agreed, *a)
		}
		if a.listed {
			fmt.Fprintf(profile, "%s %s\n", a.URI, a.Honored)
			t.profile = string(profile.Sum(nil))
		}
	}
	return nil
}

// maxCapability is the longest capability object that is honored, in bytes: it is kept, and told in every answer.
const maxCapability = 64 << 10

// honor decides what of a capability object is honored.
func (a *agreed) honor(asked json.RawMessage) error {
	if len(asked) > maxCapability {
		return fmt.Errorf("it has %d bytes, and at most %d are read", len(asked), maxCapability)
	}
	check := a.Capability
	if check == nil {
		check = isObject
	}
	if err := check(asked); err != nil {
		return err
	}
	var e Effect
	if a.Extension.Honor != nil {
		e = a.Extension.Honor(asked)
	}
	if e.Honored == nil {
		e.Honored = asked
	}
	if err := check(e.Honored); err != nil { // a mistake of the extension's author, which must not travel
		return fmt.Errorf("what would be honored is not valid: %w", err)
	}
	a.Effect = e
	return nil
}

func isObject(data json.RawMessage) error {
	if d := jsontext.Value(data); d.Kind() != '{' || !d.IsValid() {
		return fmt.Errorf("it must be an object")
	}
	return nil
}

// add takes over an effect.
func (t *Terms) add(prefix string, e Effect) {
	if t.honored == nil {
		t.honored = map[string]json.RawMessage{}
	}
	t.honored[prefix] = e.Honored
	t.MaxChunk = least(t.MaxChunk, max(e.MaxChunk, 0))
	t.TimeoutMultiplier = min(max(t.TimeoutMultiplier, e.TimeoutMultiplier), 10)
	t.MinTimeout = min(max(t.MinTimeout, e.MinTimeout), 24*time.Hour)
	t.Quiet = max(t.Quiet, e.Quiet)
	if e.Quiet > 0 {
		t.quiet = append(t.quiet, prefix)
	}
	if e.MoreTime != "" {
		t.MoreTime, t.granted = e.MoreTime, granted{prefix, e.Granted}
	}
	if e.ResumeAfter != "" {
		t.ResumeAfter, t.resumed = e.ResumeAfter, granted{prefix, e.Resumed}
	}
	t.IdleTimeout = least(t.IdleTimeout, max(e.IdleTimeout, 0))
	t.MaxDuration = least(t.MaxDuration, max(e.MaxDuration, 0))
}

// granted is a capability object of one answer, which gives more time or goes on where another subscription ended.
type granted struct {
	prefix string
	object json.RawMessage
}

// Granted is Capabilities for the answer that gives the time that MoreTime asks for.
func (t Terms) Granted() aaep.Capabilities { return t.with(t.granted) }

// Resumed is Capabilities for the answer that says that the subscription goes on after ResumeAfter.
func (t Terms) Resumed() aaep.Capabilities { return t.with(t.resumed) }

func (t Terms) with(g granted) aaep.Capabilities {
	c := t.Capabilities()
	if g.object != nil {
		c.Extensions[g.prefix] = g.object
	}
	return c
}

// least is the smaller of two limits, of which zero is none.
func least[T int | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Quiets reports whether any of these capability objects holds back what is not critical under these terms.
func (t Terms) Quiets(objects map[string]json.RawMessage) bool {
	return slices.ContainsFunc(t.quiet, func(prefix string) bool { return objects[prefix] != nil })
}

// Profile is the same for two subscriptions whose events Extend changes alike.
func (t Terms) Profile() string { return t.profile }

// Keeps reports whether the extensions let an event pass that is not critical.
func (t Terms) Keeps(ev *aaep.Event) bool {
	for _, a := range t.agreed {
		if a.Keep != nil && !a.Keep(ev, ev.Extensions[a.Prefix]) {
			return false
		}
	}
	return true
}

// Extend gives an event, which must be the caller's own copy, the extension data of this subscription in place
// of what the agent put there: data goes only to those who named the extension (§5.3.1.9).
func (t Terms) Extend(ev *aaep.Event) {
	if len(ev.Extensions) == 0 && !slices.ContainsFunc(t.agreed, func(a agreed) bool { return a.Data != nil }) {
		return
	}
	had := ev.Extensions
	ev.Extensions = nil
	// The vocabularies of an extension's own event stay: its type needs them.
	_, own := ev.Payload.(*aaep.Extension)
	if !own {
		ev.Context = nil
	}
	for _, a := range t.agreed {
		if !a.listed {
			continue
		}
		data := had[a.Prefix]
		if data != nil && a.Event != nil && a.Event(data) != nil {
			data = nil // it is not this extension's
		}
		if a.Data != nil {
			data = a.Data(ev, data)
		}
		if data == nil || isObject(data) != nil { // what is no object does not travel
			continue
		}
		if ev.Extensions == nil {
			ev.Extensions = map[string]json.RawMessage{}
		}
		ev.Extensions[a.Prefix] = data
		if !slices.Contains(ev.Context, a.URI) {
			if len(ev.Context) == 0 {
				ev.Context = []string{aaep.CoreContext}
			}
			ev.Context = append(slices.Clip(ev.Context), a.URI)
		}
	}
}

// splitMajor splits the URI of a vocabulary into what names it and its major version: v1 in ".../v1".
func splitMajor(uri string) (name string, major int) {
	parts := strings.Split(uri, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if digits, ok := strings.CutPrefix(parts[i], "v"); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				return strings.Join(slices.Delete(parts, i, i+1), "/"), n
			}
		}
	}
	return uri, 0
}
