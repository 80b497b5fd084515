package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// runMounted is runVirtual for an sse.Server with settings of its own. If alone, no producer serves
// it.
func runMounted(t *testing.T, cfg producer.Config, o sse.ServerOptions, alone bool,
	f func(t *testing.T, v *virtualServer, binding *sse.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Agent.AgentID = "tester"
		p, err := producer.New(cfg)
		check(t, err)
		ln := memnet.Listen()
		v := &virtualServer{t: t, p: p, ln: ln, client: ln.Client(t)}
		binding := sse.NewServer(o)
		srv := &http.Server{Handler: binding}
		served := make(chan struct{})
		go func() { defer close(served); srv.Serve(ln) }()
		if !alone {
			go p.Serve(context.Background(), binding)
		}
		defer func() {
			p.Shutdown(context.Background())
			binding.Close()
			srv.Close()
			<-served
		}()
		f(t, v, binding)
	})
}

// postRequest POSTs a request on a connection of its own; header lines are "Name: value".
func (v *virtualServer) postRequest(body string, header ...string) (*http.Response, string) {
	v.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://localhost/aaep/v1/subscriptions", strings.NewReader(body))
	check(v.t, err)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := v.client.Do(req)
	check(v.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check(v.t, err)
	return resp, string(text)
}

// subscriptionRequest is a good request, or one with other capabilities.
func subscriptionRequest(capabilities string) string {
	return `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"raw","capabilities":` +
		capabilities + `}`
}

// byName takes the bearer token as the principal's name.
func byName(r *http.Request) (string, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return "", errors.New("no secret token")
	case name == "mallory":
		return "", fmt.Errorf("secret policy: %w", aaep.AuthorizationDenied)
	}
	return name, nil
}

