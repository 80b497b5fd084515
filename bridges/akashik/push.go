package akashik

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/internal/bridge"
)

const (
	mostNotification = 256 << 10
	pingTime         = 30 * time.Second
	pongTime         = 75 * time.Second // without a sign of life, until a link counts as cut
)

// A link is one on which the field pushes.
type link struct {
	socket *websocket.Conn
	stream io.ReadCloser // of server-sent events, where there is no socket
}

var errEnded = errors.New("the field ended the link on which it pushes")

// openLink opens a link at an address of the field, a WebSocket or a stream of events, with the
// token. A status other than the one that opens it is a *bridge.StatusError.
func (f *field) openLink(ctx context.Context, pushURL *url.URL) (*link, error) {
	if strings.HasPrefix(pushURL.Scheme, "ws") {
		d := websocket.Dialer{HandshakeTimeout: callTime, Proxy: http.ProxyFromEnvironment}
		if t, ok := f.http.Transport.(*http.Transport); ok {
			d.NetDialContext = t.DialContext
		}
		socket, answer, err := d.DialContext(ctx, pushURL.String(), f.addToken(http.Header{}))
		if err != nil {
			if answer != nil {
				return nil, bridge.NewStatusError(answer, "field")
			}
			return nil, fmt.Errorf("the field pushes nothing: %w", bridge.WithoutAddress(err))
		}
		socket.SetReadLimit(mostNotification)
		return &link{socket: socket}, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, pushURL.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header = f.addToken(r.Header)
	answer, err := f.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the field pushes nothing: %w", bridge.WithoutAddress(err))
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, bridge.NewStatusError(answer, "field")
	}
	return &link{stream: answer.Body}, nil
}

// closeLink closes the link, by which its readPushes ends.
func (l *link) closeLink() {
	if l.socket != nil {
		l.socket.Close()
	} else {
		l.stream.Close()
	}
}

// closeLinks closes links that are not read.
func closeLinks(links []*link) {
	for _, l := range links {
		l.closeLink()
	}
}

// readPushes gives each message that comes on the link to take, until it ends or ctx does, and
// closes it. A WebSocket without a sign of life for pongTime has ended. The error says how it
// ended; it is never nil.
func (l *link) readPushes(ctx context.Context, take func([]byte)) error {
	defer context.AfterFunc(ctx, l.closeLink)()
	defer l.closeLink()
	if l.socket == nil {
		err := bridge.ReadEvents(l.stream, func(data []byte) error { take(data); return nil })
		return cmp.Or(err, errEnded)
	}
	alive := func(string) error { return l.socket.SetReadDeadline(time.Now().Add(pongTime)) }
	l.socket.SetPongHandler(alive)
	alive("")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		due := time.NewTicker(pingTime)
		defer due.Stop()
		for {
			select {
			case <-due.C:
				l.socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(pingTime))
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		_, message, err := l.socket.ReadMessage()
		if err != nil {
			return err
		}
		alive("")
		take(message)
	}
}
