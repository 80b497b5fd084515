package rap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/aaep-go/aaep/internal/bridge"
)

// poster posts messages to addresses that peers gave.
type poster struct{ http *http.Client }

// newPoster makes a poster that follows no redirection, and reaches no address of the link alone,
// at which machines in a cloud find their credentials. With fresh each message has a connection of
// its own: one that cannot be made proves that the message was not taken.
func newPoster(fresh bool) poster {
	dialer := &net.Dialer{Timeout: postTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		addrPort, err := netip.ParseAddrPort(address)
		if err == nil && addrPort.Addr().Unmap().IsLinkLocalUnicast() {
			err = errors.New("an address of the link alone is not posted to")
		}
		return err
	}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext, transport.DisableKeepAlives = dialer.DialContext, fresh
	client := bridge.NewClient(transport, "other side")
	client.Timeout = postTimeout
	return poster{client}
}

// postMessage posts a message of JSON, and returns the status and at most 64 KiB of the answer. The
// error says that it may not have arrived.
func (p poster) postMessage(ctx context.Context, to string, body io.Reader) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, _ = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, answer, nil
}

// maxPause is the longest pause between two attempts.
const maxPause = time.Minute

// postAgain posts a message of ours, at most attempts times: again after 1 s, 2 s and so on where
// the peer cannot be reached or fails. A status from 400 to 499 is final. The first attempt is made
// even after ctx has ended, because a held call must be refused at the end.
func (p poster) postAgain(ctx context.Context, to string, body []byte, attempts int) error {
	for n := 0; ; n++ {
		status, _, err := p.postMessage(context.WithoutCancel(ctx), to, bytes.NewReader(body))
		switch {
		case err == nil && status/100 == 2:
			return nil
		case err == nil:
			err = fmt.Errorf("it answered %d", status)
		}
		if n+1 == attempts || status/100 == 4 {
			return err
		}
		select {
		case <-time.After(min(time.Second<<n, maxPause) + rand.N(time.Second/2)):
		case <-ctx.Done():
			return err
		}
	}
}
