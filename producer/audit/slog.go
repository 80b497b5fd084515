package audit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aaep-go/aaep"
)

// Slog returns a Sink that hands each record to a logger, as an entry of level Info with the
// message "audit" and attributes with the names of the record's JSON. Characters that could deceive
// or disturb are made visible. It returns the error of the logger's handler; what the logger's
// level leaves out counts as recorded. It promises nothing about disks.
func Slog(l *slog.Logger) Sink { return slogSink{l.Handler()} }

// A slogSink is the Sink of Slog.
type slogSink struct{ slog.Handler }

// Record hands r, at the level Info and with the time now where it has none, to the handler;
// nothing where that level is off. The error is the handler's.
func (s slogSink) Record(r Record) error {
	ctx := context.Background()
	if !s.Enabled(ctx, slog.LevelInfo) {
		return nil
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	entry := slog.NewRecord(r.Time, slog.LevelInfo, "audit", 0)
	entry.AddAttrs(recordAttrs(r)...)
	return s.Handle(ctx, entry)
}

// An attrGroup collects the attributes that have a value.
type attrGroup []slog.Attr

// addText adds a text that is not empty.
func (g *attrGroup) addText(key, value string) {
	if value != "" {
		*g = append(*g, slog.String(key, aaep.SafeText(value)))
	}
}

// addFlag adds a flag that is set.
func (g *attrGroup) addFlag(key string, value bool) {
	if value {
		*g = append(*g, slog.Bool(key, true))
	}
}

// addTime adds a time that is not zero.
func (g *attrGroup) addTime(key string, t time.Time) {
	if !t.IsZero() {
		*g = append(*g, slog.Time(key, t.UTC()))
	}
}

// addResponse adds the answer to a clarification as "response", unless it is nil.
func (g *attrGroup) addResponse(v any) {
	switch v := v.(type) {
	case nil:
	case bool:
		*g = append(*g, slog.Bool("response", v))
	case float64:
		*g = append(*g, slog.Float64("response", v))
	default:
		*g = append(*g, slog.String("response", aaep.SafeText(fmt.Sprint(v))))
	}
}

// addGroup appends members to g as a group under key, unless there are none.
func (g *attrGroup) addGroup(key string, members attrGroup) {
	if len(members) > 0 {
		*g = append(*g, slog.Attr{Key: key, Value: slog.GroupValue(members...)})
	}
}

// recordAttrs returns the attributes of a record that have a value, for a Slog sink, safe to print.
func recordAttrs(r Record) (g attrGroup) {
	g.addText("kind", string(r.Kind))
	g.addText("agent_id", r.AgentID)
	g.addText("session_id", r.SessionID)
	g.addText("tool", r.Tool)
	g.addText("tool_call_id", r.ToolCallID)
	g.addText("question_id", r.QuestionID)
	var shown attrGroup
	for i, w := range r.Shown {
		shown.addGroup(fmt.Sprint(i+1), shownAttrs(w))
	}
	g.addGroup("shown", shown)
	g.addText("shown_digest", r.ShownDigest)
	g.addText("risk_level", string(r.Risk))
	g.addFlag("irreversible", r.Irreversible)
	g.addTime("deadline", r.Deadline)
	g.addText("default", r.Default)
	g.addGroup("recipients", subscriptionsAttrs(r.Recipients))
	g.addGroup("untold", subscriptionsAttrs(r.Untold))
	if r.By != nil {
		g.addGroup("by", subscriptionAttrs(*r.By))
	}
	if r.Claims != nil {
		g.addGroup("claims", claimsAttrs(*r.Claims))
	}
	g.addFlag("counted", r.Counted)
	g.addText("refused", r.Refused)
	g.addText("cause", r.Cause)
	g.addText("decision", string(r.Decision))
	g.addResponse(r.Response)
	g.addText("status", string(r.Status))
	if r.DurationMS != nil {
		g = append(g, slog.Int64("duration_ms", *r.DurationMS))
	}
	return g
}

// shownAttrs returns the attributes of a question's words in one language, with its choices by
// their values.
func shownAttrs(w Words) (g attrGroup) {
	g.addText("language", w.Language)
	g.addText("summary_terse", w.Terse)
	g.addText("summary_normal", w.Normal)
	g.addText("summary_detailed", w.Detailed)
	g.addText("action", w.Action)
	g.addText("consequence", w.Consequence)
	g.addText("question", w.Question)
	g.addText("context", w.Context)
	var choices attrGroup
	for _, c := range w.Choices {
		choices.addText(aaep.SafeText(c.Value), c.Label)
	}
	g.addGroup("choices", choices)
	return g
}

// subscriptionsAttrs returns a group for each subscription, numbered from 1.
func subscriptionsAttrs(subs []Subscription) (g attrGroup) {
	for i, sub := range subs {
		g.addGroup(fmt.Sprint(i+1), subscriptionAttrs(sub))
	}
	return g
}

// subscriptionAttrs returns the attributes of one subscription, but for those that are empty.
func subscriptionAttrs(s Subscription) (g attrGroup) {
	g.addText("subscription_id", s.SubscriptionID)
	g.addText("subscriber_id", s.SubscriberID)
	g.addText("principal", s.Principal)
	g.addText("language", s.Language)
	g.addText("node", s.Node)
	return g
}

// claimsAttrs returns the attributes of what a reply claims that have a value.
func claimsAttrs(c Claims) (g attrGroup) {
	g.addText("decision", string(c.Decision))
	g.addResponse(c.Response)
	g.addText("decided_by", c.DecidedBy)
	g.addText("decision_rationale", c.Rationale)
	g.addTime("timestamp", c.Time)
	g.addFlag("modified", c.Modified)
	return g
}
