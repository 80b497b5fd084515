//go:build unix

package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// D-68: the library that the binding is known by speaks with both ends, which share no code with it
// but the names of codes.
func TestInterop(t *testing.T) {
	quiet := jsonrpc2.SetLogger(discard{})
	t.Run("our producer", func(t *testing.T) {
		r := rawProducer(t)
		events := make(chan string, 1)
		client := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(streams{r.out, r.in}),
			jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
				events <- req.Method + string(*req.Params)
				return nil, nil
			}), quiet)
		defer client.Close()
		go func() {
			r.Receive(t.Context())
			r.send(accepts)
			r.send(event)
		}()
		var got json.RawMessage
		if err := client.Call(t.Context(), "aaep.subscribe", json.RawMessage(asks), &got); err != nil ||
			string(got) != accepts {
			t.Errorf("subscribe: %s, %v", got, err)
		}
		if got := <-events; got != "aaep.event"+event {
			t.Errorf("the event is %s", got)
		}
		go r.Receive(t.Context()) // so that what follows is read
		if err := client.Call(t.Context(), "aaep.ping", nil, &got); err != nil || string(got) != "{}" {
			t.Errorf("ping: %s, %v", got, err)
		}
		var e *jsonrpc2.Error
		if err := client.Call(t.Context(), "aaep.nothing", nil, nil); !errors.As(err, &e) ||
			e.Code != jsonrpc2.CodeMethodNotFound {
			t.Errorf("an unknown method: %v", err)
		}
	})
	t.Run("our subscriber", func(t *testing.T) {
		r := rawSubscriber(t)
		notified := make(chan string, 1)
		server := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(streams{r.out, r.in}),
			jsonrpc2.HandlerWithError(func(ctx context.Context, c *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
				switch req.Method {
				case "aaep.subscribe":
					c.Notify(ctx, "aaep.event", json.RawMessage(event))
					return json.RawMessage(rejects), nil
				case "aaep.renegotiate":
					return nil, &jsonrpc2.Error{Code: 7, Message: "never"}
				}
				notified <- req.Method + string(*req.Params)
				return nil, nil
			}), quiet)
		defer server.Close()
		r.send(asks)
		r.wantMessage(event)
		r.wantMessage(rejects)
		r.send(replies)
		if got := <-notified; got != "aaep.reply"+replies {
			t.Errorf("the reply is %s", got)
		}
		r.send(renegs)
		if got, err := receiveSoon(t, r); err != nil || !strings.Contains(string(got), "never") {
			t.Errorf("the error is %s, %v", got, err)
		}
	})
}

type streams struct {
	io.Reader
	io.WriteCloser
}

type discard struct{}

// Printf drops the line.
func (discard) Printf(string, ...any) {}
