package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/producer"
)

// axe fetches axe-core, which no user of the module needs.
func axe(t *testing.T) string {
	t.Helper()
	npm := realtest.Need(t, "npm")
	dir := t.TempDir()
	if out, err := exec.Command(npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "axe-core@4.14.1").CombinedOutput(); err != nil {
		realtest.Missing(t, "npm could not fetch axe-core: %v: %.200q", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	check(t, err)
	return string(data)
}

// TestAxe: axe-core finds nothing in any state, and nothing is wider than 320 pixels.
func TestAxe(t *testing.T) {
	t.Parallel()
	source := axe(t)
	st := start(t, producer.Config{})
	b := newBrowser(t)
	p := b.open(st.page, "")
	look := func(p *tab, state string) {
		t.Helper()
		eval[any](p, source+";0")
		for scheme, features := range map[string][]args{
			"light":  {{"name": "prefers-color-scheme", "value": "light"}},
			"dark":   {{"name": "prefers-color-scheme", "value": "dark"}},
			"forced": {{"name": "forced-colors", "value": "active"}, {"name": "prefers-reduced-motion", "value": "reduce"}},
		} {
			p.do("Emulation.setEmulatedMedia", args{"features": features})
			for _, found := range eval[[]string](p, `axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary)))`) {
				t.Errorf("%s, %s: %s", state, scheme, found)
			}
			p.screenshot(state + "-" + scheme)
		}
		p.do("Emulation.setEmulatedMedia", args{"features": []args{}})
		p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 200, "deviceScaleFactor": 4, "mobile": false}) // a window of 1280 at 400 %
		for _, hidden := range eval[[]string](p, `Array.from(document.querySelectorAll("main button, main select, h1, h2, h3")).filter((e) => e.checkVisibility()).filter((e) => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > 320 || e.scrollWidth > e.clientWidth + 1; }).map((e) => e.outerHTML)`) {
			t.Errorf("%s at 400 %%: it does not fit: %s", state, hidden)
		}
		p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false})
		if w := eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
			t.Errorf("%s: %d wide", state, w)
		}
		p.screenshot(state + "-320")
		p.do("Emulation.clearDeviceMetricsOverride", nil)
	}
	p.until(connected)
	look(p, "empty")
	eval[any](p, `document.querySelector("details").open = true`)
	look(p, "settings")
	eval[any](p, `document.querySelector("details").open = false`)
	s := st.session(t, "Paying your bills.")
	out := s.Output()
	out.WriteString("There are two bills. They are due tomorrow.")
	p.until(spoken + `.some((t) => t.includes("due tomorrow"))`)
	check(t, s.Progress(aaep.Say("Reading the second bill."), aaep.Progress{Percent: new(50.0)}, 0))
	p.until(`!document.getElementById("progress").hidden`)
	look(p, "streaming")
	out.WriteString("\n\n# A plan\n\n1. Read `main.go`.\n   - all of it\n\n### Sizes\n\n| | Size |\n|---|---|\n| a file with a very long name that has_no_place_to_break_it_anywhere_at_all_whatever_is_tried.go | 2 |\n\n> Quoted.\n\n```go\nfunc main() { println(\"a line of code that is a good deal longer than a narrow window is wide\") }\n```\n")
	p.until(`document.querySelector("#log pre")`)
	look(p, "structure")
	out.Close()
	first := pay(t, s, "$5")
	p.until(asked)
	look(p, "question")
	pay(t, st.session(t, "Paying another."), "$6")
	p.until(`document.querySelectorAll(".question").length === 2`)
	look(p, "two")
	arabic := b.open(st.page+"?lang=ar", "")
	arabic.until(asked + ` || document.querySelectorAll(".question").length === 2`)
	if dir := eval[string](arabic, "document.documentElement.dir"); dir != "rtl" {
		t.Errorf("Arabic goes %s", dir)
	}
	look(arabic, "arabic")
	p.until(armed)
	eval[any](p, `document.querySelector("#q1 .yes").click()`)
	if err := result(t, first); err != nil {
		t.Error(err)
	}
	p.until(`document.querySelector("#q1.settled")`)
	look(p, "answered")
	st.Listener.Close()
	st.CloseClientConnections()
	p.until(`document.getElementById("link").textContent.includes("Trying again")`)
	look(p, "disconnected")
}
