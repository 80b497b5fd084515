package listen

import (
	"testing"

	"github.com/aaep-go/aaep/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }
