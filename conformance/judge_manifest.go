package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/manifest"
)

// runManifest is the scenario run that subscribes, demands a signed manifest on a second link, and
// fetches the manifest, by ProducerRun.Manifest or from where the answer says. It notes the
// manifest, or why there is none, in the recording.
func runManifest(h *producerHarness) {
	l := h.subscribeLink(usualCapabilities())
	fetch := h.run.Manifest
	if fetch == nil {
		var answer message
		h.recorder.awaitCondition(h.ctx, 0,
			func(r *Recording) bool { answer, _ = r.firstAnswer(l.index); return true })
		uri := answer.stringMember("manifest_uri")
		fetch = func(ctx context.Context) ([]byte, error) {
			if uri == "" {
				return nil, errNoAddress
			}
			return manifest.Fetch(ctx, uri, nil)
		}
	}
	if !h.run.OneLink {
		h.subscribeLink(withMembers(usualCapabilities(), object{"accept_signed_manifests_only": true,
			"supports_confirmation_reply": false, "supports_clarification_reply": false}))
	}
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	switch data, err := fetch(ctx); {
	case err != nil:
		h.recorder.addEntry(Entry{Note: noteNoManifest + aaep.SafeText(err.Error())})
	default:
		payload := unwrapManifest(data)
		h.recorder.addEntry(Entry{Note: noteManifest, Data: payload})
		if !bytes.Equal(payload, data) {
			h.recorder.addEntry(Entry{Note: noteSigned, Data: bytes.TrimSpace(data)})
		}
	}
}

// unwrapManifest returns the manifest in what was published: the payload of a signed one,
// unverified, or a copy of data as it is. It is never nil.
func unwrapManifest(data []byte) []byte {
	if parts := bytes.Split(data, []byte(".")); len(parts) == 3 && data[0] != '{' {
		if payload, err := base64.RawURLEncoding.DecodeString(string(parts[1])); err == nil {
			return payload
		}
	}
	return append([]byte{}, data...) // not nil, even if there is nothing
}

var errNoAddress = errors.New("no manifest_uri came with the acceptance, and no other address of it was given")

// publishedManifest returns the manifest of a recording, nil for one that cannot be read, with its
// entry. It returns false where none was fetched.
func publishedManifest(r *Recording) (object, Entry, bool) {
	e, ok := r.noteOn(0, noteManifest)
	var m object
	if ok && jsonv2.Unmarshal(e.Data, &m) != nil {
		m = nil
	}
	return m, e, ok
}

// ofManifest judges the manifest that was fetched, m, which is nil where it is no JSON object, with
// the entry that it stands in. Without one the case is inconclusive.
func ofManifest(judge func(r *Recording, m object, e Entry) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		m, e, ok := publishedManifest(r)
		if !ok {
			return inconclusiveFinding("there was no manifest to judge")
		}
		return judge(r, m, e)
	}
}

// manifestCases judge what a producer says of itself.
var manifestCases = []Case{
	{Name: "manifest-published", Requirements: []string{"LVL-032"}, Level: 3, Strength: Must,
		plays: []string{"manifest"},
		Rule:  "the manifest is at the well-known path or at manifest_uri", Judge: func(r *Recording) Finding {
			if _, e, ok := publishedManifest(r); ok {
				return passFinding(fmt.Sprintf("a manifest of %d bytes came", len(e.Data)), e)
			}
			for _, e := range r.Entries {
				switch why, ok := strings.CutPrefix(e.Note, noteNoManifest); {
				case ok && why == errNoAddress.Error():
					return inconclusiveFinding(why)
				case ok:
					return failFinding("the manifest could not be had: "+why, e)
				}
			}
			return inconclusiveFinding("nobody asked for the manifest")
		}},
	{Name: "manifest-valid", Requirements: []string{"HS-090", "VER-010", "ENV-030"}, Level: 3, Strength: Must,
		plays: []string{"manifest"},
		Rule:  "the manifest is a JSON object with the documented members",
		Judge: ofManifest(func(_ *Recording, m object, e Entry) Finding {
			if m["type"] != manifest.Type {
				return failFinding("the manifest is no object with the type "+manifest.Type, e)
			}
			c := check.Checker{}
			var wrong []string
			for _, f := range c.Message(1, e.Data) {
				if !f.Note && !isOwnRule(f.Requirement) {
					wrong = append(wrong, strings.TrimSpace(fmt.Sprintf("%s %s (%s)", f.Pointer, f.Problem,
						f.Requirement)))
				}
			}
			if len(wrong) > 0 {
				return failFinding("the manifest: "+strings.Join(wrong, "; "), e)
			}
			return passFinding("it has the documented members", e)
		})},
	{Name: "manifest-true", Requirements: []string{"HS-091"}, Level: 3, Strength: Must, plays: []string{"manifest"},
		Rule: "the manifest names the agent, the version, the levels, the types and the languages that were met, and is the same inline and published",
		Judge: ofManifest(func(r *Recording, m object, e Entry) Finding {
			if f := judgeClaims(r, m, e); f.Verdict != Pass {
				return f
			}
			return judgeInline(r, m, e)
		})},
	{Name: "manifest-signed", Requirements: []string{"SEC-018", "SEC-019", "LVL-033", "HS-048"}, Level: 3,
		Strength: Must, plays: []string{"signed-only", "manifest"},
		Rule: "a signed manifest, inline or published, is a compact JWS by ES256 or RS256 over the manifest of the agent that answers", Judge: judgeSigned},
}

