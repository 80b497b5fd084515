package negotiation

import (
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

// negotiateExtensions chooses the extensions that request and offer have in common, and lets them
// decide.
func (t *Terms) negotiateExtensions(ask aaep.Capabilities, offer Offer, note func(string, ...any)) error {
	offered := offer.Extensions
	t.Extensions = []string{}
	byPrefix := map[string]*agreedExtension{}
	for _, ext := range offered {
		listed := slices.Contains(ask.SupportedExtensions, ext.URI)
		if !listed && (ask.Extensions[ext.Prefix] == nil || slices.ContainsFunc(offered, func(other handshake.Extension) bool {
			return other.Prefix == ext.Prefix && slices.Contains(ask.SupportedExtensions, other.URI)
		})) {
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
			return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible, Message: clipNote(fmt.Sprintf(
				"The extensions %s and %s both use the prefix %q. Ask for one of them.", old.URI, ext.URI, ext.Prefix))}
		}
		if major > oldMajor { // two majors of one extension: the newer (D-62)
			*old = agreedExtension{Extension: ext, listed: listed, report: offer.Report}
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
			if err := a.honorCapability(asked); err != nil {
				note("The capability %s is not used: %s.", prefix, strings.TrimSuffix(err.Error(), "."))
			} else {
				if a.Note != "" {
					note("%s", a.Note)
				}
				if !a.listed && namesOthers(ask.SupportedExtensions, offered) { // which may have the same prefix
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

// honorCapability decides what of a capability object is honored.
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
		of    json.RawMessage
	}{{"Honored", e.Honored}, {"Granted", e.Granted}, {"Resumed", e.Resumed}} {
		if object.of == nil {
			continue
		}
		err := a.checkObject("Capability", a.Capability, object.of)
		if err == nil {
			err = checkExceeds(jsontext.Value(asked), jsontext.Value(object.of), "")
		}
		if err != nil { // it must not travel
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

// clampValues brings an effect within its bounds, and reports where it was not.
func clampValues(e *handshake.Effect, fault func(field string, err error)) {
	least0 := func(field string, n *time.Duration) {
		if *n < 0 {
			fault("Effect."+field, fmt.Errorf("is negative: %v", *n))
			*n = 0
		}
	}
	least0("MinTimeout", &e.MinTimeout)
	least0("Quiet", &e.Quiet)
	least0("IdleTimeout", &e.IdleTimeout)
	least0("MaxDuration", &e.MaxDuration)
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

// isObject returns an error unless data is a JSON object.
func isObject(data json.RawMessage) error {
	if d := jsontext.Value(data); d.Kind() != '{' || !d.IsValid() {
		return fmt.Errorf("it must be an object")
	}
	return nil
}

// checkExceeds says where a value that is honored, both of valid JSON, is more than what was asked.
// Texts cannot be compared so.
func checkExceeds(asked, honored jsontext.Value, at string) error {
	if honored.Kind() == 'n' {
		return nil
	}
	if same := asked.Kind() == honored.Kind(); !same && !(asked.Kind() == 't' && honored.Kind() == 'f') {
		return fmt.Errorf("%s is more than was asked", at)
	}
	switch honored.Kind() {
	case '0':
		a, _ := strconv.ParseFloat(string(asked), 64)
		if h, _ := strconv.ParseFloat(string(honored), 64); h > a {
			return fmt.Errorf("%s is %s, and %s was asked", at, honored, asked)
		}
	case '{':
		var had, has map[string]jsontext.Value
		if jsonv2.Unmarshal(asked, &had) != nil || jsonv2.Unmarshal(honored, &has) != nil {
			return fmt.Errorf("%s cannot be read", at)
		}
		for _, name := range slices.Sorted(maps.Keys(has)) {
			v, ok := had[name]
			if !ok {
				return fmt.Errorf("%s was not asked", at+"/"+name)
			}
			if err := checkExceeds(v, has[name], at+"/"+name); err != nil {
				return err
			}
		}
	case '[':
		var had, has []jsontext.Value
		if jsonv2.Unmarshal(asked, &had) != nil || jsonv2.Unmarshal(honored, &has) != nil {
			return fmt.Errorf("%s cannot be read", at)
		}
		for i, v := range has {
			text := v.Kind() == '"'
			j := slices.IndexFunc(had, func(a jsontext.Value) bool {
				return checkExceeds(a, v, "") == nil && (!text || slices.Equal(a, v))
			})
			if j < 0 {
				return fmt.Errorf("%s/%d was not asked", at, i)
			}
			had = slices.Delete(had, j, j+1)
		}
	}
	return nil
}

// addEffect takes over an effect.
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

// answerGrants is a capability object of one answer, which gives more time or goes on where another
// subscription ended.
type answerGrants struct {
	prefix string
	object json.RawMessage
}

// Granted is Capabilities for the answer that gives the time that MoreTime asks for.
func (t Terms) Granted() aaep.Capabilities { return t.withGrants(t.granted) }

// Resumed is Capabilities for the answer that says that the subscription goes on after ResumeAfter.
func (t Terms) Resumed() aaep.Capabilities { return t.withGrants(t.resumed) }

// withGrants returns the capabilities as one answer has them.
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

// Profile is the same for two subscriptions whose events Extend changes alike.
func (t Terms) Profile() string { return t.profile }

// Keeps reports whether the extensions let an event pass that is not critical.
func (t Terms) Keeps(ev *aaep.Event) bool {
	for i := range t.agreed {
		a, keep := &t.agreed[i], true
		if a.Keep != nil {
			handed := *ev // what others do to it must not keep the event from a person, or reach another subscription
			a.callShielded("Effect.Keep", func() { keep = a.Keep(&handed, a.dataOn(ev.Extensions, ev.Context)) })
		}
		if !keep {
			return false
		}
	}
	return true
}

// dataOn is the data of this extension, by its own URI, among that of an event, or nil.
func (a *agreedExtension) dataOn(extensions map[string]json.RawMessage, context []string) json.RawMessage {
	if !slices.Contains(context, a.URI) { // of another version, or of another extension with this prefix
		return nil
	}
	return extensions[a.Prefix]
}

// SameData reports whether two events have the same data of the extensions that this subscription
// named.
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
// extension (§5.3.1.9).
func (t Terms) Extend(ev *aaep.Event) {
	if len(ev.Extensions) == 0 &&
		!slices.ContainsFunc(t.agreed, func(a agreedExtension) bool { return a.Data != nil }) {
		return
	}
	had, context := ev.Extensions, ev.Context
	ev.Extensions = nil
	// The vocabularies of an extension's own event stay: its type needs them.
	_, own := ev.Payload.(*aaep.ExtensionPayload)
	if !own {
		ev.Context = nil
	}
	for i := range t.agreed {
		a := &t.agreed[i]
		if !a.listed {
			continue
		}
		data := a.dataOn(had, context)
		if data != nil && a.checkObject("Event", a.Event, data) != nil {
			data = nil // it is not this extension's
		}
		if a.Data != nil {
			var made json.RawMessage
			handed := *ev // as in Keeps
			if a.callShielded("Effect.Data", func() { made = a.Data(&handed, data) }) && made != nil {
				if err := a.checkObject("Event", a.Event, made); err != nil {
					a.reportFault("Effect.Data", fmt.Errorf("returned what is not valid: %w", err))
					made = nil
				}
			}
			data = made
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

// checkObject is Extension.Capability or Event, of which nil takes any object.
func (a *agreedExtension) checkObject(field string, is func(json.RawMessage) error,
	object json.RawMessage) (err error) {
	if is != nil && !a.callShielded(field, func() { err = is(object) }) {
		err = errExtensionFault
	}
	return cmp.Or(err, isObject(object))
}

// A Fault is a mistake of an extension's author, who alone can mend it.
type Fault struct {
	// Extension is the URI, and Field the field of Extension, or of Effect as in "Effect.Data".
	Extension, Field string
	Err              error
	Panicked         bool // it is reported from where it panics, so that the caller's stack shows where that is
}

func (f *Fault) Error() string {
	return "extension " + f.Extension + ": " + f.Field + ": " + f.Err.Error()
}
func (f *Fault) Unwrap() error { return f.Err }

// reportFault reports a mistake of the extension's author.
func (a *agreedExtension) reportFault(field string, err error) {
	if a.report != nil {
		a.report(&Fault{Extension: a.URI, Field: field, Err: err})
	}
}

// callShielded calls a function of the extension's, and reports whether it returned.
func (a *agreedExtension) callShielded(field string, f func()) (ok bool) {
	defer func() {
		if crash := recover(); crash != nil && a.report != nil {
			a.report(&Fault{Extension: a.URI, Field: field, Err: fmt.Errorf("panic: %v", crash), Panicked: true})
		}
	}()
	f()
	return true
}

// splitMajor splits the URI of a vocabulary into what names it and its major version: v1 in
// ".../v1".
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
