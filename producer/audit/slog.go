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

type slogSink struct{ slog.Handler }

func (s slogSink) Record(r Record) error {
	ctx := context.Background()
	if !s.Enabled(ctx, slog.LevelInfo) {
		return nil
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	entry := slog.NewRecord(r.Time, slog.LevelInfo, "audit", 0)
	entry.AddAttrs(attrs(r)...)
	return s.Handle(ctx, entry)
}

// A group collects the attributes that have a value.
type group []slog.Attr

func (g *group) text(key, value string) {
	if value != "" {
		*g = append(*g, slog.String(key, aaep.SafeText(value)))
	}
}

func (g *group) yes(key string, value bool) {
	if value {
		*g = append(*g, slog.Bool(key, true))
	}
}

func (g *group) time(key string, t time.Time) {
	if !t.IsZero() {
		*g = append(*g, slog.Time(key, t.UTC()))
	}
}

func (g *group) response(v any) {
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

func (g *group) sub(key string, members group) {
	if len(members) > 0 {
		*g = append(*g, slog.Attr{Key: key, Value: slog.GroupValue(members...)})
	}
}

func attrs(r Record) (g group) {
	g.text("kind", string(r.Kind))
	g.text("agent_id", r.AgentID)
	g.text("session_id", r.SessionID)
	g.text("tool", r.Tool)
	g.text("tool_call_id", r.ToolCallID)
	g.text("question_id", r.QuestionID)
	var shown group
	for i, w := range r.Shown {
		shown.sub(fmt.Sprint(i+1), shownAttrs(w))
	}
	g.sub("shown", shown)
	g.text("shown_digest", r.ShownDigest)
	g.text("risk_level", string(r.Risk))
	g.yes("irreversible", r.Irreversible)
	g.time("deadline", r.Deadline)
	g.text("default", r.Default)
	g.sub("recipients", subscriptionsAttrs(r.Recipients))
	g.sub("untold", subscriptionsAttrs(r.Untold))
	if r.By != nil {
		g.sub("by", subscriptionAttrs(*r.By))
	}
	if r.Claims != nil {
		g.sub("claims", claimsAttrs(*r.Claims))
	}
	g.yes("counted", r.Counted)
	g.text("refused", r.Refused)
	g.text("cause", r.Cause)
	g.text("decision", string(r.Decision))
	g.response(r.Response)
	g.text("status", string(r.Status))
	if r.DurationMS != nil {
		g = append(g, slog.Int64("duration_ms", *r.DurationMS))
	}
	return g
}

func shownAttrs(w Words) (g group) {
	g.text("language", w.Language)
	g.text("summary_terse", w.Terse)
	g.text("summary_normal", w.Normal)
	g.text("summary_detailed", w.Detailed)
	g.text("action", w.Action)
	g.text("consequence", w.Consequence)
	g.text("question", w.Question)
	g.text("context", w.Context)
	var choices group
	for _, c := range w.Choices {
		choices.text(aaep.SafeText(c.Value), c.Label)
	}
	g.sub("choices", choices)
	return g
}

func subscriptionsAttrs(subs []Subscription) (all group) {
	for i, sub := range subs {
		all.sub(fmt.Sprint(i+1), subscriptionAttrs(sub))
	}
	return all
}

func subscriptionAttrs(s Subscription) (g group) {
	g.text("subscription_id", s.SubscriptionID)
	g.text("subscriber_id", s.SubscriberID)
	g.text("principal", s.Principal)
	g.text("language", s.Language)
	g.text("node", s.Node)
	return g
}

func claimsAttrs(c Claims) (g group) {
	g.text("decision", string(c.Decision))
	g.response(c.Response)
	g.text("decided_by", c.DecidedBy)
	g.text("decision_rationale", c.Rationale)
	g.time("timestamp", c.Time)
	g.yes("modified", c.Modified)
	return g
}
