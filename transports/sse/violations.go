package sse

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep"
)

// reportStreamHead reports what the head of a stream has otherwise than B.1.6 demands.
func (c *conn) reportStreamHead(head http.Header) {
	said := shortenText(head.Get("Content-Type"), 100)
	typ, params, err := mime.ParseMediaType(said)
	switch charset, given := params["charset"]; {
	case err != nil || typ != streamType:
		c.violations.Report("SSE-016", fmt.Sprintf("a stream has the Content-Type %q, not %s", said, streamType))
	case given && !strings.EqualFold(charset, "utf-8"):
		c.violations.Report("SSE-016", fmt.Sprintf("a stream has the Content-Type %q, and is always UTF-8", said))
	}
	cache := strings.ToLower(strings.Join(head.Values("Cache-Control"), ","))
	if !strings.Contains(cache, "no-store") && !strings.Contains(cache, "no-cache") {
		c.violations.Report("SSE-016",
			fmt.Sprintf("a stream may be cached: its Cache-Control is %q", shortenText(cache, 100)))
	}
}

// reportEventFields reports what is around an event otherwise than B.1.3 demands. What overtook
// others has no id (D-65), so it is missed only where nothing on the stream had one.
func (c *conn) reportEventFields(ev event, lastID string) {
	if c.violations == nil {
		return
	}
	c.mu.Lock()
	alone := c.unnegotiated
	c.mu.Unlock()
	var said struct {
		ID      string `json:"event_id"`
		Urgency string `json:"urgency"`
	}
	if alone || json.Unmarshal(ev.data, &said) != nil || said.ID == "" { // without a handshake other rules hold
		return
	}
	if ev.name != eventName {
		c.violations.Report("SSE-006", fmt.Sprintf("an event has the name %q on its stream, not %s", ev.name, eventName))
	}
	switch {
	case ev.id != "" && ev.id != said.ID:
		c.violations.Report("SSE-006", "an event has another id on its stream than its event_id")
	case lastID == "" && said.Urgency != "critical":
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

// reportNoAcceptance reports an acceptance that is none, with what is wrong about it.
func (c *conn) reportNoAcceptance(status int, wrong error) {
	if status/100 != 2 {
		return
	}
	why := "it is another message"
	if wrong != nil {
		why = aaep.SafeText(wrong.Error())
	}
	c.violations.Report("SSE-004", "the answer to a subscription.request is no valid subscription.accepted: "+
		shortenText(why, 300))
}
