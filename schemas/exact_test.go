package schemas

import "testing"

// D-14: whether a number is whole is told by its digits, whatever the nearest double is.
func TestExactIntegers(t *testing.T) {
	check := MustCompile(`{"$defs": {"event": {"type": "object", "properties": {"n": {"type": "integer"}}}}}`, "event")
	for text, want := range map[string]bool{
		"90": true, "90.0": true, "9e1": true, "9000e-2": true, "-0": true, "0e-400000000": true, "1e300": true,
		"1.5e1":                true,
		"90.00000000000000001": false, "-1.00000000000000000001": false, "1e-400000000": false, "0.5": false,
		"900.0000000000000001e-1": false,
		"1e400000000":             false,
	} {
		if err := check([]byte(`{"n": ` + text + `, "m": [` + text + `, null, "x"]}`)); (err == nil) != want {
			t.Errorf("%s: %v, want an integer: %v", text, err, want)
		}
	}
}
