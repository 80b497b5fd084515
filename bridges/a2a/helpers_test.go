package a2a_test

import (
	"testing"

	"github.com/aaep-go/aaep/bridges/a2a"
)

func dial(t *testing.T, url string, cfg a2a.Config) *a2a.Agent {
	t.Helper()
	agent, err := a2a.Dial(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}
