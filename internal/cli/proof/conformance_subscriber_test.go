package proof

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// No subscriber is waited for without end.
func TestConformanceSubscriberNeverComes(t *testing.T) {
	p := &subscriberProof{listen: "127.0.0.1:0", level: 1, timeout: 1, patience: time.Millisecond}
	var talk bytes.Buffer
	cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error { return p.runSubscriberSuite(cmd) },
		SilenceErrors: true, SilenceUsage: true}
	cmd.SetArgs(nil)
	cmd.SetErr(&talk)
	err := cmd.ExecuteContext(t.Context())
	if err == nil || exits.CodeOf(err) != exits.Unreachable || !strings.Contains(err.Error(), " within ") ||
		!strings.Contains(err.Error(), "--exec") {
		t.Errorf("%v: %s", err, talk.String())
	}
}
