// Package sse carries AAEP over HTTP: requests and replies are POSTed, events come back as
// Server-Sent Events (appendix B.1).
//
//	POST {prefix}/subscriptions                   a subscription.request; 201 with the answer
//	GET  {prefix}/events?subscription_id=sub_…    the event stream
//	POST {prefix}/events?subscription_id=sub_…    with credentials: a ticket for the stream, for an EventSource
//	POST {prefix}/replies                         replies, renegotiation and close
//
// A producer mounts a Server as an http.Handler and hands it to its owner as a transports.Listener.
// A subscriber gives a Dialer to its owner. Neither side knows what the messages mean; this package
// looks at types and ids only to put each message on its way.
//
// Peers that know no handshake have another layout: RootServer serves such clients, and
// Dialer.RootLayout follows such producers.
//
// TLS is the affair of the http.Server that the Server is mounted on. Without an authenticator a
// Server answers on loopback only.
//
// On the producer's side a link is one subscription and a stream is one GET of its events; both are
// used by the goroutines of net/http and by the owner. On the subscriber's side a conn is one
// subscription, and one goroutine reads its current stream. Begin reading at Server.ServeHTTP and
// link, or at Dialer.Dial and conn.
//
// The producer's POSTs are served in post.go, their bodies read and bounded in body.go and answered
// in answer.go; the event stream is in stream.go, tickets in tickets.go, settings and times in
// options.go. The subscriber's link is in conn.go, its POSTs in post_message.go, and the stream is
// read in inbound.go and parse.go; what a producer does against the binding is reported in
// violations.go. The layout without a handshake is in root.go and unnegotiated.go.
package sse

import (
	"mime"
	"strings"
)

// DefaultPrefix is the path under which the three endpoints live (B.1.1).
const DefaultPrefix = "/aaep/v1"

const (
	eventName     = "aaep.event" // on every event of a negotiated stream (D-64)
	jsonType      = "application/json"
	streamType    = "text/event-stream"
	lastEventID   = "Last-Event-ID"
	byteOrderMark = "\xef\xbb\xbf"
)

// isJSON reports whether the Content-Type values of a message say JSON in UTF-8 (INV-45).
func isJSON(contentTypes []string) bool {
	if len(contentTypes) != 1 {
		return false
	}
	typ, params, err := mime.ParseMediaType(contentTypes[0])
	charset, hasCharset := params["charset"]
	return err == nil && typ == jsonType && (!hasCharset || strings.EqualFold(charset, "utf-8"))
}
