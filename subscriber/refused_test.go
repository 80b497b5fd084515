package subscriber

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/transports"
)

// A token that is good for nothing any more ends no subscription whose credentials are in a file:
// another one is tried as soon as it is there, and the same now and then, at a growing distance.
// INV-52, TR-015
func TestRefusedCredentials(t *testing.T) {
	for name, mend := range map[string]func(path string, good *atomic.Value) error{
		"the subscriber gets another": func(path string,
			_ *atomic.Value) error {
			return os.WriteFile(path, []byte("the second"), 0o600)
		},
		"the producer learns of it": func(_ string, good *atomic.Value) error { good.Store("first"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			var good atomic.Value
			good.Store("first")
			if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
				t.Fatal(err)
			}
			runVirtual(t, func(t *testing.T) {
				st, tried := newStage(), atomic.Int32{}
				var p *peer
				dial := dialer(func(ctx context.Context) (transports.Conn, error) {
					tried.Add(1)
					if token, err := credentials.FromFile(ctx, path); err != nil || string(token) != good.Load() {
						return nil, errors.Join(err, &aaep.Rejection{Code: aaep.AuthenticationRequired, Remote: true})
					}
					return st.Dial(ctx)
				})
				done := make(chan struct{})
				go func() { defer close(done); p = st.nextPeer(t); p.acceptRequest(t, "sub_1") }()
				sub, err := Dial(t.Context(), dial, Config{ID: "reader"})
				if err != nil {
					t.Fatal(err)
				}
				<-done
				good.Store("the second")
				_ = p.Close()
				time.Sleep(time.Hour)
				if got, _ := sub.Status(); got.Over || got.Awaits != path ||
					!errors.Is(got.Err, aaep.AuthenticationRequired) || tried.Load() < 20 || tried.Load() > 400 {
					t.Errorf("Status = %+v after %d tries, want that others are waited for", got, tried.Load())
				}
				before := time.Now()
				if err := mend(path, &good); err != nil {
					t.Fatal(err)
				}
				p = st.nextPeer(t)
				if took, most := time.Since(before), longestDelay; took > most ||
					strings.Contains(name, "subscriber") && took > 2*lookAfter {
					t.Errorf("tried again after %v", took)
				}
				p.acceptRequest(t, "sub_2")
				synctest.Wait()
				if got, _ := sub.Status(); !got.Connected || got.Awaits != "" || got.Err != nil {
					t.Errorf("Status = %+v, want connected", got)
				}
				closeBoth(t, sub, p)
			})
		})
	}
}
