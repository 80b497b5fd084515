package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Each rule returns what is wrong as "where: what", one line each, or nothing.

// arrows compares the imports of the packages with the map.
func arrows(packs []pack, rows []folder) (problems []string) {
	byPath := map[string]folder{}
	for _, row := range rows {
		byPath[row.path] = row
	}
	for _, p := range packs {
		if len(p.files) == 0 {
			continue
		}
		row, ok := byPath[p.path]
		if !ok {
			row = byPath[path.Dir(p.path)]
			ok = row.each
		}
		if !ok {
			problems = append(problems, fmt.Sprintf("%s: not on the map: add it to the map in internal/arch/map_test.go, with the fewest arrows it can live with", p.path))
			continue
		}
		for _, f := range p.files {
			f.imports(func(spec *ast.ImportSpec, imported, _ string) {
				if !row.allows(imported) {
					problems = append(problems, fmt.Sprintf("%s: %s may not import %s (%s)", f.at(spec), p.path, imported, row.why))
				}
			})
		}
	}
	for _, row := range rows {
		if !slices.ContainsFunc(packs, func(p pack) bool {
			return (p.path == row.path || row.each && path.Dir(p.path) == row.path) && len(p.files) > 0
		}) {
			problems = append(problems, fmt.Sprintf("%s: on the map, but there is no such package: remove its row", row.path))
		}
		for _, to := range row.arrows {
			if _, ok := byPath[to]; !ok && to != public {
				problems = append(problems, fmt.Sprintf("%s: its arrow to %s leads to no row of the map", row.path, to))
			}
		}
	}
	return problems
}

// allows reports whether the map lets the folder import the path.
func (row folder) allows(imported string) bool {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library; purity has its say about that
	}
	if to, ok := inModule(imported); ok {
		return slices.Contains(row.arrows, to) || slices.Contains(row.arrows, public) && isPublic(to)
	}
	return slices.ContainsFunc(row.others, func(other string) bool {
		return imported == other || strings.HasPrefix(imported, other+"/")
	})
}

// inModule returns the folder of this module that the import path names.
func inModule(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// actors are the packages of the standard library that wait, share, roll dice or touch the world.
var actors = regexp.MustCompile(`^(C|context|crypto/rand|embed|io/fs|io/ioutil|log|math/rand(/v2)?|net(/.+)?|os(/.+)?|path/filepath|plugin|runtime(/.+)?|sync/.+|syscall|testing(/.+)?|unsafe)$`)

// harmless are those of them that only rearrange values, or hold what was fixed when the program
// was built.
var harmless = []string{"net/url", "embed", "io/fs"}

// acts are the functions that do so in packages which are otherwise harmless.
var acts = map[string][]string{
	"sync": {"Cond", "Map", "Mutex", "NewCond", "Once", "OnceFunc", "Pool", "RWMutex", "WaitGroup"}, // a sync.OnceValue is a constant
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"log/slog": {"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
		"Log", "LogAttrs", "Default", "SetDefault", "SetLogLoggerLevel"},
}

// purity checks that the packages which the map calls pure take the time as an argument and give
// decisions back, and do nothing else: no goroutine, lock, clock, randomness, input or output.
func purity(packs []pack, rows []folder) (problems []string) {
	for _, p := range packs {
		if !slices.ContainsFunc(rows, func(row folder) bool { return row.path == p.path && row.pure }) {
			continue
		}
		for _, f := range p.files {
			report := func(n ast.Node, format string, args ...any) {
				problems = append(problems, fmt.Sprintf("%s: %s in %s, which is pure", f.at(n), fmt.Sprintf(format, args...), p.path))
			}
			watched := map[string]string{} // from the name in this file to the import path
			f.imports(func(spec *ast.ImportSpec, imported, name string) {
				if actors.MatchString(imported) && !slices.Contains(harmless, imported) {
					report(spec, "import of %s", imported)
				}
				if acts[imported] != nil {
					watched[name] = imported
					if name == "." {
						report(spec, "import of %s without its name", imported)
					}
				}
			})
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					report(n, "go statement")
				case *ast.SelectStmt:
					report(n, "select statement")
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && slices.Contains(acts[watched[x.Name]], n.Sel.Name) {
						report(n, "%s.%s", watched[x.Name], n.Sel.Name)
					}
				}
				return true
			})
		}
	}
	return problems
}

