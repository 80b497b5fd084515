package planner

import (
	"math"
	"strings"
	"testing"
)

func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0", 61500: "$61,500", 999.999: "$1,000", 1491.5: "$1,491.50",
		0.05: "$0.05"} {
		if got := formatDollars(amount); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"You have $61,500 in all.":  "You| have| |$61|,500| in| all|.",
		"Dr. Okafor's rule,\n\ni.e": "Dr|.| Okafo|r's| rule|,|\n|\ni|.e",
		"größer":                    "größ|er",
	} {
		got := splitTokens(text)
		if strings.Join(got, "|") != want || strings.Join(got, "") != text {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

// The sum of the demo is checked month by month.
func TestProject(t *testing.T) {
	want := 61500.0
	for range 26 * 12 {
		want = want*(1+0.04/12) + 500
	}
	if got := futureValue(61500, 500, 0.04, 26); math.Abs(got-want) > 0.01 {
		t.Errorf("%.2f, want %.2f", got, want)
	}
}
