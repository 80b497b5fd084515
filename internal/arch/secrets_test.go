package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// credentialFolders are the folders that handle credentials.
var credentialFolders = []string{"internal/credentials", "internal/httpguard", "transports/auth", "transports/auth/oidc", "transports/sse", "transports/websocket"}

// secret matches the names of values that a stranger must not be able to guess piece by piece.
var secret = regexp.MustCompile(`(?i)(token|secret|password|passwd|bearer|credential|digest|signature|hash|hmac|macs?\b|sums?\b)`)

// harmlessName matches what is only about them: an error, or how many there may be.
var harmlessName = regexp.MustCompile(`^(err|max)[A-Z]`)

// comparers are the functions that stop at the first difference, or look something up.
var comparers = map[string][]string{
	"bytes":   {"Equal", "EqualFold", "Compare", "HasPrefix", "HasSuffix", "Contains", "Index"},
	"strings": {"EqualFold", "Compare", "HasPrefix", "HasSuffix"},
	"slices":  {"Equal", "Compare", "Contains", "Index", "BinarySearch"},
	"maps":    {"Equal"},
	"reflect": {"DeepEqual"},
	"cmp":     {"Compare"},
}

// constantTime checks that secrets are compared with crypto/subtle or hmac.Equal only (INV-48). It
// goes by names: a value counts as secret by what it is called, and an error, a length or a
// comparison with a constant does not count.
func constantTime(packs []pack, folders []string) (problems []string) {
	for _, p := range packs {
		if !slices.Contains(folders, p.path) {
			continue
		}
		for _, f := range p.files {
			report := func(n ast.Node, what string) {
				problems = append(problems, fmt.Sprintf("%s: %s: use crypto/subtle, or a name that says it is no secret", f.at(n), what))
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if (n.Op == token.EQL || n.Op == token.NEQ) && !constant(n.X) && !constant(n.Y) && (isSecret(n.X) || isSecret(n.Y)) {
						report(n, "a secret is compared with "+n.Op.String())
					}
				case *ast.SwitchStmt:
					if n.Tag != nil && isSecret(n.Tag) {
						report(n, "a switch on a secret")
					}
				case *ast.IndexExpr:
					if isSecret(n.Index) {
						report(n, "a secret is looked up")
					}
				case *ast.CallExpr:
					fun, _ := n.Fun.(*ast.SelectorExpr)
					if fun == nil {
						break
					}
					if x, _ := fun.X.(*ast.Ident); x != nil && slices.Contains(comparers[x.Name], fun.Sel.Name) && slices.ContainsFunc(n.Args, isSecret) {
						report(n, "a secret is compared with "+x.Name+"."+fun.Sel.Name)
					}
				}
				return true
			})
		}
	}
	return problems
}

// isSecret reports whether an expression's value is called a secret.
func isSecret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return secret.MatchString(e.Name) && !harmlessName.MatchString(e.Name)
	case *ast.SelectorExpr:
		return isSecret(e.Sel)
	case *ast.SliceExpr:
		return isSecret(e.X)
	case *ast.IndexExpr:
		return isSecret(e.X)
	case *ast.ParenExpr:
		return isSecret(e.X)
	case *ast.StarExpr:
		return isSecret(e.X)
	case *ast.CallExpr: // of a conversion, or of what a function makes of a secret
		if fun, ok := e.Fun.(*ast.Ident); ok && (fun.Name == "len" || fun.Name == "cap") {
			return false
		}
		if fun, ok := e.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "Get" {
			return len(e.Args) == 1 && isHeader(e.Args[0])
		}
		_, conversion := e.Fun.(*ast.ArrayType)
		fun, _ := e.Fun.(*ast.Ident)
		return (conversion || fun != nil && fun.Name == "string") && slices.ContainsFunc(e.Args, isSecret)
	}
	return false
}

func isHeader(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && strings.EqualFold(lit.Value, `"Authorization"`)
}

// constant reports whether an expression is written out, or nil, so that comparing with it tells
// nothing.
func constant(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name == "nil" || id.Name == "true" || id.Name == "false"
	}
	_, ok := e.(*ast.BasicLit)
	return ok
}

// INV-48
func TestSecrets(t *testing.T) {
	check(t, "where credentials are handled, secrets are compared with crypto/subtle",
		"a comparison that stops at the first difference lets a stranger find a secret piece by piece",
		constantTime(packages(t), credentialFolders))
	used := false
	for _, p := range packages(t) {
		for _, f := range p.files {
			f.imports(func(_ *ast.ImportSpec, imported, _ string) {
				used = used || p.path == "transports/auth" && imported == "crypto/subtle"
			})
		}
	}
	if !used {
		t.Error("transports/auth compares tokens and does not import crypto/subtle")
	}
	for _, folder := range credentialFolders {
		if !slices.ContainsFunc(packages(t), func(p pack) bool { return p.path == folder }) {
			t.Errorf("credentialFolders names %s, which is not there: remove it", folder)
		}
	}
}

func TestTheSecretsRuleCanFail(t *testing.T) {
	house := files{
		"keeps/a.go": `
			func f(token, name string, h http.Header, sum, other []byte, known map[string]string) bool {
				if token == "" || len(token) != len(name) || errToken != nil { return false }
				return subtle.ConstantTimeCompare(sum, other) == 1 && name == "x" && known[name] != ""
			}`,
		"other/a.go": `func f(token, b string) bool { return token == b }`,
	}
	expect(t, constantTime(house.packs(t), []string{"keeps"}))
	for body, want := range map[string]string{
		`return token == b`:                            "compared with ==",
		`return b != s.secret`:                         "compared with !=",
		`return [32]byte(sum) == other`:                "compared with ==",
		`return string(token[1:]) == string(b)`:        "compared with ==",
		`return r.Header.Get("Authorization") == want`: "compared with ==",
		`return bytes.Equal(sum[:], other)`:            "bytes.Equal",
		`return strings.HasPrefix(token, b)`:           "strings.HasPrefix",
		`return known[token]`:                          "looked up",
		`switch token { case b: }`:                     "switch",
		`return slices.Contains(known, password)`:      "slices.Contains",
	} {
		expect(t, constantTime(files{"keeps/a.go": "func f() { " + body + " }"}.packs(t), []string{"keeps"}), want)
	}
}
