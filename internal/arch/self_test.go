package arch

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A rule that cannot fail protects nothing: each is tried here on sources that keep it and that
// break it.

// files maps file names to their texts. A text of Go without a package clause is given one.
type files map[string]string

func (f files) tree() fs.FS {
	tree := fstest.MapFS{}
	for name, text := range f {
		if strings.HasSuffix(name, ".go") && !strings.Contains(text, "package ") {
			text = "package p\n" + text
		}
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

func (f files) packs(t *testing.T) []pack {
	t.Helper()
	packs, err := load(f.tree())
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

// expect compares the problems with parts of them: as many, in the same order.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("problems:\n  %s\nwant, in this order, ones that hold:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestTheArrowsRuleCanFail(t *testing.T) {
	rows := []folder{
		{path: ".", others: []string{"example.org/codec"}},
		{path: "low", arrows: []string{"."}, why: "low knows nothing of high"},
		{path: "high", arrows: []string{public}},
		{path: "internal/secret"},
		{path: "shows", arrows: []string{"low"}, each: true, why: "shows has little"},
	}
	house := files{
		"a.go":                 `import ("net"; "example.org/codec/fast")`,
		"low/a.go":             `import _ "` + module + `"`,
		"high/a.go":            `import _ "` + module + `/low"`,
		"internal/secret/a.go": ``,
		"shows/one/a.go":       `import _ "` + module + `/low"`,
	}
	cases := map[string]struct {
		change files
		want   []string
	}{
		"kept":                        {files{}, nil},
		"up":                          {files{"low/a.go": `import _ "` + module + `/high"`}, []string{"low/a.go:2: low may not import " + module + "/high (low knows nothing of high)"}},
		"another module":              {files{"low/b.go": `import _ "example.org/codec"`}, []string{"low/b.go:2: low may not import example.org/codec"}},
		"a name that begins the same": {files{"b.go": `import _ "example.org/codecs"`}, []string{"b.go:2: . may not import example.org/codecs"}},
		"public is not internal":      {files{"high/a.go": `import _ "` + module + `/internal/secret"`}, []string{"may not import " + module + "/internal/secret"}},
		"another system":              {files{"low/b_windows.go": `import _ "` + module + `/high"`}, []string{"low/b_windows.go:2: "}},
		"tests are free":              {files{"low/a_test.go": `import _ "` + module + `/high"`}, nil},
		"one of many":                 {files{"shows/two/a.go": `import _ "` + module + `/high"`}, []string{"shows/two/a.go:2: shows/two may not import " + module + "/high (shows has little)"}},
		"deeper than those":           {files{"shows/two/three/a.go": ``}, []string{"shows/two/three: not on the map"}},
		"a folder of tests alone":     {files{"internal/arch/a_test.go": ``}, nil},
		"not on the map":              {files{"new/a.go": ``}, []string{"new: not on the map: add it to the map"}},
		"another module's folder":     {files{"tools/go.mod": "module tools", "tools/a.go": ``}, nil},
		"a program run by hand":       {files{"low/gen.go": "//go:build ignore\n\npackage main\nimport _ \"example.org/generator\""}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changed := maps.Clone(house)
			maps.Copy(changed, c.change)
			expect(t, arrows(changed.packs(t), rows), c.want...)
		})
	}
	t.Run("a row without a package", func(t *testing.T) {
		expect(t, arrows(nil, rows[3:4]), "internal/secret: on the map, but there is no such package")
	})
	t.Run("an arrow into nothing", func(t *testing.T) {
		row := folder{path: ".", arrows: []string{"gone"}}
		expect(t, arrows(files{"a.go": ``}.packs(t), []folder{row}), ".: its arrow to gone leads to no row")
	})
}

func TestThePurityRuleCanFail(t *testing.T) {
	rows := []folder{{path: "core", pure: true}, {path: "rim"}}
	cases := map[string]struct {
		text string
		want []string
	}{
		"kept": {`import ("fmt"; "io"; "net/url"; "time")
			func f(now time.Time, w io.Writer) *url.URL { fmt.Fprintln(w, now.Add(time.Second)); return nil }`, nil},
		"context":      {`import "context"`, []string{"core/a.go:2: import of context"}},
		"lock":         {`import "sync"; var mu sync.Mutex`, []string{"sync.Mutex"}},
		"constants":    {`import ("embed"; "sync"); var files embed.FS; var once = sync.OnceValue(func() int { return 1 })`, nil},
		"atomic":       {`import "sync/atomic"`, []string{"import of sync/atomic"}},
		"network":      {`import "net"`, []string{"import of net"}},
		"http":         {`import "net/http"`, []string{"import of net/http"}},
		"file":         {`import "os"`, []string{"import of os"}},
		"program":      {`import "os/exec"`, []string{"import of os/exec"}},
		"old file":     {`import "io/ioutil"`, []string{"import of io/ioutil"}},
		"randomness":   {`import "crypto/rand"`, []string{"import of crypto/rand"}},
		"dice":         {`import "math/rand"`, []string{"import of math/rand"}},
		"newer dice":   {`import "math/rand/v2"`, []string{"import of math/rand/v2"}},
		"goroutine":    {"func f() {\n\tgo f()\n}", []string{"core/a.go:3: go statement"}},
		"select":       {`func f() { select {} }`, []string{"select statement"}},
		"print":        {`import "fmt"; func f() { fmt.Println() }`, []string{"fmt.Println"}},
		"log":          {`import "log/slog"; func f() { slog.Info("") }`, []string{"log/slog.Info"}},
		"clock stored": {`import "time"; var now = time.Now`, []string{"time.Now"}},
		"clock renamed": {`import clock "time"; var t = clock.Now()`,
			[]string{"time.Now"}},
		"clock hidden": {`import . "time"; var t = Now()`, []string{"import of time without its name"}},
		"every clock": {`import "time"
			var _ = []any{time.Now, time.Since, time.Until, time.Sleep, time.After, time.AfterFunc, time.NewTimer, time.NewTicker, time.Tick}`,
			[]string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expect(t, purity(files{"core/a.go": c.text, "core/a_test.go": c.text}.packs(t), rows), c.want...)
			expect(t, purity(files{"rim/a.go": c.text}.packs(t), rows))
		})
	}
}

