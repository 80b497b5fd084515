package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	tree := os.DirFS(root)
	files, err := tracked(tree)
	if err != nil {
		t.Fatal(err)
	}
	api, err := os.ReadFile(root + "/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "what pages and comments call by a name of ours, as package.Name or package.Type.Name, has that name",
		"whoever copies a line that does not compile believes nothing of the rest",
		names(tree, files, string(api)))
}

var (
	apiLine   = regexp.MustCompile(`(?m)^(\S+): (?:func (?:\(\w+ \*?(\w+)[^)]*\) )?|type |var |const )(\w+)(?: (?:struct|interface) \{ (?:[\w.*]+\.)?(\w+))?`)
	mdSpan    = regexp.MustCompile("(?s)```go\n.*?```|`[^`\n]*`")
	goComment = regexp.MustCompile(`(?m)^\s*//.*$`)
	aName     = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
)

// foreign are names of our packages that others have too.
var foreign = []string{"adk", "fantasy", "grpc", "log"}

// names checks the names of the API in the code of pages, and in the comments of Go files.
func names(tree fs.FS, files []string, api string) (problems []string) {
	there := map[string]bool{} // "producer", "producer.Tool", "producer.Tool.Name"
	for _, m := range apiLine.FindAllStringSubmatch(api, -1) {
		name := path.Base(m[1])
		there[name] = true
		for _, part := range m[2:] {
			if part != "" {
				name += "." + part
				there[name] = true
			}
		}
	}
	for _, file := range files {
		where := map[string]*regexp.Regexp{".md": mdSpan, ".go": goComment}[path.Ext(file)]
		if where == nil || strings.HasSuffix(file, ".pb.go") {
			continue
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			continue // gone since it was listed
		}
		for _, span := range where.FindAllString(string(text), -1) {
			for _, m := range aName.FindAllStringSubmatch(span, -1) {
				isTest := strings.HasPrefix(m[2], "Test") || strings.HasPrefix(m[2], "Fuzz") // see proofs
				if there[m[1]] && !there[strings.TrimSuffix(m[1]+"."+m[2]+"."+m[3], ".")] && !isTest && !slices.Contains(foreign, m[1]) {
					problems = append(problems, fmt.Sprintf("%s: names %s, which is not there", file, m[0]))
				}
			}
		}
	}
	return problems
}

func TestTheNamesRuleCanFail(t *testing.T) {
	const api = `aaep/low: func (s *Stand[T]) Close() error
aaep/low: func New(n int) *Stand
aaep/low: type Stand struct
aaep/low: type Stand struct { Name string }
aaep/low: type Stand struct { log.Limits }
aaep/low: var ErrGone
aaep: type Word string`
	house := files{
		"x.md": "`low.New(1)` `low.Stand.Name` `low.Stand.Limits` `*low.Stand.Close` `aaep.Word` `low.TestGone` `other.Gone` low.Gone\n```sh\nlow.Gone\n```",
		"y.md": "`low.Old()` and `low.Stand.Nome`.\n```go\nvar w aaep.Wort\n```",
		"a.go": "package a\n\n// Like low.Oldest.\nvar a = \"low.Gone\" + `\nlow.Gone`",
	}
	expect(t, names(house.tree(), []string{"x.md", "gone.md"}, api))
	expect(t, names(house.tree(), []string{"y.md", "a.go"}, api), "y.md: names low.Old,", "y.md: names low.Stand.Nome,", "y.md: names aaep.Wort,", "a.go: names low.Oldest,")
}