// fileInComment finds the Go files that a package comment names, as name.go or folder/name.go.
var fileInComment = regexp.MustCompile(`[\w/]+\.go\b`)

// comments checks that each package says once what it is for, and names only files that are there,
// in its folder or by their whole path.
func comments(packs []pack) (problems []string) {
	there := map[string]bool{}
	for _, p := range packs {
		for _, f := range slices.Concat(p.files, p.tests) {
			there[f.path] = true
		}
	}
	for _, p := range packs {
		var at []string
		for _, f := range p.files {
			text := f.ast.Doc.Text()
			if text == "" {
				continue
			}
			at = append(at, f.path)
			start := "Package " + f.ast.Name.Name + " "
			if f.ast.Name.Name == "main" {
				start = "Command " + path.Base(p.path) + " "
			}
			if !strings.HasPrefix(text, start) {
				problems = append(problems, fmt.Sprintf("%s: the package comment does not begin with %q", f.path, start))
			}
			for _, name := range fileInComment.FindAllString(text, -1) {
				if !there[name] && !there[path.Join(p.path, name)] {
					problems = append(problems, fmt.Sprintf("%s: the package comment names %s, which is not there", f.path, name))
				}
			}
		}
		if len(p.files) > 0 && len(at) != 1 {
			problems = append(problems, fmt.Sprintf("%s: %d package comments, want exactly one %s", p.path, len(at), strings.Join(at, " ")))
		}
	}
	return problems
}

// examples checks that each public package shows its use in a way that is run, and that a reader
// can copy into a module of their own.
func examples(packs []pack) (problems []string) {
	for _, p := range packs {
		if !p.public() || len(p.files) == 0 || forTests(p) {
			continue
		}
		var files []*ast.File
		for _, f := range p.tests {
			files = append(files, f.ast)
			if !strings.HasSuffix(f.path, "example_test.go") {
				continue
			}
			f.imports(func(spec *ast.ImportSpec, imported, name string) {
				if strings.Contains(imported, "/internal/") && !strings.HasSuffix(name, "test") { // a stand-in for a device
					problems = append(problems, fmt.Sprintf("%s: an example cannot be copied that imports %s", f.at(spec), name))
				}
			})
		}
		if !slices.ContainsFunc(doc.Examples(files...), func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput }) {
			problems = append(problems, fmt.Sprintf("%s: no Example function with an // Output: comment", p.path))
		}
	}
	return problems
}

// forTests reports whether a package is for tests to use: an example cannot run one. Its package
// comment shows how.
func forTests(p pack) bool {
	found := false
	for _, f := range p.files {
		f.imports(func(_ *ast.ImportSpec, imported, _ string) { found = found || imported == "testing" })
	}
	return found
}

// maxExampleLines is the most lines of an example, which is read in one go.
const maxExampleLines = 99

// lengths reports the files of examples, tests included, that are longer than maxExampleLines.
func lengths(packs []pack) (problems []string) {
	for _, p := range packs {
		if path.Dir(p.path) != "examples" {
			continue
		}
		for _, f := range append(slices.Clone(p.files), p.tests...) {
			if f.lines > maxExampleLines {
				problems = append(problems, fmt.Sprintf("%s: %d lines, want at most %d: give it one idea", f.path, f.lines, maxExampleLines))
			}
		}
	}
	return problems
}

// These are what no file of a finished product holds. The words are cut in two so as not to name
// themselves.
var (
	machinePath = regexp.MustCompile(`(^|[^\w.-])/(ro` + `ot|ho` + `me|wo` + `rk)/`)
	leftover    = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	neighbour   = regexp.MustCompile(`\.\./sha` + `red\b|"\.\.", "sha` + `red"`)
	skips       = regexp.MustCompile(`\.Skip(f|Now)?\(`)
)