func TestTheCommentsRuleCanFail(t *testing.T) {
	const said = "// Package p does one thing.\npackage p"
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"kept":          {files{"a.go": said, "b.go": `//go:build linux` + "\n\npackage p"}, nil},
		"a command":     {files{"cmd/x/main.go": "// Command x runs.\npackage main"}, nil},
		"none":          {files{"a.go": ``}, []string{".: 0 package comments"}},
		"two":           {files{"a.go": said, "b.go": said}, []string{".: 2 package comments, want exactly one a.go b.go"}},
		"another start": {files{"a.go": "// It does things.\npackage p"}, []string{`a.go: the package comment does not begin with "Package p "`}},
		"its files": {files{"low/a.go": "// Package p is in a.go, low/a.go and gone.go.\npackage p"},
			[]string{"low/a.go: the package comment names gone.go, which is not there"}},
		"not in a test": {files{"a.go": ``, "a_test.go": said}, []string{"0 package comments"}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, comments(c.files.packs(t)), c.want...) })
	}
}

func TestTheExamplesRuleCanFail(t *testing.T) {
	const (
		run      = "func Example() {\n\tprintln()\n\t// Output: 1\n}"
		compiled = "func Example() {\n\tprintln()\n}"
	)
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"kept":          {files{"a.go": ``, "a_test.go": run}, nil},
		"from outside":  {files{"a.go": ``, "a_test.go": "package p_test\n" + run}, nil},
		"empty output":  {files{"a.go": ``, "a_test.go": strings.ReplaceAll(run, " 1", "")}, nil},
		"only compiled": {files{"a.go": ``, "a_test.go": compiled}, []string{".: no Example function"}},
		"none":          {files{"x/y/a.go": ``}, []string{"x/y: no Example function"}},
		"imports what is ours": {files{"a.go": ``, "b_example_test.go": "import \"m/internal/x\"\n" + run},
			[]string{"b_example_test.go:2: an example cannot be copied that imports x"}},
		"imports a stand-in": {files{"a.go": ``, "b_example_test.go": "import \"m/internal/xtest\"\n" + run}, nil},
		"not for the hidden": {files{"internal/a/a.go": ``, "x/internal/a.go": ``, "cmd/x/a.go": ``, "examples/x/a.go": ``}, nil},
	} {
		t.Run(name, func(t *testing.T) { expect(t, examples(c.files.packs(t)), c.want...) })
	}
}

func TestTheLengthsRuleCanFail(t *testing.T) {
	short := "package p\n" + strings.Repeat("\n", maxExampleLines-1)
	expect(t, lengths(files{"examples/x/a.go": short, "examples/x/a_test.go": short + "\n", "examples/y/a.go": short + "\n", "a.go": short + "\n"}.packs(t)),
		"examples/x/a_test.go: 100 lines, want at most 99", "examples/y/a.go: 100 lines")
}

