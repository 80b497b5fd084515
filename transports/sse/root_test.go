package sse

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

const payNow = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.awaiting.confirmation","event_id":"evt_%[1]s","session_id":"sess_1","timestamp":"2026-05-24T14:22:20.000Z","producer":{"agent_id":"a"},"urgency":"critical","summary_normal":"Pay?","action":"Pay.","consequence":"Paid.","reply_token":"rpl_%[1]s","timeout_seconds":60,"default_decision":"reject"}`

// bare is a reply as the published clients send it: to no subscription.
const bare = `{"type":"confirmation.reply","reply_token":"rpl_%s","timestamp":"2026-05-24T14:22:25.000000+00:00","decision":"accept"}`

// serveRootLoopback serves a RootServer on loopback until the test ends.
func serveRootLoopback(t *testing.T, o RootOptions) (*RootServer, string) {
	t.Helper()
	rs, err := NewRootServer(o)
	requireNoError(t, err)
	ts := httptest.NewServer(rs)
	t.Cleanup(func() { _ = rs.Close(); ts.CloseClientConnections(); ts.Close() })
	return rs, ts.URL
}

// openByID opens a stream of the subscription id, which the producer begins to read.
func openByID(t *testing.T, rs *RootServer, url, id string, header ...string) (*prompt, *http.Response, transports.Stream) {
	t.Helper()
	opened := make(chan *http.Response, 1)
	go func() {
		resp, _ := sendRequest(t, nil, "GET", url+"/events", "", header...)
		opened <- resp
	}()
	c, err := rs.Accept(t.Context())
	requireNoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	msg, err := c.Receive(t.Context())
	requireNoError(t, err)
	if m, err := aaep.Decode(msg); err != nil || m.MessageType() != "subscription.request" {
		t.Errorf("Receive = %s, %v; want a subscription.request", msg, err)
	}
	requireNoError(t, c.Send(t.Context(), acceptance(id)))
	p := dealAtOnce(c.(transports.Resumable))
	return p, <-opened, nextStream(t, p)
}

// D-36, D-37: whatever the reply names and whatever becomes of it, the answer is the same; the
// producer gets it under the subscription that was asked.
func TestRootReplies(t *testing.T) {
	rs, url := serveRootLoopback(t, RootOptions{})
	post := func(body string) string {
		resp, got := sendRequest(t, nil, "POST", url+"/messages", body)
		return fmt.Sprint(resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control"),
			len(resp.Header), got)
	}
	want := post(fmt.Sprintf(bare, "one")) // for no subscription
	if !strings.HasPrefix(want, "200") || !strings.HasSuffix(want, `{"status":"received"}`) {
		t.Errorf("a reply got %s", want)
	}
	p1, _, st1 := openByID(t, rs, url, "sub_1")
	p2, _, st2 := openByID(t, rs, url, "sub_2")
	requireNoError(t, st1.SendEvents(t.Context(), []transports.Event{{Message: fmt.Appendf(nil, payNow, "one")}}))
	requireNoError(t, st2.SendEvents(t.Context(), []transports.Event{{Message: fmt.Appendf(nil, payNow, "two"), ID: "evt_two"}}))
	named := func(body, id string) string { return strings.Replace(body, "{", `{"subscription_id":"`+id+`",`, 1) }
	for _, tt := range []struct {
		name, body, want string
		at               *prompt
	}{
		{"no subscription", fmt.Sprintf(bare, "one"), "sub_1", p1},
		{"no subscription, the other question", fmt.Sprintf(bare, "two"), "sub_2", p2},
		{"the constant", named(fmt.Sprintf(bare, "two"), "sub_implicit"), "sub_2", p2},
		{"unknown", named(fmt.Sprintf(bare, "one"), "sub_quickstart-demo"), "sub_1", p1},
		{"another's", named(fmt.Sprintf(bare, "one"), "sub_2"), "sub_1", p1},
		{"used", fmt.Sprintf(bare, "one"), "sub_1", p1},
		{"clarification",
			`  {"type":"clarification.reply","reply_token":"rpl_one","timestamp":"2026-05-24T14:22:25Z",` +
				`"response":"yes"}`, "sub_1", p1},
		{"unknown token", fmt.Sprintf(bare, "three"), "", nil},
	} {
		if got := post(tt.body); got != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
		if tt.at == nil { // whichever has it, it knows what to do
			select {
			case <-p1.got:
			case <-p2.got:
			}
			continue
		}
		msg, err := tt.at.Receive(t.Context())
		requireNoError(t, err)
		var sent, got map[string]any
		requireNoError(t, json.Unmarshal([]byte(tt.body), &sent))
		requireNoError(t, json.Unmarshal(msg, &got))
		if got["subscription_id"] != tt.want || got["reply_token"] != sent["reply_token"] ||
			got["decision"] != sent["decision"] || got["response"] != sent["response"] {
			t.Errorf("%s: the producer got %s", tt.name, msg)
		}
	}
	requireNoError(t, p1.Close())
	requireNoError(t, p2.Close())
	if got := post(fmt.Sprintf(bare, "one")); got != want {
		t.Errorf("after the end: %s, want %s", got, want)
	}
}