// hygiene checks that the text files work and make sense away from the machine they were written
// on.
func hygiene(tree fs.FS, names []string) (problems []string) {
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil || name == "go.sum" || bytes.IndexByte(text, 0) >= 0 {
			continue // gone since it was listed, checksums, or not text
		}
		mayLookOutside := strings.HasSuffix(name, "_test.go") && skips.Match(text)
		for i, line := range strings.Split(string(text), "\n") {
			report := func(what string) { problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, what)) }
			if machinePath.MatchString(line) {
				report("a path of one machine: use a relative path, or t.TempDir in a test")
			}
			if word := leftover.FindString(line); word != "" {
				report(word + ": do it now, or say in the text what is not done and why")
			}
			if neighbour.MatchString(line) && !mayLookOutside {
				report("a file outside the repository: only a test may look for one, and must skip when it is absent")
			}
		}
	}
	return problems
}

// goFile finds the Go files named in a text, as `name.go` or `folder/na*.go`.
var goFile = regexp.MustCompile("`([\\w/*]+\\.go)`")

// guide checks that the text which leads people through the house shows what is there.
func guide(tree fs.FS, name string, rows []folder) (problems []string) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return []string{err.Error()}
	}
	for _, row := range rows {
		if !bytes.Contains(text, []byte("`"+row.path+"`")) {
			problems = append(problems, fmt.Sprintf("%s: says nothing of %s", name, row.path))
		}
	}
	for _, found := range goFile.FindAllSubmatch(text, -1) {
		if files, err := fs.Glob(tree, string(found[1])); err != nil || len(files) == 0 {
			problems = append(problems, fmt.Sprintf("%s: names %s, which is not there", name, found[1]))
		}
	}
	return problems
}

// testName finds the tests named in a text, as `folder.TestName`; the root folder is called aaep.
var testName = regexp.MustCompile("`([\\w/]+)\\.((?:Test|Fuzz)\\w+)`")

// proofs checks that the tests which a text names are there, and that each row of its tables that
// begins a threat names one.
func proofs(tree fs.FS, name string, packs []pack) (problems []string) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return []string{err.Error()}
	}
	there := map[string]bool{}
	for _, p := range packs {
		folder := strings.Replace(p.path, ".", "aaep", 1)
		for _, f := range p.tests {
			for _, d := range f.ast.Decls {
				if fun, ok := d.(*ast.FuncDecl); ok && fun.Recv == nil {
					there[folder+"."+fun.Name.Name] = true
				}
			}
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		named := testName.FindAllStringSubmatch(line, -1)
		if len(named) == 0 && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| threat ") {
			problems = append(problems, fmt.Sprintf("%s:%d: this row names no test", name, i+1))
		}
		for _, m := range named {
			if test := m[1] + "." + m[2]; !there[test] {
				problems = append(problems, fmt.Sprintf("%s:%d: there is no %s", name, i+1, test))
			}
		}
	}
	return problems
}

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	mdCode    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	notSlug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links checks that what the pages of the repository lead to is there: files, and headings of other
// pages.
func links(tree fs.FS, names []string) (problems []string) {
	for _, name := range names {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			continue // gone since it was listed
		}
		for _, m := range mdLink.FindAllSubmatch(mdCode.ReplaceAll(text, nil), -1) {
			to, heading, _ := strings.Cut(string(m[1]), "#")
			if strings.Contains(to, ":") {
				continue // elsewhere
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if _, err := fs.Stat(tree, target); err != nil {
				problems = append(problems, fmt.Sprintf("%s: leads to %s, which is not there", name, m[1]))
				continue
			}
			page, _ := fs.ReadFile(tree, target)
			if heading != "" && !slices.ContainsFunc(mdHeading.FindAllSubmatch(page, -1), func(h [][]byte) bool {
				return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(string(h[1])), ""), " ", "-") == heading
			}) {
				problems = append(problems, fmt.Sprintf("%s: leads to %s, and there is no such heading", name, m[1]))
			}
		}
	}
	return problems
}