// Each of the eight reasons can be met, for each of its causes, with the status that says the same
// and a message that helps and gives nothing away. HS-043, HS-056, HS-057, HS-058, HS-060, HS-061,
// §5.5.3, D-56
func TestReasons(t *testing.T) {
	const good = "Authorization: Bearer alice"
	locked := sse.ServerOptions{Authenticate: byName}
	again := func(body string, header ...string) func(*virtualServer, *sse.Server) (*http.Response, string) {
		return func(v *virtualServer, _ *sse.Server) (*http.Response, string) {
			for {
				if resp, text := v.postRequest(body, header...); resp.StatusCode != http.StatusCreated {
					return resp, text
				}
			}
		}
	}
	for name, c := range map[string]struct {
		cfg     producer.Config
		options sse.ServerOptions
		alone   bool
		provoke func(*virtualServer, *sse.Server) (*http.Response, string)
		code    aaep.ReasonCode
		status  int
		words   string
	}{
		"version": {provoke: again(strings.Replace(subscriptionRequest("{}"), "1.0.0", "2.0.0", 1)),
			code: aaep.VersionUnsupported, status: 422, words: `"2.0.0"`},
		"signature": {provoke: again(subscriptionRequest(`{"accept_signed_manifests_only":true}`)),
			code: aaep.ManifestSignatureRequired, status: 422, words: "no signed manifest"},
		"language": {provoke: again(subscriptionRequest(`{"languages":["yo"]}`)),
			code: aaep.CapabilitiesIncompatible, status: 422, words: "en-US"},
		"all places": {cfg: producer.Config{MaxSubscriptions: 3}, provoke: again(subscriptionRequest("{}")),
			code: aaep.RateLimit, status: 429, words: "at most 3 subscriptions"},
		"own places": {cfg: producer.Config{MaxPerPrincipal: 2}, options: locked,
			provoke: again(subscriptionRequest("{}"), good), code: aaep.RateLimit, status: 429,
			words: "You may have at most 2"},
		"requests": {cfg: producer.Config{MaxRequestsPerSecond: 4}, provoke: again(subscriptionRequest("{}")),
			code: aaep.RateLimit, status: 429, words: "At most 4 subscription requests a second"},
		"connections": {options: sse.ServerOptions{MaxSubscriptions: 2}, provoke: again(subscriptionRequest("{}")),
			code: aaep.RateLimit, status: 429, words: "as many subscriptions"},
		"no token": {options: locked, provoke: again(subscriptionRequest("{}")), code: aaep.AuthenticationRequired,
			status: 401, words: "credentials"},
		"wrong token": {options: locked, provoke: again(subscriptionRequest("{}"), "Authorization: Basic alice"),
			code: aaep.AuthenticationRequired, status: 401, words: "credentials"},
		"not for them": {options: locked, provoke: again(subscriptionRequest("{}"), "Authorization: Bearer mallory"),
			code: aaep.AuthorizationDenied, status: 403, words: "credentials"},
		"not admitted": {
			cfg: producer.Config{Admit: func(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
				return producer.Rights{}, errors.New("secret list without " + principal)
			}}, options: locked,
			provoke: again(subscriptionRequest("{}"), good), code: aaep.AuthorizationDenied, status: 403,
			words: "not allowed",
		},
		"admitted later": {
			cfg: producer.Config{Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
				return producer.Rights{}, &aaep.Rejection{Code: aaep.TransportUnavailable, Message: "Come tomorrow.",
					RetryAfter: time.Hour}
			}},
			provoke: again(subscriptionRequest("{}")), code: aaep.TransportUnavailable, status: 503,
			words: "Come tomorrow.",
		},
		"no producer": {alone: true, provoke: again(subscriptionRequest("{}")), code: aaep.TransportUnavailable,
			status: 503, words: "in time"},
		"queue": {
			alone: true, options: sse.ServerOptions{MaxWaiting: 1},
			provoke: func(v *virtualServer, _ *sse.Server) (*http.Response, string) {
				first := runAsync(func() (string, error) {
					_,
						body := v.postRequest(subscriptionRequest("{}"))
					return body, nil
				})
				synctest.Wait()
				resp, body := v.postRequest(subscriptionRequest("{}"))
				if r := <-first; !strings.Contains(r.value, "in time") {
					v.t.Errorf("the one in the queue is told %s", r.value)
				}
				return resp, body
			}, code: aaep.TransportUnavailable, status: 503, words: "at the moment",
		},
		"closed while it waits": {
			alone: true,
			provoke: func(v *virtualServer, binding *sse.Server) (*http.Response, string) {
				go func() { time.Sleep(time.Second); binding.Close() }()
				return v.postRequest(subscriptionRequest("{}"))
			}, code: aaep.TransportUnavailable, status: 503, words: "agent is ending",
		},
		"after the end": {
			provoke: func(v *virtualServer, _ *sse.Server) (*http.Response, string) {
				v.p.Shutdown(context.Background())
				return v.postRequest(subscriptionRequest("{}"))
			}, code: aaep.TransportUnavailable, status: 503, words: "",
		},
		"no JSON": {provoke: again("{"), code: aaep.ReasonUnknown, status: 400, words: "unexpected EOF"},
		"nothing": {provoke: again(""), code: aaep.ReasonUnknown, status: 400, words: "invalid message"},
		"no request": {provoke: again(`{"type":"subscription.close","subscription_id":"sub_1"}`),
			code: aaep.ReasonUnknown, status: 400, words: "subscription.request"},
		"not as agreed": {provoke: again(subscriptionRequest(`{"max_events_per_second":"many"}`)),
			code: aaep.ReasonUnknown, status: 400, words: "/capabilities/max_events_per_second"},
	} {
		t.Run(name, func(t *testing.T) {
			runMounted(t, c.cfg, c.options, c.alone, func(t *testing.T, v *virtualServer, binding *sse.Server) {
				resp, body := c.provoke(v, binding)
				no := onlyRejection(t, resp, body)
				if no.ReasonCode != c.code || resp.StatusCode != c.status ||
					!strings.Contains(no.ReasonMessage, c.words) {
					t.Errorf("the answer is %d %s; want %d, %s and %q", resp.StatusCode, body, c.status, c.code,
						c.words)
				}
				if strings.Contains(body, "secret") {
					t.Errorf("the answer tells %s", body)
				}
				if c.code == aaep.RateLimit && no.RetryAfterSeconds == nil {
					t.Error("it does not say when to try again")
				}
				if got := resp.Header.Get("WWW-Authenticate"); (got != "") != (c.status == http.StatusUnauthorized) {
					t.Errorf("WWW-Authenticate is %q", got)
				}
			})
		})
	}
}

