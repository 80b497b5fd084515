package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/transports"
)

// RootOptions are the settings of a RootServer.
type RootOptions struct {
	// Capabilities are the terms of every client, since none there can ask for any: the zero
	// Capabilities are the protocol's defaults (§5.3.1), with which clients get no questions. If
	// Languages is nil, a browser's Accept-Language is used where the producer has text for it.
	Capabilities aaep.Capabilities
	// Origins are the web pages of other origins that may use this listener; see ServerOptions.
	Origins []string
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

// RootServer serves clients that know no handshake, as those published with the specification do:
//
//	GET  /events     a stream of unnamed events; each is a subscription with the terms of RootOptions
//	POST /messages   replies, with any subscription_id or none
//	GET  /healthz    whether the listener is there
//
// Such clients have no credentials either, so it serves loopback connections only, whatever else
// the http.Server has to offer. A proxy on this machine makes everyone look local: do not put one
// in front.
//
// Its Conns begin with a subscription.request that it writes itself, from the subscriber
// "implicit". An EventSource that comes back with a Last-Event-ID goes on with its subscription, if
// that is still there; all others begin a new one.
type RootServer struct {
	server       *Server
	capabilities aaep.Capabilities
}

var (
	_ http.Handler        = (*RootServer)(nil)
	_ transports.Listener = (*RootServer)(nil)
)

// implicitID is the subscription_id of a subscription without a handshake, which agreed on none
// (D-37).
const implicitID = "sub_implicit"

// NewRootServer makes a RootServer, for clients that know no handshake. Mount it at the three paths
// and call Accept. The error says that RootOptions.Capabilities make no valid request.
func NewRootServer(o RootOptions) (*RootServer, error) {
	rs := &RootServer{NewServer(ServerOptions{Origins: o.Origins, Logger: o.Logger}), o.Capabilities}
	if _, err := rs.buildRequest(nil); err != nil {
		return nil, fmt.Errorf("sse: RootOptions.Capabilities: %w", err)
	}
	return rs, nil
}

// Accept returns the Conn of the next stream; see Server.
func (rs *RootServer) Accept(ctx context.Context) (transports.Conn, error) {
	return rs.server.Accept(ctx)
}

// Close refuses new streams; see Server.
func (rs *RootServer) Close() error { return rs.server.Close() }

// ServeHTTP serves the three endpoints /events, /messages and /healthz; another path gets 404, and
// another method 405. Every check that needs no state comes first.
func (rs *RootServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cors, ok := rs.server.checkAccess(w, r)
	if !ok {
		return
	}
	method, serve := http.MethodGet, rs.serveEvents
	switch r.URL.Path {
	case "/events":
	case "/messages":
		method, serve = http.MethodPost, rs.serveMessage
	case "/healthz":
		serve = rs.serveHealth
	default:
		rs.server.writeError(w, http.StatusNotFound, "no such endpoint; there are /events, /messages and /healthz")
		return
	}
	if rs.server.allowsMethod(w, r, cors, method) {
		serve(w, r)
	}
}

// serveHealth serves GET /healthz.
func (rs *RootServer) serveHealth(w http.ResponseWriter, _ *http.Request) {
	rs.server.writeBody(w, http.StatusOK, []byte(`{"status":"ok","aaep_version":"`+aaep.Version+`"}`))
}

// buildRequest returns the subscription.request that a client is taken to have sent. tags are the
// languages that it accepts.
func (rs *RootServer) buildRequest(tags []string) ([]byte, error) {
	c := rs.capabilities
	if c.Languages == nil {
		c.Languages = tags
	}
	return aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "implicit", Capabilities: c})
}

// serveEvents serves GET /events: on an idle subscription that sent the client's last event, or on
// a new one. A subscription that the producer refuses gets the refusal as the answer.
func (rs *RootServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		rs.server.refuseBadStream(w, r, "", "a request for the event stream has no body")
		return
	}
	if !rs.server.isUnambiguous(w, r) {
		return
	}
	st := rs.server.newStream(w, r)
	if st == nil {
		return
	}
	request, err := rs.buildRequest(acceptLanguages(r.Header))
	if err != nil { // acceptLanguages does not check tags, so that one may not be valid
		request, _ = rs.buildRequest(nil)
	}
	for _, l := range rs.allLinks() {
		if l.history.hasSent(st.last, request) && rs.server.runStream(w, r, r, l, st, true) {
			return
		}
	}
	l, a, refusal := rs.openLink(r, request)
	switch {
	case refusal != nil:
		rs.server.rejectRequest(w, credentials.Status(refusal.ReasonCode), refusal)
	case a.accepted == nil:
		rs.server.writeAnswer(w, r, a, http.StatusOK)
	case !rs.server.runStream(w, r, r, l, st, false):
		rs.server.writeError(w, http.StatusServiceUnavailable, "the subscription has ended; try again")
	}
}

