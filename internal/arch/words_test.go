package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// plainRooms are the packages whose names and comments are in the words of the field. A package
// joins the list when it is through, and never leaves it.
var plainRooms = []string{
	".", "bridges/a2a", "bridges/acp", "bridges/agui", "bridges/akashik", "bridges/hook", "bridges/mcp", "bridges/rap",
	"bridges/wake", "cmd/aaep",
	"coalesce", "conformance", "conformance/check", "conformance/endpoint", "examples", "examples/anycli",
	"examples/bank", "examples/conformance", "examples/extension", "examples/model", "examples/reader",
	"examples/service", "examples/touch", "examples/web", "handshake", "handshake/extensions",
	"internal/answers", "internal/arch", "internal/bench", "internal/brailletest", "internal/bridge",
	"internal/bridge/bridgetest", "internal/bridge/ownagent", "internal/bridge/toolcall", "internal/budget", "internal/cli", "internal/cli/acp",
	"internal/cli/agent", "internal/cli/answer", "internal/cli/bridge", "internal/cli/buildinfo",
	"internal/cli/clitest", "internal/cli/control", "internal/cli/demo", "internal/cli/demo/planner",
	"internal/cli/exits", "internal/cli/hook", "internal/cli/hook/call", "internal/cli/hook/early",
	"internal/cli/input", "internal/cli/lineio", "internal/cli/listen", "internal/cli/measure",
	"internal/cli/proof", "internal/cli/reach", "internal/cli/serving", "internal/cli/subprocess",
	"internal/cli/terms", "internal/cli/trust", "internal/cli/uilang", "internal/closes", "internal/coverage",
	"internal/credentials", "internal/delivery", "internal/duplex", "internal/errkind", "internal/eventlog",
	"internal/fakemodel", "internal/faultproxy", "internal/form", "internal/freeport", "internal/haptictest",
	"internal/hearing", "internal/httpguard", "internal/idle", "internal/ledger", "internal/lifecycle", "internal/lockfile",
	"internal/lookalike", "internal/memnet", "internal/metrics", "internal/natstest", "internal/negotiation", "internal/nesting",
	"internal/orcadesktop", "internal/orcatest", "internal/phrase", "internal/plaintext", "internal/questions", "internal/realtest", "internal/release", "internal/replica", "internal/replies",
	"internal/requirements", "internal/safetext", "internal/secrets", "internal/segmentio",
	"internal/sessionbus", "internal/sessionbus/bustest", "internal/shaper", "internal/shield",
	"internal/soak", "internal/speechd", "internal/speechtest", "internal/spoken", "internal/suite",
	"internal/toolwords", "internal/violation", "internal/words", "internal/writer", "manifest", "producer",
	"producer/audit", "producer/llm", "producer/log", "producer/log/jetstream", "producer/log/logtest",
	"producer/log/sqlite", "producer/serve", "schemas", "subscriber", "subscriber/announce",
	"subscriber/braille", "subscriber/cue", "subscriber/discover", "subscriber/haptic",
	"subscriber/nvda", "subscriber/orca", "subscriber/present", "subscriber/sound", "subscriber/speech", "subscriber/terminal",
	"subscriber/web", "subscriber/web/relay", "transports", "transports/auth", "transports/auth/oidc",
	"transports/ipc", "transports/sse", "transports/stdio", "transports/transporttest",
	"transports/websocket",
}

func TestWords(t *testing.T) {
	check(t, "names and comments say who does what, in the words of the field, and comments end at 100 columns",
		"a reader who meets a riddle reads the code a second time, or changes the wrong thing",
		words(packages(t), plainRooms))
}