func TestTheHygieneRuleCanFail(t *testing.T) {
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"kept": {files{"README.md": "See https://example.org/ho" + "me/page, ./wo" + "rk/x and rework/y. A todo list."}, nil},
		"machine paths": {files{"a.go": "// See /ro" + "ot/x.\n// And \"/ho" + "me/ada/y\"\n// and\n// /wo" + "rk/z."},
			[]string{"a.go:2: a path of one machine", "a.go:3: a path", "a.go:5: a path"}},
		"leftovers": {files{"x.md": "TO" + "DO: a\nFIX" + "ME\n(X" + "XX)"}, []string{"x.md:1: TO" + "DO", "x.md:2: FIX" + "ME", "x.md:3: X" + "XX"}},
		"outside":   {files{"a.go": `var f = "../../sha` + `red/x"`}, []string{"a.go:2: a file outside the repository"}},
		"outside, from a test": {files{"a_test.go": `var f = "../sha` + `red/x"`},
			[]string{"a_test.go:2: a file outside"}},
		"outside, joined":               {files{"a_test.go": `var f = Join("..", "..", "sha` + `red")`}, []string{"a_test.go:2: a file outside"}},
		"outside, skipped":              {files{"a_test.go": `var f = "../sha` + `red/x"; func g(t *testing.T) { t.Skipf("") }`}, nil},
		"outside, skipped in a program": {files{"a.go": `var f = "../sha` + `red/x"; func g(t T) { t.Skip() }`}, []string{"a.go:2: a file outside"}},
		"not text":                      {files{"x.bin": "\x00 /ro" + "ot/x"}, nil},
		"gone":                          {files{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			names := append(slices.Sorted(maps.Keys(c.files)), "gone.md")
			expect(t, hygiene(c.files.tree(), names), c.want...)
		})
	}
}

func TestTheGuideRuleCanFail(t *testing.T) {
	rows := []folder{{path: "."}, {path: "low"}}
	tree := files{"x.md": "Both `.` and `low`: `a.go`, `low/a_*.go`.", "y.md": "Only `.`, `b.go` and `low/b*.go`.",
		"a.go": ``, "low/a_b.go": ``}.tree()
	expect(t, guide(tree, "x.md", rows))
	expect(t, guide(tree, "y.md", rows), "y.md: says nothing of low", "y.md: names b.go", "y.md: names low/b*.go")
	expect(t, guide(tree, "z.md", rows), "z.md")
}

func TestTheLinksRuleCanFail(t *testing.T) {
	tree := files{
		"x.md":      "# Begin here\n[a](docs/y.md#what-it-s-for) [b](https://example.org/x) [c](#begin-here) [d](docs) `[e](code.md)`\n```\n[f](code.md)\n```",
		"docs/y.md": "## What it's for\n[a](../gone.md) [b](../x.md#gone) [c](#whats-it-for)",
		"z.go":      "// [a](gone.md)",
	}.tree()
	expect(t, links(tree, []string{"x.md", "docs/y.md", "z.go", "gone.md"}), "x.md: leads to docs/y.md#what-it-s-for, and there is no such heading",
		"docs/y.md: leads to ../gone.md, which is not there", "docs/y.md: leads to ../x.md#gone, and", "docs/y.md: leads to #whats-it-for, and")
	expect(t, links(files{"x.md": "[a](y.md#what-its-for)", "y.md": "# What it's for?"}.tree(), []string{"x.md"}))
}

func TestTheProofsRuleCanFail(t *testing.T) {
	house := files{"a_test.go": `func TestRoot(t *testing.T) {}`, "low/a_test.go": `func TestLow(t *testing.T) {}; func FuzzLow(f *testing.F) {}`,
		"x.md": "| threat | shown by |\n|---|---|\n| kept | `aaep.TestRoot` `low.TestLow` `low.FuzzLow` |",
		"y.md": "| threat | shown by |\n| bare | |\n| stale | `low.TestLow` `low.TestGone` |\n\nAnd `high.TestLow`."}
	expect(t, proofs(house.tree(), "x.md", house.packs(t)))
	expect(t, proofs(house.tree(), "y.md", house.packs(t)), "y.md:2: this row names no test", "y.md:3: there is no low.TestGone", "y.md:5: there is no high.TestLow")
	expect(t, proofs(house.tree(), "z.md", nil), "z.md")
}

// The map itself must not promise less than the design: these arrows are the ones never to draw.
func TestTheMapKeepsTheHalvesApart(t *testing.T) {
	never := map[string][]string{
		"producer":       {"subscriber", "transports/sse", "producer/serve"},
		"subscriber":     {"producer", "internal/eventlog", "producer/serve", "transports/sse"},
		"transports":     {"handshake", "producer", "subscriber"},
		"transports/sse": {"handshake", "coalesce", "internal/shaper", "producer", "subscriber"},
		"cmd/aaep":       {".", "producer", "subscriber"},
	}
	for _, row := range theMap {
		for _, to := range never[row.path] {
			if row.allows(strings.TrimSuffix(module+"/"+to, "/.")) {
				t.Errorf("the map lets %s import %s", row.path, to)
			}
		}
		wantPure := slices.Contains([]string{".", "handshake", "handshake/extensions", "coalesce", "internal/answers", "internal/budget", "internal/closes", "internal/hearing", "internal/lifecycle", "internal/ledger", "internal/negotiation", "internal/phrase", "internal/safetext", "internal/secrets", "internal/shaper", "internal/spoken", "internal/words", "subscriber/announce"}, row.path)
		if row.pure != wantPure {
			t.Errorf("the map says pure = %v of %s, want %v", row.pure, row.path, wantPure)
		}
		if row.why == "" {
			t.Errorf("the row of %s gives no reason", row.path)
		}
	}
}
