package negotiation_test

import (
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// I18N-015: mixed text says so; digits, marks and spaces are of no direction.
func TestDirection(t *testing.T) {
	for _, tc := range []struct {
		tag, text string
		want      aaep.TextDirection
	}{
		{"en", "", aaep.DirectionLTR},
		{"en", "Pay $5 (now).", aaep.DirectionLTR},
		{"yo-NG", "Ọjọ́ ìsinmi", aaep.DirectionLTR},
		{"zh", "你好。", aaep.DirectionLTR},
		{"ar", "", aaep.DirectionRTL},
		{"ar-Latn", "", aaep.DirectionLTR},
		{"ar", "ادفع 5 (الآن).", aaep.DirectionRTL},
		{"he", "שלום 123", aaep.DirectionRTL},
		{"ar", "انتهت transfer funds.", aaep.DirectionAuto},
		{"en", "She said שלום.", aaep.DirectionAuto},
		{"en", "\xff\xfe é", aaep.DirectionLTR},
	} {
		if got := negotiation.Direction(tc.tag, tc.text); got != tc.want {
			t.Errorf("%s %q: %s, want %s", tc.tag, tc.text, got, tc.want)
		}
	}
}