// judgeClaims judges that the manifest m, of the entry e, names what came in this scenario run and
// the earlier ones: the agent, versions, levels, types of events and languages. Without an
// acceptance or a manifest that can be read it is inconclusive.
func judgeClaims(r *Recording, m object, e Entry) Finding {
	a, ok := r.firstAnswer(0)
	switch {
	case m == nil:
		return inconclusiveFinding("the manifest cannot be read")
	case !ok || a.compactType() != "subscription.accepted":
		return inconclusiveFinding("the request was not accepted")
	}
	if id, _ := a.objectMember("producer")["agent_id"].(string); m["agent_id"] != id {
		return failFinding(fmt.Sprintf("the manifest is that of %v, and %s answered", m["agent_id"], quoteText(id)), e,
			a.Entry)
	}
	agreed := []string{a.stringMember("aaep_version")}
	for what := range r.before {
		if version, ok := strings.CutPrefix(what, "version "); ok {
			agreed = append(agreed, version)
		}
	}
	for _, version := range agreed {
		if !slices.Contains(stringList(m["aaep_versions_supported"]), version) {
			return failFinding("the manifest does not name the version "+quoteText(version)+", which was accepted", e,
				a.Entry)
		}
	}
	for _, level := range honoredList(r, 0, "supported_conformance_levels") {
		if !slices.Contains(stringList(m["conformance_levels_supported"]), level) {
			return failFinding("the manifest does not name Level "+level+", which was honored", e, a.Entry)
		}
	}
	return judgeMet(r, m, e)
}

// judgeMet judges that the manifest m, of the entry e, names the types of events and the languages
// that came in the earlier scenario runs.
func judgeMet(r *Recording, m object, e Entry) Finding {
	types, languages := object{"include": m["event_types_emitted"]}, stringList(m["languages_supported"])
	met := 0
	for what := range r.before {
		kind, value, _ := strings.Cut(what, " ")
		switch kind {
		case "type":
			if met++; !passesFilters(types, value) {
				return failFinding("events of the type "+quoteText(value)+" came, and the manifest does not name it", e)
			}
		case "language":
			if !slices.ContainsFunc(languages, func(l string) bool { return strings.EqualFold(l, value) }) {
				return failFinding("events came in the language "+quoteText(value)+", and the manifest does not name it", e)
			}
		}
	}
	return passFinding(fmt.Sprintf("it names what was met, %s among it", pluralOf(met, "event type")), e)
}

// judgeInline compares the manifest that is published with the one that came inline to the second
// subscriber, which demanded a signed one. Where none came inline, or it cannot be read, it passes.
func judgeInline(r *Recording, m object, e Entry) Finding {
	a, ok := r.firstAnswer(1)
	signed := a.stringMember("signed_manifest")
	if !ok || signed == "" {
		return passFinding("it names what was met", e)
	}
	var inline object
	if jsonv2.Unmarshal(unwrapManifest([]byte(signed)), &inline) != nil {
		return passFinding("it names what was met; the one inline cannot be read", e, a.Entry)
	}
	for _, name := range slices.Sorted(maps.Keys(withMembers(inline, m))) {
		if jsonText(inline[name]) != jsonText(m[name]) {
			return failFinding("the manifest that is published and the one inline differ in "+quoteText(name), e, a.Entry)
		}
	}
	return passFinding("it names what was met, and is the same inline", e, a.Entry)
}

// judgeSigned verifies the signed manifest that came inline to the first subscriber, or else the
// one that is published, with the keys of the run and at the time of the answer.
func judgeSigned(r *Recording) Finding {
	a, ok := r.firstAnswer(0)
	e, published := r.noteOn(0, noteSigned)
	switch {
	case !ok:
		return inconclusiveFinding("no answer came")
	case a.compactType() != "subscription.accepted":
		return skippedFinding("a subscriber that demands a signed manifest is not served", a.Entry)
	}
	id, _ := a.objectMember("producer")["agent_id"].(string)
	signed, where, shown := a.stringMember("signed_manifest"), "inline", []Entry{a.Entry}
	if signed == "" && published {
		signed, where, shown = string(e.Data), "that is published", append(shown, e)
	}
	switch {
	case signed == "":
		return nothingToJudge("there is no signed manifest to judge")
	case r.keys == nil:
		return inconclusiveFinding("the signature was not verified, for no keys were given")
	}
	v := manifest.Verifier{Keys: r.keys}
	if _, _, err := v.Verify(signed, manifest.Expect{AgentID: id}, a.At); err != nil {
		return failFinding("the signed manifest "+where+" does not prove who answers: "+aaep.SafeText(err.Error()),
			shown...)
	}
	return passFinding("the signature of the manifest "+where+" is good, and the manifest that of the agent", shown...)
}

// isOwnRule reports whether a rule is one that this SDK sets itself, and no other implementation
// owes.
func isOwnRule(requirement string) bool {
	return strings.HasPrefix(requirement, "INV-") || strings.HasPrefix(requirement, "D-")
}
