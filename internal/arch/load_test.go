package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A source is one Go file, parsed whatever system or tags it is meant for.
type source struct {
	path  string // from the root of the repository, with slashes
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

// at names the place of a node for a person.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// imports calls visit with each import of the file: its path, and the name it has in the file.
func (s source) imports(visit func(spec *ast.ImportSpec, imported, name string)) {
	for _, spec := range s.ast.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		visit(spec, imported, name)
	}
}

// A pack is one folder with Go files of this module.
type pack struct {
	path  string
	files []source // what users compile
	tests []source
}

// public reports whether other modules can import the package and are meant to.
func (p pack) public() bool { return isPublic(p.path) }

func isPublic(folder string) bool {
	first, _, _ := strings.Cut(folder, "/")
	return first != "cmd" && first != "examples" && !slices.Contains(strings.Split(folder, "/"), "internal")
}

// load reads every package of the module in the tree. As for the go command, a folder with its own
// go.mod is another module, and testdata and names that begin with a dot or underscore do not
// count.
func load(tree fs.FS) ([]pack, error) {
	packs := map[string]*pack{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := name != "." && strings.ContainsAny(d.Name()[:1], "._")
		if d.IsDir() {
			if hidden || d.Name() == "testdata" {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if tool(file) {
			return nil
		}
		dir := path.Dir(name)
		if packs[dir] == nil {
			packs[dir] = &pack{path: dir}
		}
		s := source{name, bytes.Count(text, []byte("\n")), file, fset}
		if strings.HasSuffix(name, "_test.go") {
			packs[dir].tests = append(packs[dir].tests, s)
		} else {
			packs[dir].files = append(packs[dir].files, s)
		}
		return nil
	})
	var found []pack
	for _, p := range packs {
		found = append(found, *p)
	}
	slices.SortFunc(found, func(a, b pack) int { return strings.Compare(a.path, b.path) })
	return found, err
}

// tool reports whether the file is a program run by hand, which no build takes in.
func tool(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && strings.TrimSpace(c.Text) == "//go:build ignore" {
				return true
			}
		}
	}
	return false
}
