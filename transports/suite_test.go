package transports_test

import (
	"testing"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/transporttest"
)

func TestSuite(t *testing.T) {
	transporttest.Run(t, func(*testing.T) transporttest.Link {
		a, b := transports.Pipe()
		return transporttest.Link{A: a, B: b}
	})
}
