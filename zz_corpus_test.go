package aaep_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
	"fmt"
	"bytes"

	"github.com/aaep-go/aaep"
)

func TestZZ(t *testing.T) {
	data, _ := os.ReadFile("../shared/corpus/index.json")
	var corpus struct {
		Cases []struct {
			ID, Target, Group, Base64, Reason, Expect, Ref, Basis string
			Parts []struct{Base64 string; Times int}
			Steps []any
			Effect string
			Valid              *bool
			Reads map[string]any
		}
	}
	if err := json.Unmarshal(data, &corpus); err != nil { t.Fatal(err) }
	for _, c := range corpus.Cases {
		if c.Target == "frame" || c.Target == "manifest" || c.Steps != nil { continue }
		raw, _ := base64.StdEncoding.DecodeString(c.Base64)
		for _, p := range c.Parts { b, _ := base64.StdEncoding.DecodeString(p.Base64); raw = append(raw, bytes.Repeat(b, p.Times)...) }
		m, err := aaep.Decode(raw)
		var verr error
		if err == nil { verr = aaep.Validate(m) }
		bad := ""
		if c.Expect == "accept" && err != nil { bad = "NOTREAD" }
		if c.Expect == "reject" && err == nil { bad = "READ" }
		if c.Valid != nil && !*c.Valid && err == nil && verr == nil { bad += " VALID?" }
		if c.Valid != nil && *c.Valid && (err != nil || verr != nil) { bad += " INVALID?" }
		if bad != "" {
			r := string(raw); if len(r) > 900 { r = r[:900] }
			fmt.Printf("%s %s %s %s | %s | %s | %v %v\n", bad, c.ID, c.Target, c.Group, c.Reason, c.Ref, err, verr)
			_ = r
		}
	}
}
