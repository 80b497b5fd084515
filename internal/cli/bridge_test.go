package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/npmtest"
)

// TestBridgeA2A runs the command beside an agent on the library of the protocol's authors, in both
// versions of the protocol.
func TestBridgeA2A(t *testing.T) {
	t.Parallel()
	dir := npmtest.Install(t, "../../bridges/a2a/testdata/sdk")
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			runScripts(t, "a2a", map[string]string{"SDK": dir, "VERSION": version})
		})
	}
}

// waker posts a wake to a URL, signed with a key, and fails where it is not taken.
func waker() {
	body := fmt.Sprintf(`{"schemaVersion":"1.0","eventType":"wake/sent_to_me","eventId":"e1","logId":1,"agentIdentity":"@ada","subscriptionId":"WAKE_SUB:1",`+
		`"payload":{"messageId":"m1","from":"@bob","subject":"The build is red"},"emittedAt":%q}`,
		time.Now().UTC().Format(time.RFC3339))
	r := must(http.NewRequest(http.MethodPost, os.Args[1], strings.NewReader(body)))
	mac := hmac.New(sha256.New, []byte(os.Args[2]))
	mac.Write([]byte(body))
	r.Header.Set("X-Neo-Wake-Signature", hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-Neo-Wake-Subscription-Id", "WAKE_SUB:1")
	r.Header.Set("X-Neo-Wake-Event-Id", "e1")
	if answer := must(http.DefaultClient.Do(r)); answer.StatusCode != http.StatusAccepted {
		os.Exit(1)
	}
}