// What is no reply goes nowhere: read strictly, for it would authorize. INV-33, INV-45, D-63
func TestRootRefusesWhatIsNoReply(t *testing.T) {
	rs, url := serveRootLoopback(t, RootOptions{})
	p, _, st := openByID(t, rs, url, "sub_1")
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: fmt.Appendf(nil, payNow, "1"), ID: "evt_1"}}))
	good := fmt.Sprintf(bare, "1")
	for name, tt := range map[string]struct {
		body, typ string
		status    int
	}{
		"a session":        {`{"kind":"user_input","text":"hi"}`, "application/json", 400},
		"no JSON":          {`decision=accept`, "application/json", 400},
		"a list":           {`[` + good + `]`, "application/json", 400},
		"empty object":     {`{}`, "application/json", 400},
		"decision twice":   {strings.Replace(good, "{", `{"decision":"reject",`, 1), "application/json", 400},
		"decision recased": {strings.Replace(good, "{", `{"Decision":"reject",`, 1), "application/json", 400},
		"id twice": {strings.Replace(good, "{", `{"subscription_id":"a","subscription_id":"b",`, 1),
			"application/json", 400},
		"null id":         {strings.Replace(good, "{", `{"subscription_id":null,`, 1), "application/json", 400},
		"other decision":  {strings.Replace(good, "accept", "maybe", 1), "application/json", 400},
		"a close":         {fmt.Sprintf(closing, "sub_1"), "application/json", 400},
		"a renegotiation": {fmt.Sprintf(renegot, "sub_1"), "application/json", 400},
		"a form":          {good, "text/plain", 415},
		"too large":       {string(padTo(transports.MaxMessage + 1)), "application/json", 413},
	} {
		resp, body := sendRequest(t, nil, "POST", url+"/messages", tt.body, "Content-Type: "+tt.typ)
		if resp.StatusCode != tt.status || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s, want %d", name, resp.StatusCode, body, tt.status)
		}
	}
	select {
	case msg := <-p.got:
		t.Errorf("the producer got %s", msg)
	default:
	}
}

