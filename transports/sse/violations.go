package sse

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep"
)

// reportStreamHead reports, for a proof of the peer, the headers of a stream that are not as B.1.6
// demands: its type, its character set, and that it may not be cached. openStream goes on all the
// same.
func (c *conn) reportStreamHead(head http.Header) {
	contentType := shortenText(head.Get("Content-Type"), 100)
	typ, params, err := mime.ParseMediaType(contentType)
	switch charset, hasCharset := params["charset"]; {
	case err != nil || typ != streamType:
		c.violations.Report("SSE-016",
			fmt.Sprintf("a stream has the Content-Type %q, not %s", contentType, streamType))
	case hasCharset && !strings.EqualFold(charset, "utf-8"):
		c.violations.Report("SSE-016",
			fmt.Sprintf("a stream has the Content-Type %q, and is always UTF-8", contentType))
	}
	cache := strings.ToLower(strings.Join(head.Values("Cache-Control"), ","))
	if !strings.Contains(cache, "no-store") && !strings.Contains(cache, "no-cache") {
		c.violations.Report("SSE-016",
			fmt.Sprintf("a stream may be cached: its Cache-Control is %q", shortenText(cache, 100)))
	}
}

// reportEventFields reports the fields around an event's data that are not as B.1.3 demands: its
// name and its id on the stream. lastID is the stream's last id up to and with this event. An event
// that overtook others has no id (D-65), so a missing one is reported only where nothing on the
// stream had one.
func (c *conn) reportEventFields(ev event, lastID string) {
	if c.violations == nil {
		return
	}
	c.mu.Lock()
	unnegotiated := c.unnegotiated // other rules hold then
	c.mu.Unlock()
	var data struct {
		ID      string `json:"event_id"`
		Urgency string `json:"urgency"`
	}
	if unnegotiated || json.Unmarshal(ev.data, &data) != nil || data.ID == "" {
		return
	}
	if ev.name != eventName {
		c.violations.Report("SSE-006",
			fmt.Sprintf("an event has the name %q on its stream, not %s", ev.name, eventName))
	}
	switch {
	case ev.id != "" && ev.id != data.ID:
		c.violations.Report("SSE-006", "an event has another id on its stream than its event_id")
	case lastID == "" && data.Urgency != "critical":
		c.violations.Report("SSE-006", "an event has no id on its stream, and nothing before it has one")
	}
}

// reportStatus reports an acceptance with a status that is not for one. A subscriber that goes by a
// status that refuses, as nearly all do, is turned away by it.
func (c *conn) reportStatus(status int, text string) {
	switch {
	case status/100 != 2:
		c.violations.Report("TR-004", fmt.Sprintf("an acceptance has the status %s, which refuses the request", text))
	case status != http.StatusCreated:
		c.violations.Report("SSE-004", fmt.Sprintf("an acceptance has the status %s, not 201", text))
	}
}

// reportNoAcceptance reports a response whose status accepts the request and whose body does not.
// decodeErr is why the body is no message; nil if it is another message.
func (c *conn) reportNoAcceptance(status int, decodeErr error) {
	if status/100 != 2 {
		return
	}
	problem := "it is another message"
	if decodeErr != nil {
		problem = aaep.SafeText(decodeErr.Error())
	}
	c.violations.Report("SSE-004", "the answer to a subscription.request is no valid subscription.accepted: "+
		shortenText(problem, 300))
}
