package conformance_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

// outsiderFaults were planted before anything was known of which case would catch them. LVL-042.
var outsiderFaults = []fault{
	{title: "answers in whole numbers", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if f, ok := v.(float64); ok {
			return math.Round(f)
		}
		return v
	})},
	{title: "answers without a sign", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if f, ok := v.(float64); ok {
			return math.Abs(f)
		}
		return v
	})},
	{title: "writes answers for a page", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if s, ok := v.(string); ok {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s)
		}
		return v
	})},
	{title: "answers a question twice", caught: []string{"reply-once"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{out: func(o object) []object {
			if shortName(o) == "clarification.reply" {
				return []object{o, o}
			}
			return []object{o}
		}}
	})},
	{title: "says why it answers so", caught: []string{"reply-valid"}, conn: editSent(editOnly("clarification.reply",
		setMembers(object{"reason": "x"})))},
	{title: "answers for another", caught: []string{"reply-subscription"}, conn: editSent(editOnly("clarification.reply",
		setMembers(object{"subscription_id": "sub_another"})))},
	{title: "stamps answers when they are sent", caught: []string{"reply-stamp"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{out: func(o object) []object {
			if strings.HasSuffix(shortName(o), ".reply") {
				time.Sleep(2800 * time.Millisecond)
				return []object{cloneWith(o, object{"timestamp": aaep.FormatTimestamp(time.Now())})}
			}
			return []object{o}
		}}
	})},
	{title: "gives the default answer by itself", caught: []string{"never-by-itself"},
		conn: mutateWith(func() *messageMutator {
			var m *messageMutator
			id := ""
			m = &messageMutator{in: func(o object) []object {
				if shortName(o) == "subscription.accepted" {
					id, _ = o["subscription_id"].(string)
				}
				if n, ok := o["timeout_seconds"].(float64); ok && n < 10 && shortName(o) == "awaiting.clarification" {
					m.Conn.Send(context.Background(), encodeObject(object{"type": "clarification.reply",
						"reply_token": o["reply_token"],
						"response":    false, "subscription_id": id, "timestamp": aaep.FormatTimestamp(time.Now())}))
				}
				return []object{o}
			}}
			return m
		})},
	{title: "never gives a question up", caught: []string{"expires"},
		conn: editReceived(editOnly("awaiting.clarification", setMembers(object{"timeout_seconds": 3600})))},
	{title: "answers on behalf of who is gone", caught: []string{"gone-when-cancelled"},
		conn: mutateWith(func() *messageMutator {
			asks := map[any]bool{}
			return &messageMutator{in: editEach(func(o object) object {
				asks[o["session_id"]] = asks[o["session_id"]] || shortName(o) == "awaiting.clarification"
				if shortName(o) == "session.cancelled" && asks[o["session_id"]] {
					return nil
				}
				return o
			})}
		})},
	{title: "answers what was answered elsewhere", caught: []string{"answers-sent", "choices-told", "gone-when-settled"},
		conn: mutateWith(func() *messageMutator {
			asks := map[any]bool{}
			return &messageMutator{in: editEach(func(o object) object {
				asks[o["session_id"]] = asks[o["session_id"]] || shortName(o) == "awaiting.clarification"
				if asks[o["session_id"]] && o["from_state"] == "awaiting_input" {
					o["from_state"] = "thinking"
				}
				return o
			})}
		})},
	{title: "mixes two outputs", caught: []string{"outputs-apart", "fragments-held"}, conn: editReceived(editOnly("output.streaming",
		setMembers(object{"output_id": "out_1"})))},
	{title: "knows no language of a chunk", caught: []string{"language-kept"},
		conn: editReceived(editOnly("output.streaming", setMembers(object{"language": nil})))},
	{title: "knows an event again if it was the last", caught: []string{"no-doubles"}, conn: func(c transports.Conn,
		h hook) transports.Conn {
		seen, last := map[any]bool{}, any(nil)
		return &messageMutator{Conn: c, in: editEach(func(o object) object {
			id := o["event_id"]
			if id != nil && seen[id] && id != last {
				h.Tell(encodeObject(object{"event_id": id, "text": o["summary_normal"], "kind": "news"}))
			}
			seen[id], last = true, id
			return o
		})}
	}},
	{title: "takes one question away with another session", caught: []string{"answers-the-one"},
		conn: mutateWith(func() *messageMutator {
			asked := map[any]bool{}
			return &messageMutator{in: func(o object) []object {
				list := []object{o}
				asked[o["session_id"]] = asked[o["session_id"]] || shortName(o) == "awaiting.confirmation"
				if shortName(o) == "session.cancelled" || shortName(o) == "session.completed" || shortName(o) == "session.errored" {
					for s := range asked {
						if s != o["session_id"] && asked[s] {
							list = append(list, cloneWith(o, object{"session_id": s, "event_id": "evt_more" + fmt.Sprint(s)[5:15],
								"type": "aaep:agent.session.cancelled", "cancelled_by": "system", "error_category": nil, "error_code": nil,
								"recoverable": nil, "urgency": "normal"}))
						}
					}
				}
				return list
			}}
		})},
	{title: "tells nothing of sessions that began before it came", caught: []string{"gaps-passed", "nothing-lost", "survives-cut", "spelled-out"},
		conn: mutateWith(func() *messageMutator {
			began := map[any]bool{}
			return &messageMutator{in: editEach(func(o object) object {
				began[o["session_id"]] = began[o["session_id"]] || shortName(o) == "session.started"
				if o["session_id"] != nil && !began[o["session_id"]] && o["urgency"] != "critical" {
					return nil
				}
				return o
			})}
		})},
	{title: "says the action in place of the consequence", caught: []string{"prompt-whole"}, says: func(ev *aaep.Event,
		text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && p.RiskLevel == aaep.RiskLow {
			return p.Action + "? The risk is low."
		}
		return text
	}},
	{title: "cuts long actions", caught: []string{"prompt-whole", "unknown-risk"}, says: func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && len(p.Action) > 100 {
			return strings.Replace(text, p.Action, p.Action[:100], 1)
		}
		return text
	}},
	{title: "takes a yes for the session and not for the question", caught: []string{"decision-kept"},
		conn: mutateWith(func() *messageMutator {
			return &messageMutator{}
		}), runs: func(ctx context.Context, h *conformance.Hook, rd *reader) error {
			decided := map[any]any{}
			tokens := map[any]any{}
			rd.f.conn = func(c transports.Conn, _ hook) transports.Conn {
				m := &messageMutator{Conn: c}
				m.in = editEach(func(o object) object {
					if shortName(o) == "awaiting.confirmation" {
						tokens[o["reply_token"]] = o["session_id"]
					}
					return o
				})
				m.out = editEach(func(o object) object {
					if shortName(o) == "confirmation.reply" {
						s := tokens[o["reply_token"]]
						if d := decided[s]; d != nil {
							return cloneWith(o, object{"decision": d})
						}
						decided[s] = o["decision"]
					}
					return o
				})
				return m
			}
			return rd.followEvents(ctx, h)
		}},
}

// editResponse edits the answers to questions that leave.
func editResponse(change func(any) any) func(transports.Conn, hook) transports.Conn {
	return editSent(editOnly("clarification.reply", func(o object) object {
		return cloneWith(o, object{"response": change(o["response"])})
	}))
}