// Other than from this machine, from an unlisted page or under a rebound name no client is served,
// whatever the path. D-71, INV-44
func TestRootRefusals(t *testing.T) {
	rs, url := serveRootLoopback(t, RootOptions{Origins: []string{"http://localhost:5173"}})
	for _, path := range []string{"GET /events", "POST /messages", "GET /healthz"} {
		method, path, _ := strings.Cut(path, " ")
		for name, header := range map[string]string{"rebound": "Host: evil.example",
			"foreign": "Origin: https://evil.example", "cross-site": "Sec-Fetch-Site: cross-site"} {
			if resp, _ := sendRequest(t, nil, method, url+path, "", header); resp.StatusCode != 403 {
				t.Errorf("%s, %s: %d, want 403", path, name, resp.StatusCode)
			}
		}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey,
			&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}), method, "http://localhost"+path, nil)
		w := httptest.NewRecorder()
		if rs.ServeHTTP(w, r); w.Code != 403 {
			t.Errorf("%s from elsewhere: %d, want 403", path, w.Code)
		}
		wrong := map[string]string{"GET": "POST", "POST": "GET"}[method]
		if resp, _ := sendRequest(t, nil, wrong, url+path, ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != method {
			t.Errorf("%s %s: %d", wrong, path, resp.StatusCode)
		}
		resp, _ := sendRequest(t, nil, "OPTIONS", url+path, "", "Origin: http://localhost:5173",
			"Access-Control-Request-Method: "+method)
		if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "http://localhost:5173" {
			t.Errorf("%s: the listed page is not let in: %d", path, resp.StatusCode)
		}
	}
	if resp, body := sendRequest(t, nil, "GET", url+"/healthz", ""); resp.StatusCode != 200 ||
		body != `{"status":"ok","aaep_version":"1.0.0"}` {
		t.Errorf("healthz: %d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/sessions", "/aaep/v1/events", "/"} {
		if resp, _ := sendRequest(t, nil, "POST", url+path, `{"user_message":"hi"}`); resp.StatusCode != 404 {
			t.Errorf("%s: %d, want 404", path, resp.StatusCode)
		}
	}
	if resp, _ := sendRequest(t, nil, "GET", url+"/events", "x"); resp.StatusCode != 400 {
		t.Errorf("a GET with a body: %d, want 400", resp.StatusCode)
	}
}

// What a client is taken to have asked for: the operator's terms, and a browser's languages. D-43
func TestRootRequest(t *testing.T) {
	for _, tt := range []struct {
		terms  aaep.Capabilities
		accept string
		want   []string
	}{
		{aaep.Capabilities{}, "", nil},
		{aaep.Capabilities{MaxEventsPerSecond: 5}, "fr-CA, fr;q=0.9,*;q=0.1, de; q=0 ,fr", []string{"fr-CA", "fr"}},
		{aaep.Capabilities{}, "not a tag!, fr", nil},
		{aaep.Capabilities{Languages: []string{"yo"}}, "fr", []string{"yo"}},
	} {
		rs, url := serveRootLoopback(t, RootOptions{Capabilities: tt.terms})
		done := make(chan struct{})
		go func() {
			defer close(done)
			sendRequest(t, nil, "GET", url+"/events", "", "Accept-Language: "+tt.accept)
		}()
		c, err := rs.Accept(t.Context())
		requireNoError(t, err)
		msg, err := c.Receive(t.Context())
		requireNoError(t, err)
		m, err := aaep.Decode(msg)
		requireNoError(t, err)
		got := m.(*aaep.SubscriptionRequest).Capabilities
		want := tt.terms
		want.Languages = tt.want
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", tt.accept, got, want)
		}
		requireNoError(t, c.Send(t.Context(), rejection("rate_limit", 0)))
		<-done
	}
	if _, err := NewRootServer(RootOptions{Capabilities: aaep.Capabilities{PaceWPM: -1}}); err == nil {
		t.Error("terms that cannot be asked for were taken")
	}
}