// A request that is being looked at when the agent goes down has the producer's own answer. HS-043
func TestAskedAtTheLastMoment(t *testing.T) {
	looking, down := make(chan struct{}), make(chan struct{})
	runMounted(t, producer.Config{Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
		looking <- struct{}{}
		<-down
		return producer.Rights{}, nil
	}}, sse.ServerOptions{}, false, func(t *testing.T, v *virtualServer, _ *sse.Server) {
		looking, down = make(chan struct{}), make(chan struct{}) // of this bubble
		go func() {
			<-looking
			go v.p.Shutdown(context.Background())
			synctest.Wait()
			close(down)
		}()
		resp, body := v.postRequest(subscriptionRequest("{}"))
		if no := onlyRejection(t, resp, body); no.ReasonCode != aaep.TransportUnavailable || resp.StatusCode != 503 ||
			!strings.Contains(body, "shutting down") {
			t.Errorf("the answer is %s %s", resp.Status, body)
		}
	})
}

// onlyRejection checks that an answer is one rejection as AAEP has it, and nothing else.
func onlyRejection(t *testing.T, resp *http.Response, body string) *aaep.SubscriptionRejected {
	t.Helper()
	check(t, schemas.Validate([]byte(body)))
	m, err := aaep.Decode([]byte(body)) // which refuses more than one message
	check(t, err)
	check(t, aaep.Validate(m))
	no, isNo := m.(*aaep.SubscriptionRejected)
	if !isNo || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the answer is %s %s", resp.Status, body)
	}
	want := ""
	if no.RetryAfterSeconds != nil {
		want = strconv.FormatInt(*no.RetryAfterSeconds, 10)
	}
	if got := resp.Header.Get("Retry-After"); got != want {
		t.Errorf("Retry-After is %q, want %q as in %s", got, want, body)
	}
	return no
}

// Every hostile request has exactly one clear answer, over HTTP and on a link within the process;
// the good ones are served. HS-043, P10
func TestHostileRequests(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the hostile-input corpus is not beside the repository: ", err)
	}
	type run struct {
		Base64 string
		Times  int
	}
	var corpus struct {
		Cases []struct {
			ID, Target, Base64, Expect, Reason string
			Parts                              []run
		}
	}
	check(t, json.Unmarshal(data, &corpus))
	tried := 0
	runMounted(t, producer.Config{MaxRequestsPerSecond: -1}, sse.ServerOptions{}, false,
		func(t *testing.T, v *virtualServer, _ *sse.Server) {
			for _, c := range corpus.Cases {
				if c.Target != "subscription.request" {
					continue
				}
				tried++
				var body []byte
				for _, part := range append([]run{{c.Base64, 1}}, c.Parts...) {
					b, err := base64.StdEncoding.DecodeString(part.Base64)
					check(t, err)
					body = append(body, bytes.Repeat(b, part.Times)...)
				}
				resp, text := v.postRequest(string(body))
				accepted := resp.StatusCode == http.StatusCreated
				if !accepted {
					if resp.StatusCode/100 != 4 {
						t.Errorf("%s: %s", c.ID, resp.Status)
					}
					onlyRejection(t, resp, text)
				}
				answers := v.pipeAnswers(body)
				if len(answers) != 1 {
					t.Errorf("%s (%s): %d answers, want one", c.ID, c.Reason, len(answers))
					continue
				}
				if _, isYes := answers[0].(*aaep.SubscriptionAccepted); isYes != accepted {
					t.Errorf("%s (%s): over HTTP %s, otherwise %+v", c.ID, c.Reason, resp.Status, answers[0])
				}
				if accepted && c.Expect == "reject" || !accepted && c.Expect == "accept" {
					t.Errorf("%s (%s): %s %s, want %s", c.ID, c.Reason, resp.Status, text, c.Expect)
				}
			}
		})
	if tried < 100 {
		t.Errorf("only %d cases tried", tried)
	}
}

// pipeAnswers sends a request on a link within the process, and returns what comes until nothing
// more does.
func (v *virtualServer) pipeAnswers(request []byte) (all []aaep.Message) {
	v.t.Helper()
	a, b := transports.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); v.p.ServeConn(b) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	check(v.t, a.Send(ctx, request))
	for {
		data, err := a.Receive(ctx)
		if err != nil {
			break
		}
		check(v.t, schemas.Validate(data))
		m, err := aaep.Decode(data)
		check(v.t, err)
		all = append(all, m)
	}
	a.Close()
	<-served
	return all
}
