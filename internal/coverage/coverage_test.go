package main

import (
	"os"
	"slices"
	"testing"
)

func TestPageIsCurrent(t *testing.T) {
	want, err := Page("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/coverage.md is out of date; run: go generate ./internal/coverage")
	}
}

func TestIDs(t *testing.T) {
	got := ids("// AAA-001, 002 and 003; BBB-004/005, XAAA-006 AAA-0070")
	if len(got) != 0 {
		t.Errorf("unknown families were found: %v", got)
	}
	family := "EV" + "T" // so that this file names no requirement
	got = ids(family + "-001, 002 and 003; " + family + "-010/011 X" + family + "-020 " + family + "-0300")
	want := []string{family + "-001", family + "-002", family + "-003", family + "-010", family + "-011"}
	if !slices.Equal(got, want) {
		t.Errorf("ids = %v, want %v", got, want)
	}
}
