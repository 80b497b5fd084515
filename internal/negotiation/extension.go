package negotiation

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// agreedExtension is an extension that both sides know, with what was honored of its capability
// object.
type agreedExtension struct {
	handshake.Extension
	handshake.Effect
	listed bool // the subscriber named its URI, so it gets the extension's data (§5.3.1.9)
	report func(*Fault)
}

// negotiateExtensions chooses the extensions that request and offer have in common, lets each
// decide what it honors of its capability object, and writes into t what comes of that. note gets
// what the subscriber should know. The error is the *aaep.Rejection of agreeExtensions. decideTerms
// calls it.
func (t *Terms) negotiateExtensions(ask aaep.Capabilities, offer Offer, note func(string, ...any)) error {
	byPrefix, err := agreeExtensions(ask, offer)
	if err != nil {
		return err
	}
	t.Extensions = []string{}
	for _, uri := range ask.SupportedExtensions { // in the subscriber's order
		for _, a := range byPrefix {
			if a.URI == uri {
				t.Extensions = append(t.Extensions, uri)
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(ask.Extensions)) { // an extension has an object
		if isObject := bytes.HasPrefix(ask.Extensions[name], []byte("{")); byPrefix[name] == nil && !isObject {
			note("The capability %q is not known, and not used.", name)
		}
	}

	profile := sha256.New() // short, however long the objects are: it is compared and kept for every event
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		a := byPrefix[prefix]
		if asked := ask.Extensions[prefix]; asked != nil {
			if err := a.honorCapability(asked); err != nil {
				note("The capability %s is not used: %s.", prefix, strings.TrimSuffix(err.Error(), "."))
			} else {
				if a.Note != "" {
					note("%s", a.Note)
				}
				// One that the subscriber lists, and that is not offered, may have the same prefix.
				if !a.listed && namesOthers(ask.SupportedExtensions, offer.Extensions) {
					note("The capability %s is read as that of %s, which the subscriber does not list.", prefix, a.URI)
				}
				t.addEffect(prefix, a.Effect)
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

// agreeExtensions returns, by prefix, the offered extensions that the subscriber lists, or whose
// capability object it sends without listing another one of that prefix. Of two majors of one
// extension it takes the newer (D-62). Two different extensions of one prefix are refused with an
// *aaep.Rejection.
func agreeExtensions(ask aaep.Capabilities, offer Offer) (map[string]*agreedExtension, error) {
	offered := offer.Extensions
	byPrefix := map[string]*agreedExtension{}
	for _, ext := range offered {
		listed := slices.Contains(ask.SupportedExtensions, ext.URI)
		otherListed := func(other handshake.Extension) bool {
			return other.Prefix == ext.Prefix && slices.Contains(ask.SupportedExtensions, other.URI)
		}
		if !listed && (ask.Extensions[ext.Prefix] == nil || slices.ContainsFunc(offered, otherListed)) {
			continue
		}
		old := byPrefix[ext.Prefix]
		if old == nil {
			byPrefix[ext.Prefix] = &agreedExtension{Extension: ext, listed: listed, report: offer.Report}
			continue
		}
		name, major := splitMajor(ext.URI)
		oldName, oldMajor := splitMajor(old.URI)
		if name != oldName {
			return nil, refusePrefix(ext.Prefix, old.URI, ext.URI)
		}
		if major > oldMajor {
			*old = agreedExtension{Extension: ext, listed: listed, report: offer.Report}
		}
	}
	return byPrefix, nil
}

// namesOthers reports whether a subscriber lists extensions beside those that are offered.
func namesOthers(listed []string, offered []handshake.Extension) bool {
	return slices.ContainsFunc(listed, func(uri string) bool {
		return !slices.ContainsFunc(offered, func(ext handshake.Extension) bool { return ext.URI == uri })
	})
}

// maxCapability is the longest capability object that is honored, in bytes: it is kept, and told in
// every answer.
const maxCapability = 64 << 10

// errExtensionFault is all that a subscriber learns of a mistake of the extension's author.
var errExtensionFault = errors.New("the agent has made a mistake with it")

// honorCapability decides what of the capability object asked is honored, and writes it to
// a.Effect. It refuses an object that is too long or that the extension does not take. A mistake of
// the extension's author is reported, and returned as errExtensionFault: it must not travel.
func (a *agreedExtension) honorCapability(asked json.RawMessage) error {
	if len(asked) > maxCapability {
		return fmt.Errorf("it has %d bytes, and at most %d are read", len(asked), maxCapability)
	}
	if err := a.checkObject("Capability", a.Capability, asked); err != nil {
		return err
	}
	var e handshake.Effect
	if a.Extension.Honor != nil && !a.callShielded("Honor", func() { e = a.Extension.Honor(asked) }) {
		return errExtensionFault
	}
	for _, object := range []struct {
		field string
		data  json.RawMessage
	}{{"Honored", e.Honored}, {"Granted", e.Granted}, {"Resumed", e.Resumed}} {
		if object.data == nil {
			continue
		}
		err := a.checkObject("Capability", a.Capability, object.data)
		if err == nil {
			err = checkExceeds(jsontext.Value(asked), jsontext.Value(object.data), "")
		}
		if err != nil {
			a.reportFault("Effect."+object.field, err)
			return errExtensionFault
		}
	}
	if e.Honored == nil {
		e.Honored = asked
	}
	clampValues(&e, a.reportFault)
	a.Effect = e
	return nil
}

// clampValues brings the numbers and times of an effect within their bounds, and calls fault for
// each that was not.
func clampValues(e *handshake.Effect, fault func(field string, err error)) {
	clampNegative := func(field string, n *time.Duration) {
		if *n < 0 {
			fault("Effect."+field, fmt.Errorf("is negative: %v", *n))
			*n = 0
		}
	}
	clampNegative("MinTimeout", &e.MinTimeout)
	clampNegative("Quiet", &e.Quiet)
	clampNegative("IdleTimeout", &e.IdleTimeout)
	clampNegative("MaxDuration", &e.MaxDuration)
	if e.MinTimeout > 24*time.Hour {
		fault("Effect.MinTimeout", fmt.Errorf("is more than a day: %v", e.MinTimeout))
		e.MinTimeout = 24 * time.Hour
	}
	if e.MaxChunk < 0 {
		fault("Effect.MaxChunk", fmt.Errorf("is negative: %d", e.MaxChunk))
		e.MaxChunk = 0
	}
	if m := e.TimeoutMultiplier; m != 0 && !(m >= 1 && m <= 10) { // nor is it NaN
		fault("Effect.TimeoutMultiplier", fmt.Errorf("is not from 1 to 10: %v", m))
		e.TimeoutMultiplier = 1
		if m > 10 {
			e.TimeoutMultiplier = 10
		}
	}
}

// requireObject returns an error unless data is a JSON object.
func requireObject(data json.RawMessage) error {
	if d := jsontext.Value(data); d.Kind() != '{' || !d.IsValid() {
		return fmt.Errorf("it must be an object")
	}
	return nil
}

// checkExceeds returns an error if the value honored is more than the value asked, both valid JSON:
// a greater number, true for false, a member or an element that was not asked, another type. null
// is never more, and of two texts any counts as equal, but as elements of a list. pointer is the
// JSON pointer to the values, for the error.
func checkExceeds(asked, honored jsontext.Value, pointer string) error {
	if honored.Kind() == 'n' {
		return nil
	}
	if same := asked.Kind() == honored.Kind(); !same && !(asked.Kind() == 't' && honored.Kind() == 'f') {
		return fmt.Errorf("%s is more than was asked", pointer)
	}
	switch honored.Kind() {
	case '0':
		a, _ := strconv.ParseFloat(string(asked), 64)
		if h, _ := strconv.ParseFloat(string(honored), 64); h > a {
			return fmt.Errorf("%s is %s, and %s was asked", pointer, honored, asked)
		}
	case '{':
		var askedMembers, members map[string]jsontext.Value
		if jsonv2.Unmarshal(asked, &askedMembers) != nil || jsonv2.Unmarshal(honored, &members) != nil {
			return fmt.Errorf("%s cannot be read", pointer)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			v, ok := askedMembers[name]
			if !ok {
				return fmt.Errorf("%s was not asked", pointer+"/"+name)
			}
			if err := checkExceeds(v, members[name], pointer+"/"+name); err != nil {
				return err
			}
		}
	case '[':
		var askedItems, items []jsontext.Value
		if jsonv2.Unmarshal(asked, &askedItems) != nil || jsonv2.Unmarshal(honored, &items) != nil {
			return fmt.Errorf("%s cannot be read", pointer)
		}
		for i, v := range items {
			isText := v.Kind() == '"'
			j := slices.IndexFunc(askedItems, func(a jsontext.Value) bool {
				return checkExceeds(a, v, "") == nil && (!isText || slices.Equal(a, v))
			})
			if j < 0 {
				return fmt.Errorf("%s/%d was not asked", pointer, i)
			}
			askedItems = slices.Delete(askedItems, j, j+1)
		}
	}
	return nil
}

// addEffect adds to the terms what the extension with this prefix has honored. Of limits that
// several extensions set, the strictest counts; of times to answer, the longest.
// negotiateExtensions calls it for each extension whose capability object was sent.
func (t *Terms) addEffect(prefix string, e handshake.Effect) {
	if t.honored == nil {
		t.honored = map[string]json.RawMessage{}
	}
	t.honored[prefix] = e.Honored
	t.MaxChunk = smallerLimit(t.MaxChunk, e.MaxChunk)
	t.TimeoutMultiplier = max(t.TimeoutMultiplier, e.TimeoutMultiplier)
	t.MinTimeout = max(t.MinTimeout, e.MinTimeout)
	t.Quiet = max(t.Quiet, e.Quiet)
	if e.Quiet > 0 {
		t.quiet = append(t.quiet, prefix)
	}
	if e.MoreTime != "" {
		t.MoreTime, t.granted = e.MoreTime, answerGrants{prefix, e.Granted}
	}
	if e.ResumeAfter != "" {
		t.ResumeAfter, t.resumed = e.ResumeAfter, answerGrants{prefix, e.Resumed}
	}
	t.IdleTimeout = smallerLimit(t.IdleTimeout, e.IdleTimeout)
	t.MaxDuration = smallerLimit(t.MaxDuration, e.MaxDuration)
}

// answerGrants is a capability object that stands in one answer only: the one that gives more time,
// or that says that the subscription goes on where another one ended.
type answerGrants struct {
	prefix string
	object json.RawMessage
}

// Granted returns the Capabilities for the answer to a renegotiation whose MoreTime was given: they
// say so, which those of every later answer do not.
func (t Terms) Granted() aaep.Capabilities { return t.withGrants(t.granted) }

// Resumed returns the Capabilities for the answer that says that the subscription goes on after
// ResumeAfter.
func (t Terms) Resumed() aaep.Capabilities { return t.withGrants(t.resumed) }

// withGrants returns Capabilities with the object of g in the place of the one that every answer
// has.
func (t Terms) withGrants(g answerGrants) aaep.Capabilities {
	c := t.Capabilities()
	if g.object != nil {
		c.Extensions[g.prefix] = g.object
	}
	return c
}

// smallerLimit returns the smaller of two limits, of which zero is none.
func smallerLimit[T int | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Quiets reports whether any of these capability objects holds back what is not critical under
// these terms.
func (t Terms) Quiets(objects map[string]json.RawMessage) bool {
	return slices.ContainsFunc(t.quiet, func(prefix string) bool { return objects[prefix] != nil })
}

// Profile returns a string that is equal for two subscriptions whose events Extend changes alike,
// to compare them by; "" where no extension is listed.
func (t Terms) Profile() string { return t.profile }

// Keeps reports whether every extension that may hold events back lets this one pass. It is called
// for events that are not critical, and calls the extensions' functions; one that panics lets it
// pass.
func (t Terms) Keeps(ev *aaep.Event) bool {
	for i := range t.agreed {
		a, keep := &t.agreed[i], true
		if a.Keep != nil {
			// The extension gets a copy: what it does to that must not keep the event from a
			// person, or reach another subscription.
			handed := *ev
			a.callShielded("Effect.Keep", func() { keep = a.Keep(&handed, a.dataOn(ev.Extensions, ev.Context)) })
		}
		if !keep {
			return false
		}
	}
	return true
}

// dataOn returns the data of this extension among an event's extensions, or nil if context, that of
// the event, does not name the extension's URI.
func (a *agreedExtension) dataOn(extensions map[string]json.RawMessage, context []string) json.RawMessage {
	if !slices.Contains(context, a.URI) { // of another version, or of another extension with this prefix
		return nil
	}
	return extensions[a.Prefix]
}

// SameData reports whether two events have the same data of the extensions that this subscription
// named, so that their text may leave in one event. Data of other extensions does not count.
func (t Terms) SameData(x, y *aaep.Event) bool {
	if len(x.Extensions) == 0 && len(y.Extensions) == 0 {
		return true
	}
	for i := range t.agreed {
		if a := &t.agreed[i]; a.listed &&
			string(a.dataOn(x.Extensions, x.Context)) != string(a.dataOn(y.Extensions, y.Context)) {
			return false
		}
	}
	return true
}

// Extend gives an event, which must be the caller's own copy, the extension data of this
// subscription in place of what the agent put there: data goes only to those who named the
// extension (§5.3.1.9). Data that an extension would not take is left out.
func (t Terms) Extend(ev *aaep.Event) {
	if len(ev.Extensions) == 0 &&
		!slices.ContainsFunc(t.agreed, func(a agreedExtension) bool { return a.Data != nil }) {
		return
	}
	agentData, context := ev.Extensions, ev.Context
	ev.Extensions = nil
	// The vocabularies of an extension's own event stay: its type needs them.
	_, isExtensionEvent := ev.Payload.(*aaep.ExtensionPayload)
	if !isExtensionEvent {
		ev.Context = nil
	}
	for i := range t.agreed {
		a := &t.agreed[i]
		if !a.listed {
			continue
		}
		data := a.dataOn(agentData, context)
		if data != nil && a.checkObject("Event", a.Event, data) != nil {
			data = nil // it is not this extension's
		}
		if a.Data != nil {
			var added json.RawMessage
			handed := *ev // as in Keeps
			if a.callShielded("Effect.Data", func() { added = a.Data(&handed, data) }) && added != nil {
				if err := a.checkObject("Event", a.Event, added); err != nil {
					a.reportFault("Effect.Data", fmt.Errorf("returned what is not valid: %w", err))
					added = nil
				}
			}
			data = added
		}
		if data == nil {
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

// checkObject returns what check says of object, or an error if object is no JSON object. check is
// the extension's function in the named field, Capability or Event; nil takes any object.
func (a *agreedExtension) checkObject(field string, check func(json.RawMessage) error,
	object json.RawMessage) (err error) {
	if check != nil && !a.callShielded(field, func() { err = check(object) }) {
		err = errExtensionFault
	}
	return cmp.Or(err, requireObject(object))
}

// A Fault is a mistake of an extension's author, who alone can mend it.
type Fault struct {
	// Extension is the URI, and Field the field of Extension, or of Effect as in "Effect.Data".
	Extension, Field string
	Err              error
	Panicked         bool // it is reported from where it panics, so that the caller's stack shows where that is
}

// Error names the extension and the field.
func (f *Fault) Error() string {
	return "extension " + f.Extension + ": " + f.Field + ": " + f.Err.Error()
}

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// reportFault reports a mistake of the extension's author.
func (a *agreedExtension) reportFault(field string, err error) {
	if a.report != nil {
		a.report(&Fault{Extension: a.URI, Field: field, Err: err})
	}
}

// callShielded calls f, which calls the extension's function in the named field, and reports
// whether it returned. A panic in it is reported as a Fault, and goes no further.
func (a *agreedExtension) callShielded(field string, f func()) (ok bool) {
	defer func() {
		if crash := recover(); crash != nil && a.report != nil {
			a.report(&Fault{Extension: a.URI, Field: field, Err: fmt.Errorf("panic: %v", crash), Panicked: true})
		}
	}()
	f()
	return true
}

// splitMajor splits the URI of a vocabulary into what names it and its major version: 1 for v1 in
// ".../v1". A URI without one has the version 0.
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