// openLink makes a new subscription for request, as Server.openLink does. The languages of a
// browser are only a wish: if the producer rejects the request for its capabilities, a request
// without languages is made.
func (rs *RootServer) openLink(r *http.Request, request []byte) (*link, answer, *aaep.SubscriptionRejected) {
	l, a, refusal := rs.server.openLink(r, "", implicitID, request, &sentHistory{request: request})
	if a.rejected != nil && a.rejected.ReasonCode == aaep.CapabilitiesIncompatible {
		if anyLanguage, err := rs.buildRequest(nil); err == nil && !bytes.Equal(anyLanguage, request) {
			return rs.server.openLink(r, "", implicitID, anyLanguage, &sentHistory{request: request})
		}
	}
	return l, a, refusal
}

// notAReply is the answer to a POST of anything but a reply; what is wrong with the message itself
// may follow.
const notAReply = "not a valid AAEP reply; confirmation.reply and clarification.reply are taken here, and nothing else"

// serveMessage serves POST /messages: it hands a reply to the subscription that was sent the
// question with the reply's token. Every reply gets the same answer, whatever becomes of it (D-36).
// A body that is no reply is refused as malformed.
func (rs *RootServer) serveMessage(w http.ResponseWriter, r *http.Request) {
	body, release, status, problem := rs.server.readBody(w, r, "")
	defer release()
	if status != 0 {
		rs.server.writeError(w, status, problem)
		return
	}
	m, err := aaep.Decode(withImplicitID(body))
	var token aaep.ReplyToken
	var id *string
	switch m := m.(type) {
	case *aaep.ConfirmationReply:
		token, id = m.ReplyToken, &m.SubscriptionID
	case *aaep.ClarificationReply:
		token, id = m.ReplyToken, &m.SubscriptionID
	default:
		rs.server.refuseMalformed(w, r, "", body, notAReply, err)
		return
	}
	l := rs.linkAsked(token)
	if l != nil {
		*id = l.subscriptionID()
	}
	if body, err = aaep.Encode(m); err != nil {
		rs.server.refuseMalformed(w, r, "", body, notAReply, err)
		return
	}
	if rs.server.deliverPosted(w, r, l, body, false) {
		rs.server.writeBody(w, http.StatusOK, []byte(`{"status":"received"}`))
		_ = http.NewResponseController(w).Flush()
	}
}

// withImplicitID returns body, the JSON object of a message, with implicitID as its
// subscription_id, whether it had one or none: the published clients know no id. It changes nothing
// else, so that Decode still finds whatever is wrong; a body that is no JSON object, or whose
// subscription_id is no string, comes back with what is wrong in it.
func withImplicitID(body []byte) []byte {
	const quoted = `"` + implicitID + `"`
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return body
	}
	start := int(d.InputOffset())
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return body
		}
		if end := int(d.InputOffset()); name == "subscription_id" && value[0] == '"' {
			return slices.Concat(body[:end-len(value)], []byte(quoted), body[end:])
		}
	}
	return slices.Concat(body[:start], []byte(`"subscription_id":`+quoted+`,`), body[start:])
}

// allLinks returns the links of all accepted subscriptions, in no order.
func (rs *RootServer) allLinks() []*link {
	rs.server.mu.Lock()
	defer rs.server.mu.Unlock()
	all := make([]*link, 0, len(rs.server.byID))
	for _, l := range rs.server.byID {
		all = append(all, l)
	}
	return all
}

// linkAsked returns a link that the question with this token was sent on. For an unknown token it
// returns any link, so that the producer takes as long over the reply and records it; nil if there
// are none.
func (rs *RootServer) linkAsked(token aaep.ReplyToken) *link {
	var found *link
	for _, l := range rs.allLinks() {
		if found = l; l.history.hasAsked(token) {
			break
		}
	}
	return found
}

// acceptLanguages returns the language tags of a request's Accept-Language in the order they stand,
// best first as browsers write them; at most eight, without repeats and those with the weight 0.
func acceptLanguages(h http.Header) []string {
	var tags []string
	for tag := range strings.SplitSeq(strings.Join(h.Values("Accept-Language"), ","), ",") {
		tag, weight, _ := strings.Cut(strings.ReplaceAll(tag, " ", ""), ";")
		never := weight != "" && strings.Trim(weight, "q=0.") == ""
		if tag == "" || tag == "*" || never || slices.Contains(tags, tag) {
			continue
		}
		if tags = append(tags, tag); len(tags) == 8 {
			break
		}
	}
	return tags
}
