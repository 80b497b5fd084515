//go:build unix

package ipc

import (
	"io"
	"os"
	"testing"

	"github.com/aaep-go/aaep/internal/violation"
)

// IPC-008, IPC-009: a Dialer reports which rule of the binding is broken.
func TestViolations(t *testing.T) {
	for name, tt := range map[string]struct {
		mode os.FileMode
		says string
		want string
	}{
		"as it should be":    {0o600, "\x00\x00\x00\x02{}", ""},
		"open to the group":  {0o660, "\x00\x00\x00\x02{}", "IPC-008"},
		"answers in lines":   {0o600, "{}\n", "IPC-009"},
		"goes over to lines": {0o600, "\x00\x00\x00\x02{}{}\n", "IPC-009"},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			if err := os.Chmod(l.Addr(), tt.mode); err != nil {
				t.Fatal(err)
			}
			go func() {
				c, err := l.ln.AcceptUnix()
				if err != nil {
					return
				}
				defer c.Close()
				io.WriteString(c, tt.says)
				c.CloseWrite()
				io.Copy(io.Discard, c)
			}()
			told := make(chan string, 9)
			ctx, _ := violation.WithReporter(t.Context(), func(requirement, _ string) { told <- requirement })
			c, err := Dialer{Path: l.Addr()}.Dial(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = c.Receive(t.Context())
			}
			c.Close()
			close(told)
			if got := <-told; got != tt.want || len(told) > 0 {
				t.Errorf("%q is told, want %q", got, tt.want)
			}
		})
	}
}
