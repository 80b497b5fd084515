package arch

import (
	"go/ast"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The exported names of all modules are written down in api.txt, a line each, so that a change of
// them is deliberate and is seen in a review.
func TestAPI(t *testing.T) {
	names, err := tracked(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range names {
		if path.Base(name) != "go.mod" {
			continue
		}
		module := path.Dir(name)
		tree, err := fs.Sub(os.DirFS(root), module)
		if err != nil {
			t.Fatal(err)
		}
		packs, err := load(tree)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, exported(packs, module)...)
	}
	slices.Sort(lines)
	now := strings.Join(lines, "\n") + "\n"
	if os.Getenv("AAEP_API") != "" {
		if err := os.WriteFile(root+"/api.txt", []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(root + "/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "what users can call is what api.txt says; where that is to change, run make api and say so in CHANGELOG.md",
		"a line that goes or changes breaks the programs of those who use it; one that comes is a promise",
		differences(string(kept), now))
}

// differences are the lines that one text has and the other has not.
func differences(was, is string) (problems []string) {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			problems = append(problems, "gone: "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			problems = append(problems, "new:  "+line)
		}
	}
	return problems
}

// exported lists what the public packages of a module export, in order: the package, then the
// thing. What differs from system to system is there in all its forms.
func exported(packs []pack, module string) []string {
	lines := map[string]bool{}
	for _, p := range packs {
		folder := path.Join(module, p.path)
		if !p.public() || !isPublic(folder) {
			continue
		}
		in := embedding(p)
		for _, f := range p.files {
			if f.ast.Name.Name == "main" || ast.IsGenerated(f.ast) {
				continue
			}
			say := func(words ...any) {
				var b strings.Builder
				b.WriteString(path.Join("aaep", folder) + ":")
				for _, w := range words {
					b.WriteByte(' ')
					if text, ok := w.(string); ok {
						b.WriteString(text)
					} else {
						printer.Fprint(&b, f.fset, w)
					}
				}
				lines[strings.Join(strings.Fields(b.String()), " ")] = true
			}
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
						say(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})
					} else if d.Name.IsExported() {
						for _, outer := range in[receiver(d)] {
							has := &ast.Field{Names: []*ast.Ident{ast.NewIdent(strings.ToLower(outer[:1]))}, Type: &ast.StarExpr{X: ast.NewIdent(outer)}}
							say(&ast.FuncDecl{Recv: &ast.FieldList{List: []*ast.Field{has}}, Name: d.Name, Type: d.Type})
						}
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						exportedSpec(d.Tok, spec, say)
					}
				}
			}
		}
	}
	all := make([]string, 0, len(lines))
	for line := range lines {
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// embedding lists the exported structs that have the methods of a type that is not exported, for
// they embed it.
func embedding(p pack) map[string][]string {
	in := map[string][]string{}
	for _, f := range p.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if t, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range t.Fields.List {
					if name := typeName(field.Type); len(field.Names) == 0 && !ast.IsExported(name) {
						in[name] = append(in[name], spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return in
}

func receiver(d *ast.FuncDecl) string { return typeName(d.Recv.List[0].Type) }

// typeName is the name of a type of the same package, or "".
func typeName(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func exportedSpec(tok token.Token, spec ast.Spec, say func(words ...any)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			words := []any{tok.String(), name.Name}
			if spec.Type != nil {
				words = append(words, spec.Type)
			}
			if tok == token.CONST && i < len(spec.Values) {
				words = append(words, "=", spec.Values[i])
			}
			if name.IsExported() {
				say(words...)
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		fields, kind := (*ast.FieldList)(nil), ""
		switch t := spec.Type.(type) {
		case *ast.StructType:
			fields, kind = t.Fields, "struct"
		case *ast.InterfaceType:
			fields, kind = t.Methods, "interface"
		default:
			say("type", &ast.TypeSpec{Name: spec.Name, TypeParams: spec.TypeParams, Assign: spec.Assign, Type: spec.Type})
			return
		}
		say("type", spec.Name.Name, kind)
		hidden := false
		for _, field := range fields.List {
			if name := typeName(field.Type); len(field.Names) == 0 && name != "" && !ast.IsExported(name) {
				hidden = true
			} else if len(field.Names) == 0 {
				say("type", spec.Name.Name, kind, "{", field.Type, "}")
			}
			for _, name := range field.Names {
				hidden = hidden || !name.IsExported()
				if !name.IsExported() {
					continue
				}
				words := []any{"type", spec.Name.Name, kind, "{", name.Name, field.Type}
				if field.Tag != nil {
					words = append(words, field.Tag.Value)
				}
				say(append(words, "}")...)
			}
		}
		if hidden {
			say("type", spec.Name.Name, kind, "{ and more that is not exported }")
		}
	}
}

func TestTheAPIRuleCanFail(t *testing.T) {
	house := files{
		"a.go": `type Open struct { Name, Other string; hidden int; io.Reader }
			type Box struct { *lid }
			type lid struct{}
			func (l *lid) Lift() {}
			func (l *lid) drop() {}
			type shut struct { Name string }
			type Asks interface { Ask(ctx context.Context) error; quiet() }
			type Word string
			const Yes Word = "yes"
			var Err, err = errors.New("a"), 1
			func (o *Open) Do(n int) (string, error) { return "", nil }
			func (s shut) Do() {}
			func (o *One[A]) Do() {}
			func (t Two[A, B]) Do() {}
			func helper() {}`,
		"internal/b.go": `func Hidden() {}`,
		"cmd/x/c.go":    `func Hidden() {}`,
	}
	got := strings.Join(exported(house.packs(t), "m"), "\n")
	want := `aaep/m: const Yes Word = "yes"
aaep/m: func (b *Box) Lift()
aaep/m: func (o *One[A]) Do()
aaep/m: func (o *Open) Do(n int) (string, error)
aaep/m: func (t Two[A, B]) Do()
aaep/m: type Asks interface
aaep/m: type Asks interface { Ask func(ctx context.Context) error }
aaep/m: type Asks interface { and more that is not exported }
aaep/m: type Box struct
aaep/m: type Box struct { and more that is not exported }
aaep/m: type Open struct
aaep/m: type Open struct { Name string }
aaep/m: type Open struct { Other string }
aaep/m: type Open struct { and more that is not exported }
aaep/m: type Open struct { io.Reader }
aaep/m: type Word string
aaep/m: var Err`
	if got != want {
		t.Errorf("exported:\n%s\nwant:\n%s", got, want)
	}
	expect(t, differences("a\nb\n", "a\nc\n"), "gone: b", "new:  c")
	expect(t, differences("a\n", "a\n"))
}