// A rejection is the status of the GET; a browser whose languages alone are in the way is let in
// without them. D-43, D-46, D-56
func TestRootRejections(t *testing.T) {
	rs, url := serveRootLoopback(t, RootOptions{})
	answer := func(msg []byte) string {
		c, err := rs.Accept(t.Context())
		requireNoError(t, err)
		req, err := c.Receive(t.Context())
		requireNoError(t, err)
		requireNoError(t, c.Send(t.Context(), msg))
		return string(req)
	}
	for code, status := range map[string]int{"authorization_denied": 403, "rate_limit": 429,
		"capabilities_incompatible": 422, "transport_unavailable": 503} {
		go answer(rejection(code, 7))
		resp, body := sendRequest(t, nil, "GET", url+"/events", "")
		if resp.StatusCode != status || resp.Header.Get("Retry-After") != "7" || reasonOf(t, body) != code {
			t.Errorf("%s: %d %s, want %d", code, resp.StatusCode, body, status)
		}
	}
	requests := make(chan string, 2)
	go func() {
		requests <- answer(rejection("capabilities_incompatible", 0))
		requests <- answer(acceptance("sub_1"))
	}()
	if resp, _ := sendRequest(t, nil, "GET", url+"/events", "", "Accept-Language: fr"); resp.StatusCode != 200 {
		t.Errorf("without the languages: %d, want 200", resp.StatusCode)
	}
	if first, second := <-requests, <-requests; !strings.Contains(first, `"fr"`) ||
		strings.Contains(second, "languages") {
		t.Errorf("asked for %s, then for %s", first, second)
	}
	requireNoError(t, rs.Close())
	if resp, body := sendRequest(t, nil, "GET", url+"/events", ""); resp.StatusCode != 503 {
		t.Errorf("closed: %d %s, want 503", resp.StatusCode, body)
	}
}

// Who comes back with an event that an idle subscription has sent goes on there; no client is put
// out of a stream that runs, or into one with other terms. SSE-012, SSE-017
func TestRootResume(t *testing.T) {
	rs, url := serveRootLoopback(t, RootOptions{})
	p, resp, st := openByID(t, rs, url, "sub_1", "Accept-Language: en")
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1), ID: "e1"}}))
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(2), ID: "e2"}}))
	wantBytes(t, resp.Body, "id: e1\ndata: "+string(numberedData(1))+"\n\nid: e2\ndata: "+string(numberedData(2))+"\n\n")
	_, _, other := openByID(t, rs, url, "sub_2", "Accept-Language: en", "Last-Event-ID: e1") // sub_1 is in use
	if other.LastEventID() != "e1" {
		t.Errorf("LastEventID = %q", other.LastEventID())
	}
	resp.Body.Close()
	<-st.Done()
	l := linkOf(p)
	for { // until its handler has let go
		l.mu.Lock()
		idle := l.stream == nil
		l.mu.Unlock()
		if idle {
			break
		}
		runtime.Gosched()
	}
	openByID(t, rs, url, "sub_3", "Accept-Language: en", "Last-Event-ID: e9") // unknown
	openByID(t, rs, url, "sub_4", "Accept-Language: fr", "Last-Event-ID: e1") // other terms
	openByID(t, rs, url, "sub_5", "Accept-Language: en")                      // a new subscription
	resp, _ = sendRequest(t, nil, "GET", url+"/events", "", "Accept-Language: en", "Last-Event-ID: e1")
	st = nextStream(t, p)
	if st.LastEventID() != "e1" {
		t.Errorf("LastEventID = %q, want e1", st.LastEventID())
	}
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(2), ID: "e2"}}))
	wantBytes(t, resp.Body, "id: e2\ndata: "+string(numberedData(2))+"\n\n")
}

// What is remembered of a stream is bounded, and enough.
func TestTraceIsBounded(t *testing.T) {
	var tr sentHistory
	for n := range 5 * historySize {
		tr.record(fmt.Appendf(nil, payNow, fmt.Sprint(n)), fmt.Sprint("e", n))
	}
	newest, oldest := 5*historySize-1, 4*historySize
	if len(tr.ids) > 2*historySize || len(tr.tokens) > 2*historySize {
		t.Errorf("%d ids and %d tokens are kept", len(tr.ids), len(tr.tokens))
	}
	for _, n := range []int{newest, oldest} {
		if !tr.hasSent(fmt.Sprint("e", n), nil) || !tr.hasAsked(aaep.ReplyToken(fmt.Sprint("rpl_", n))) {
			t.Errorf("number %d is forgotten", n)
		}
	}
	if tr.hasSent("", nil) || tr.hasAsked("rpl_x") {
		t.Error("it knows what was never there")
	}
}