// actorWords say of no one in particular that they act. What to say instead is always the same.
var actorWords = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|anybody)\b`)

// metaphors are words that once stood for a thing of the protocol or the trade, by what that is
// called. They are refused where a name is declared. In comments some have a plain meaning, so only
// those in commentMetaphors are refused there.
var metaphors = map[string]string{
	"deed": "action, tool call or side effect", "tape": "recorder or recording", "ride": "harness",
	"desk": "question broker", "course": "delivery cursor", "stepper": "rejoin backoff", "sociable": "eligible",
	"herald": "heartbeat", "newcomer": "new subscription or pending connection", "guest": "pending connection",
	"manners": "rate limit", "heed": "handle", "bury": "finish", "hurry": "expedite, abort or shorten the deadline",
	"keeper": "persister", "shelf": "cache", "spine": "log", "door": "authenticator", "buyer": "holder",
	"ear": "markdown speech", "gist": "duplicate filter", "tongue": "UI language", "mind": "reasoning filter",
	"oddity": "edge case", "novice": "raw client", "liar": "fake server", "meddler": "mutator",
}

var commentMetaphors = regexp.MustCompile(`(?i)\b(deed|herald|newcomer|manners|keeper|meddler|novice)s?\b`)

// maxCommentColumns is the widest line of a comment; a tab counts as four.
const maxCommentColumns = 100

// words checks the names that are declared in the rooms, and their comments. Directives and the
// expected output of examples may be longer.
func words(packs []pack, rooms []string) (problems []string) {
	for _, room := range rooms {
		if !slices.ContainsFunc(packs, func(p pack) bool { return p.path == room }) {
			problems = append(problems, room+": in plainRooms, but there is no such package: remove it")
		}
	}
	for _, p := range packs {
		if !slices.Contains(rooms, p.path) {
			continue
		}
		for _, f := range append(slices.Clone(p.files), p.tests...) {
			problems = append(problems, plainComments(f)...)
			declared(f.ast, func(id *ast.Ident) {
				for _, word := range camelWords(id.Name) {
					if say := metaphors[strings.TrimSuffix(word, "s")]; say != "" {
						problems = append(problems, fmt.Sprintf("%s: the name %s: say %s", f.at(id), id.Name, say))
					} else if actorWords.MatchString(word) {
						problems = append(problems,
							fmt.Sprintf("%s: the name %s: name the actor, such as the caller or the peer", f.at(id), id.Name))
					}
				}
			})
		}
	}
	return problems
}

// plainComments checks the comments of a file.
func plainComments(f source) (problems []string) {
	behind := codeLines(f)
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "/*") {
				continue
			}
			if word := actorWords.FindString(c.Text); word != "" {
				problems = append(problems, fmt.Sprintf("%s: %q in a comment: say the caller, the peer, the subscriber, "+
					"any goroutine, or use the passive", f.at(c), word))
			}
			if word := commentMetaphors.FindString(c.Text); word != "" {
				problems = append(problems, fmt.Sprintf("%s: %q in a comment: say %s", f.at(c), word,
					metaphors[strings.TrimSuffix(strings.ToLower(word), "s")]))
			}
			at := f.fset.Position(c.Pos())
			columns := utf8.RuneCountInString(c.Text) + 4*(at.Column-1) // gofmt indents with tabs
			text := strings.TrimPrefix(c.Text, "//")
			asItIs := strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "  ") || isOutput(group)
			if asItIs || behind[at.Line] {
				continue // code, a table, or what an example prints
			}
			if columns > maxCommentColumns {
				problems = append(problems, fmt.Sprintf("%s: a comment of %d columns: want at most %d", f.at(c), columns,
					maxCommentColumns))
			}
		}
	}
	return problems
}

// isOutput reports whether a comment is the output of an example.
func isOutput(group *ast.CommentGroup) bool {
	text := strings.ToLower(group.Text())
	return strings.Contains(text, "output:")
}

// codeLines returns the lines on which there is code: a comment there is behind it.
func codeLines(f source) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup, *ast.Comment:
			return false
		}
		lines[f.fset.Position(n.Pos()).Line] = true
		lines[f.fset.Position(n.End()-1).Line] = true
		return true
	})
	return lines
}

// declared calls visit with every name that a file declares.
func declared(f *ast.File, visit func(*ast.Ident)) {
	visitAll := func(exprs []ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok {
				visit(id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			visit(n.Name)
		case *ast.TypeSpec:
			visit(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				visit(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				visit(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				visitAll(n.Lhs)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				visitAll([]ast.Expr{n.Key, n.Value})
			}
		}
		return true
	})
}

// camelWords returns the words of a name in lower case.
func camelWords(name string) (all []string) {
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) {
			all = append(all, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return append(all, strings.ToLower(name[start:]))
}

func TestTheWordsRuleCanFail(t *testing.T) {
	house := files{
		"good/a.go": "// Package good serves each peer once.\npackage good\n\n" +
			"// findPeer opens the door of no one, of course.\nfunc findPeer() { stepCount := 1; _ = stepCount }\n\n" +
			"//go:generate " + strings.Repeat("x", 200) + "\n",
		"good/a_test.go": "package good\n\nfunc ExampleA() {\n\t// Output: " + strings.Repeat("x", 100) + "\n}\n",
		"bad/a.go": "// Package bad waits for whoever comes.\npackage bad\n\n" +
			"// " + strings.Repeat("x", 98) + "\ntype newcomer struct{ keeperOf int }\n\n" +
			"func askNobody() {\n\tliars := 1 // of a deed\n\t_ = liars\n\t// " + strings.Repeat("x", 94) + "\n}\n",
		"other/a.go": "// Package other is anybody's.\npackage other\n",
	}
	expect(t, words(house.packs(t), []string{"good"}))
	expect(t, words(house.packs(t), []string{"bad", "gone"}), "gone: in plainRooms",
		`bad/a.go:1: "whoever" in a comment: say the caller`, "bad/a.go:4: a comment of 101 columns",
		`bad/a.go:8: "deed" in a comment: say action`, "bad/a.go:10: a comment of 101 columns",
		"bad/a.go:5: the name newcomer: say new subscription", "bad/a.go:5: the name keeperOf: say persister",
		"bad/a.go:7: the name askNobody: name the actor", "bad/a.go:8: the name liars: say fake server")
}
