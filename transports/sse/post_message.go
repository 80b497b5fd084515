package sse

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A postResponse is the response to a POST.
type postResponse struct {
	retryAfter time.Duration // of the Retry-After header; zero if there is none
	status     int
	text       string // the status with its name, such as "404 Not Found"
	location   string // the Location header
	body       []byte // nil if it could not be read or is too large
}

// excerpt returns the end of an error's text that quotes the beginning of the body; "" if there is
// no body.
func (a postResponse) excerpt() string {
	if len(a.body) == 0 {
		return ""
	}
	return fmt.Sprintf("; the answer was %q", shortenText(aaep.SafeText(string(a.body[:min(len(a.body), 400)])), 200))
}

// postMessage POSTs msg to the URL to, within postTime, and reads the response, whatever its
// status. A redirect is an error, since messages stay on their URL. The text of an error says
// whether the message may have arrived; it is transports.ErrClosed once the connection is closed.
// postResponse has no body where that could not be read, or is too large, and with the error for a
// redirect it says where that led.
func (c *conn) postMessage(ctx context.Context, to *url.URL, msg []byte) (postResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(msg))
	if err != nil {
		return postResponse{}, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", jsonType)
	req.Header.Set("Accept", jsonType)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := c.doWithCredentials(req)
	if err != nil {
		return postResponse{}, c.deliveryError(err)
	}
	defer resp.Body.Close()
	a := postResponse{status: resp.StatusCode, location: resp.Header.Get("Location"),
		text: fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	if n, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		a.retryAfter = time.Duration(n) * time.Second
	}
	if a.status/100 == 3 {
		return a,
			fmt.Errorf("sse: not delivered: status %s: a message is not sent on to another address; check Dialer.URL",
				a.text)
	}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, transports.MaxMessage+1))
	if len(a.body) > transports.MaxMessage {
		a.body, err = nil, transports.ErrTooLarge
	}
	if err != nil {
		c.log.Info("sse: the response to a POST is not readable", "status", a.status, "cause", err)
		a.body = nil
	}
	return a, nil
}

// deliveryError returns the error of a POST that failed with err, whose text says whether the
// message may have arrived; transports.ErrClosed once the conn is closed.
func (c *conn) deliveryError(err error) error {
	if c.ctx.Err() != nil {
		return transports.ErrClosed
	}
	if errors.Is(err, errCredentials) {
		return fmt.Errorf("sse: not delivered: %w", err)
	}
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("sse: not delivered: %w", op) // which names the address
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("sse: not delivered: what answers there speaks HTTP without TLS, use http: %w", err)
	case errors.As(err, &certificate):
		return fmt.Errorf("sse: not delivered: %w", err)
	}
	return fmt.Errorf("sse: it is unknown whether the message was delivered: %w", err)
}
