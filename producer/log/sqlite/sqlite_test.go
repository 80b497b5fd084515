package sqlite

import (
	"testing"

	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/logtest"
)

func TestStore(t *testing.T) {
	logtest.Run(t, func(dir string, limits log.Limits) (logtest.Store, error) {
		return Open(dir, Options{Limits: limits})
	})
}

func TestStoreThatSurvivesCrashes(t *testing.T) {
	logtest.Run(t, func(dir string, limits log.Limits) (logtest.Store, error) {
		return Open(dir, Options{Limits: limits, SurvivesCrash: true})
	})
}
