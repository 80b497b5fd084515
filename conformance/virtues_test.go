package conformance_test

import (
	"reflect"
	"testing"
)

// virtues are producers that do what they may, and what ours does not.
var virtues = []mutant{
	{name: "leaves out the terms that are as they were asked for", out: func(p *proxy, o object) []object {
		terms, _ := o["honored_capabilities"].(object)
		for name, v := range terms {
			if reflect.DeepEqual(v, p.caps[name]) || p.flag && name == "max_events_per_second" {
				delete(terms, name)
			}
		}
		p.flag = p.flag || terms != nil // what comes next answers a renegotiation
		return []object{o}
	}},
	{name: "numbers what it then merges", out: func(p *proxy, o object) []object {
		if o["session_id"] == nil {
			return []object{o}
		}
		if shortName(o) == "session.started" {
			p.n = 0
		}
		o["sequence_number"] = p.n
		p.n++
		if p.held != nil {
			o = cloneWith(o, object{"chunk": p.held["chunk"].(string) + o["chunk"].(string),
				"position": p.held["position"]})
			o["localization_hints"].(object)["text_direction"] = "auto" // of what is merged, whatever it was of each
			p.held = nil
		}
		if shortName(o) == "output.streaming" && o["complete"] != true && len(o["chunk"].(string)) < 8000 {
			p.held = o
			return nil
		}
		return []object{o}
	}},
}

// HS-053, ENV-041, D-10, D-45: a target that does what the specification leaves open passes all
// that our own producer does.
func TestVirtues(t *testing.T) {
	for _, v := range virtues {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range runMutant(t, &v).Results {
				if !hasPassed(r) {
					t.Errorf("%s %s (%s): %s", r.Verdict, r.Case.Name, r.Play, r.Seen)
				}
			}
		})
	}
}
