package phrase

import (
	"fmt"
	"strconv"
	"strings"
)

// A pluralRule is what the header of a catalogue says about plural forms, as gettext does:
// "nplurals=2; plural=(n != 1);".
type pluralRule struct {
	forms int             // how many forms there are
	index func(n int) int // of the form for n things
}

// parsePlural reads the header's field Plural-Forms, such as "nplurals=2; plural=(n != 1);", and
// returns the rule. The error says from where on it cannot be read.
func parsePlural(field string) (pluralRule, error) {
	count, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(field), "nplurals="), ";")
	forms, err := strconv.Atoi(strings.TrimSpace(count))
	expression, found := strings.CutPrefix(strings.TrimSpace(rest), "plural=")
	if err != nil || forms < 1 || !found {
		return pluralRule{}, fmt.Errorf("Plural-Forms is %q; it is written as in \"nplurals=2; plural=(n != 1);\"",
			field)
	}
	p := &pluralParser{rest: strings.TrimSuffix(strings.TrimSpace(expression), ";")}
	index := p.parseChoice()
	p.space()
	p.require(p.rest == "")
	if p.failed {
		return pluralRule{}, fmt.Errorf("Plural-Forms is %q; it cannot be read from %q on", field, p.at)
	}
	return pluralRule{forms, index}, nil
}

// A pluralParser reads an expression of C over n, of whole numbers that are not negative. Its
// methods that return a function compile the part of the expression that comes next.
type pluralParser struct {
	rest   string
	depth  int // of brackets and choices
	failed bool
	at     string // the rest where it failed
}

// require fails the parser unless ok: something else would have to stand here. The first failure
// counts.
func (p *pluralParser) require(ok bool) {
	if !ok && !p.failed {
		p.failed, p.at = true, p.rest
	}
}

// mostNested is how deep an expression may be. That of Arabic, the deepest that gettext has, is 5.
const mostNested = 50

// space skips blanks.
func (p *pluralParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// accept skips a token if it comes next, and reports whether it did.
func (p *pluralParser) accept(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

// parseChoice reads an expression a ? b : c, or one without a choice, and returns the function that
// computes it. Nested deeper than mostNested it fails, as p.failed says.
func (p *pluralParser) parseChoice() func(n int) int {
	p.depth++
	p.require(p.depth <= mostNested)
	defer func() { p.depth-- }()
	if p.failed {
		return func(int) int { return 0 }
	}
	condition := p.parseOperation(0)
	if !p.accept("?") {
		return condition
	}
	yes := p.parseChoice()
	p.require(p.accept(":"))
	no := p.parseChoice()
	return func(n int) int {
		if condition(n) != 0 {
			return yes(n)
		}
		return no(n)
	}
}

// operators are those of C by how closely they bind, the loosest first. Of two that begin alike the
// longer comes first.
var operators = [][]struct {
	sign    string
	compute func(a, b int) int
}{
	{{"||", func(a, b int) int { return boolToInt(a != 0 || b != 0) }}},
	{{"&&", func(a, b int) int { return boolToInt(a != 0 && b != 0) }}},
	{{"==", func(a, b int) int { return boolToInt(a == b) }}, {"!=", func(a, b int) int { return boolToInt(a != b) }}},
	{{"<=", func(a, b int) int { return boolToInt(a <= b) }}, {">=", func(a, b int) int { return boolToInt(a >= b) }},
		{"<", func(a, b int) int { return boolToInt(a < b) }}, {">", func(a, b int) int { return boolToInt(a > b) }}},
	{{"%", func(a, b int) int { return a % max(b, 1) }}, {"/", func(a, b int) int { return a / max(b, 1) }}},
}

// boolToInt returns 1 for true and 0 for false, as C does.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parseOperation reads operations with the operators of a level, from left to right, whose operands
// are operations of the levels that bind more closely, and returns the function that computes them.
func (p *pluralParser) parseOperation(level int) func(n int) int {
	if level == len(operators) {
		return p.parseOperand()
	}
	left := p.parseOperation(level + 1)
next:
	for !p.failed {
		for _, o := range operators[level] {
			if p.accept(o.sign) {
				a, b := left, p.parseOperation(level+1)
				left = func(n int) int { return o.compute(a(n), b(n)) }
				continue next
			}
		}
		break
	}
	return left
}

// parseOperand reads n, a number, or an expression in brackets, and returns the function that
// computes it. Anything else sets p.failed.
func (p *pluralParser) parseOperand() func(n int) int {
	switch {
	case p.accept("("):
		inner := p.parseChoice()
		p.require(p.accept(")"))
		return inner
	case p.accept("n"):
		return func(n int) int { return n }
	}
	digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
	number, err := strconv.Atoi(digits)
	p.require(err == nil)
	p.rest = p.rest[len(digits):]
	return func(int) int { return number }
}
