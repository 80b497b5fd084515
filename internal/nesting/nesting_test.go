package nesting_test

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/nesting"
)

// INV-32: 65 levels are too deep; brackets that are closed again, or in a text, do not count.
func TestTooDeep(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat("[", n%2) }
	for text, want := range map[string]bool{
		"": false, nested(64): false, nested(65): true, strings.Repeat("[]", 100): false,
		`"` + nested(100): false, `{"\"` + strings.Repeat("[", 100) + `":1}`: false, `"\\"` + nested(65): true,
	} {
		if got := nesting.TooDeep([]byte(text)); got != want {
			t.Errorf("TooDeep(%.20q, of %d bytes) = %v", text, len(text), got)
		}
	}
}
