package aaep

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
)

// D-14: what is whole is told by the digits, not by what a double makes of them.
func TestParseInteger(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "-0.000e9": 0, "0e999999999": 0, "0e-999999999": 0, "1.0": 1, "1e2": 100,
		"1E+2": 100, "1.50e1": 15, "-300.0": -300,
		"30000e-2": 300, "0.003e3": 3, "100000000000000000000e-20": 1, "9007199254740993": 1<<53 + 1,
		"9007199254740993.0":    1<<53 + 1,
		"9223372036854775807.0": math.MaxInt64, "-9223372036854775808e0": math.MinInt64, "1e18": 1e18,
		"0." + strings.Repeat("0", 500) + "1e501": 1, "1" + strings.Repeat("0", 500) + "e-500": 1,
	} {
		if got, ok := parseInteger(s); !ok || got != want {
			t.Errorf("parseInteger(%s) = %d, %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"90.00000000000000001", "0.99999999999999999999", "1e-1", "15e-1", "1e400", "-1e400", "1e19",
		"9223372036854775808", "9223372036854775807.5",
		"1e-400", "1e99999999999999999999", "1e-99999999999999999999", "1" + strings.Repeat("0", 500),
		"0." + strings.Repeat("0", 500) + "1",
	} {
		if got, ok := parseInteger(s); ok {
			t.Errorf("parseInteger(%.40s) = %d, want none", s, got)
		}
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// FuzzParseInteger compares with exact arithmetic.
func FuzzParseInteger(f *testing.F) {
	for _, s := range []string{"1", "-1.0", "15e-1", "100e-2", "1e18", "0.1e1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 60 || strings.Trim(s, "0123456789.eE+-") != "" || strings.ContainsAny(s, "eE") &&
			len(s[strings.IndexAny(s, "eE"):]) > 4 {
			t.Skip()
		}
		if !jsonNumber.MatchString(s) {
			t.Skip()
		}
		exact, _ := new(big.Rat).SetString(s)
		want := exact.IsInt() && exact.Num().IsInt64()
		got, ok := parseInteger(s)
		if ok != want || ok && exact.Num().Int64() != got {
			t.Errorf("parseInteger(%s) = %d, %v; it is %v", s, got, ok, exact)
		}
	})
}
