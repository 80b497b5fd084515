package web_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/aaep-go/aaep/producer"
)

// TestTree: what a screen reader gets of the page is what it is made for: landmarks with names, one
// heading above each part, and three live regions, none of which takes another's words or says an
// old line again.
func TestTree(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	p.do("Accessibility.enable", nil)
	var tree struct {
		Nodes []struct {
			Ignored     bool
			Role, Name  struct{ Value any }
			Description struct{ Value any }
			Properties  []struct {
				Name  string
				Value struct{ Value any }
			}
		}
	}
	check(t, json.Unmarshal(p.do("Accessibility.getFullAXTree", nil), &tree))
	var got []string
	for _, n := range tree.Nodes {
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		if what, _ := n.Description.Value.(string); name == "More time" && what != "" {
			t.Errorf("the button for more time is described as %q", what)
		}
		if n.Ignored || !slices.Contains([]string{"banner", "main", "region", "heading", "log", "alert", "status"}, role) {
			continue
		}
		if name == "" && (role == "form" || role == "region") {
			continue // no landmark without a name, and what browsers make of it instead depends on their version
		}
		live := ""
		for _, prop := range n.Properties {
			if prop.Name == "live" || prop.Name == "atomic" && prop.Value.Value == true || prop.Name == "busy" && prop.Value.Value == true {
				v, _ := prop.Value.Value.(string)
				live += " " + prop.Name + " " + v
			}
		}
		got = append(got, role+" "+name+live)
	}
	want := []string{"banner ", "main ", "alert  live assertive", "status  live polite", "heading Tester", "region Now", "region Questions", "region What was said", "region Settings",
		"heading Now", "heading Questions", "region Question 1: Pay $5 to the water company.", "heading What was said", "log What was said live polite", "heading Settings",
		"heading Question 1: Pay $5 to the water company."}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the tree has %q, want %q", got, want)
	}
}
