package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

var coreTypes = []string{"session.started", "session.completed", "session.errored", "session.cancelled",
	"state.changed", "progress.updated",
	"tool.invoked", "tool.completed", "output.streaming", "awaiting.confirmation", "awaiting.clarification",
	"handoff.requested"}

// The mutants, in the order of the cases they are for. LVL-041, LVL-042, LVL-043.
var faults = []fault{
	{title: "says nothing when work begins", says: muteOn(hasType(aaep.TypeSessionStarted)),
		caught: []string{"start-told", "sessions-apart", "spelled-out", "normal-instead"}},
	{title: "keeps tools of low risk to itself", caught: []string{"tool-told"}, says: muteOn(func(ev *aaep.Event) bool {
		p, ok := ev.Payload.(*aaep.ToolInvoked)
		return ok && p.RiskLevel == aaep.RiskLow
	})},
	{title: "says nothing when work is over", says: muteOn(hasType(aaep.TypeSessionCompleted)),
		caught: []string{"completion-told", "nothing-lost", "sessions-apart"}},
	{title: "says nothing of what was cancelled", says: muteOn(hasType(aaep.TypeSessionCancelled)),
		caught: []string{"cancellation-told"}},
	{title: "keeps errors that may pass to itself", caught: []string{"error-told"},
		says: muteOn(func(ev *aaep.Event) bool {
			p, ok := ev.Payload.(*aaep.SessionErrored)
			return ok && p.Recoverable != nil && *p.Recoverable
		})},
	{title: "gives no hint", caught: []string{"hint-told"}, says: func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.SessionErrored); ok && p.RemediationHint != "" {
			text, _, _ = strings.Cut(text, p.RemediationHint)
		}
		return text
	}},
	{title: "talks at length whatever was chosen", shows: aaep.VerbosityDetailed, caught: []string{"verbosity-kept", "new-terms-heard"}},
	{title: "ends in one way", caught: []string{"ends-distinct"}, says: func(ev *aaep.Event, text string) string {
		switch ev.Type() {
		case aaep.TypeSessionCompleted, aaep.TypeSessionCancelled:
			return ev.Text(aaep.VerbosityNormal)
		}
		return text
	}},
	{title: "babbles", conn: editReceived(editOnly("output.streaming",
		func(o object) object { return cloneWith(o, object{"coalesce_hint": "sentence"}) })),
		caught: []string{"fragments-held"}},
	{title: "reads everything in English", language: "en-US", caught: []string{"language-kept"}},
	{title: "has one voice", kinds: func(kind string) string { return strings.TrimPrefix(kind, "critical ") },
		caught: []string{"critical-distinct"}},
	{title: "says one thing after the other", fifo: true, caught: []string{"critical-at-once", "question-at-once", "unknown-boundary"}},

	{title: "knows no strangers", conn: dropReceived(func(o object) bool {
		t, _ := o["type"].(string)
		return strings.Contains(t, ":") && !strings.HasPrefix(t, "aaep:")
	}), caught: []string{"unknown-type", "spelled-out"}},
	{title: "knows twelve types", conn: dropReceived(func(o object) bool {
		t, _ := o["type"].(string)
		return strings.HasPrefix(t, "aaep:agent.") && !slices.Contains(coreTypes, shortName(o))
	}), caught: []string{"future-type"}},
	{title: "wants no other members", conn: dropReceived(func(o object) bool { return o["certainty"] != nil }),
		caught: []string{"future-members"}},
	{title: "wants no other extensions", conn: dropReceived(func(o object) bool { return hasExtension(o, "medai") }),
		caught: []string{"odd-question", "odd-error", "unknown-extension"}},
	{title: "believes in extensions", conn: dropReceived(func(o object) bool { return hasExtension(o, "haptic") }),
		caught: []string{"broken-extension"}},
	{title: "knows four kinds of errors", conn: dropReceived(func(o object) bool { return o["error_category"] == "requires_admin" }), caught: []string{"unknown-value"}},
	{title: "knows few states", conn: dropReceived(func(o object) bool { return o["to_state"] == "juggling" }),
		caught: []string{"unknown-state"}},
	{title: "reads in one order", conn: dropReceivedBytes(func(b []byte) bool { return bytes.HasPrefix(b, []byte(`{"v`)) }),
		caught: []string{"any-order"}},
	{title: "reads no white space", conn: dropReceivedBytes(func(b []byte) bool { return bytes.Contains(b, []byte("\t")) }),
		caught: []string{"pretty-printed"}},
	{title: "wants an urgency", conn: dropReceived(func(o object) bool {
		return o["event_id"] != nil &&
			o["urgency"] == nil
	}), caught: []string{"bare-envelope"}},
	{title: "knows English", caught: []string{"odd-question", "odd-error", "foreign-language"}, conn: dropReceived(func(o object) bool {
		hints, ok := o["localization_hints"].(object)
		return ok && hints["primary_language"] != "en-US"
	})},
	{title: "wants text in its own form", conn: dropReceivedBytes(func(b []byte) bool {
		return bytes.Contains(b,
			[]byte("\u0301"))
	}), caught: []string{"decomposed"}},
	{title: "takes 64 KiB", conn: dropReceivedBytes(func(b []byte) bool { return len(b) > 64<<10 }), caught: []string{"large"}},
	{title: "compares ids in small letters", caught: []string{"id-case"}, conn: mutateWith(func() *messageMutator {
		seen := map[string]bool{}
		return &messageMutator{in: editEach(func(o object) object {
			id, _ := o["event_id"].(string)
			if id = strings.ToLower(id); id != "" && seen[id] {
				return nil
			}
			seen[id] = true
			return o
		})}
	})},
	{title: "gives up on what it cannot read", caught: []string{"survives-garbage"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{bye: func(msg []byte) error {
			if _, err := aaep.Decode(msg); err != nil {
				return err
			}
			return nil
		}}
	})},
	{title: "needs no context", caught: []string{"context-checked"}, conn: editReceived(func(o object) object {
		if o["event_id"] != nil && o["@context"] == nil {
			return cloneWith(o, object{"@context": aaep.CoreContext})
		}
		return o
	})},
	{title: "needs no session", caught: []string{"session-checked"}, conn: editReceived(func(o object) object {
		if o["event_id"] != nil && o["session_id"] == nil {
			return cloneWith(o, object{"session_id": "sess_1"})
		}
		return o
	})},
	{title: "has time", caught: []string{"time-checked"}, conn: editReceived(func(o object) object {
		if o["timestamp"] == "yesterday" {
			return cloneWith(o, object{"timestamp": aaep.FormatTimestamp(time.Now())})
		}
		return o
	})},
	{title: "logs nothing", logsNothing: true, caught: []string{"defects-logged", "order-checked"}},

	{title: "reads ASCII only", caught: []string{"decomposed"}, says: func(_ *aaep.Event, text string) string {
		return strings.Map(func(r rune) rune {
			if r > '~' {
				return -1
			}
			return r
		}, text)
	}},
	{title: "swallows the ends of an answer", caught: []string{"fragments-held", "unknown-boundary"},
		runs: reportedAs("boundary", func(text string) []string { return []string{text[:len(text)-5]} })},
	{title: "cuts a line at every 40th code point", caught: []string{"characters-whole"},
		runs: reportedAs("characterswhole", func(text string) (lines []string) {
			for part := range slices.Chunk([]rune(text), 40) {
				lines = append(lines, string(part))
			}
			return lines
		})},
	{title: "says once more what it has said", caught: []string{"no-doubles"},
		runs: reportedAs("double", func(text string) []string { return []string{text, "Once more: " + text} })},
	{title: "forgets its question when another session goes on", caught: []string{"odd-question", "answers-sent", "answers-the-one", "bare-question", "choices-told", "decision-sent", "unknown-risk"},
		conn: mutateWith(func() *messageMutator {
			var asked any
			return &messageMutator{in: editEach(func(o object) object {
				if shortName(o) == "awaiting.confirmation" && o["risk_level"] == "high" {
					asked = o["session_id"]
				} else if asked != nil && o["to_state"] == "thinking" {
					o["session_id"], o["from_state"] = asked, "awaiting_input"
				}
				return o
			})}
		})},
	{title: "stamps its reply with the question", caught: []string{"reply-stamp"}, conn: mutateWith(func() *messageMutator {
		stamps := map[any]any{}
		return &messageMutator{in: editEach(func(o object) object {
			if o["reply_token"] != nil {
				stamps[o["reply_token"]] = o["timestamp"]
			}
			return o
		}), out: editEach(func(o object) object {
			if at := stamps[o["reply_token"]]; at != nil {
				o["timestamp"] = at
			}
			return o
		})}
	})},
	{title: "does not say that it can reply",
		caps:   func(c *aaep.Capabilities) { c.SupportsConfirmationReply, c.SupportsClarificationReply = nil, nil },
		caught: []string{"says-it-replies"}},
	{title: "leaves the consequence out", caught: []string{"odd-question", "prompt-whole", "unknown-risk"},
		says: func(ev *aaep.Event, text string) string {
			if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
				return fmt.Sprintf("%s? The risk is %s.", p.Action, p.RiskLevel)
			}
			return text
		}},
	{title: "makes light of risks", caught: []string{"risk-shown"}, says: func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
			return p.Action + "? " + p.Consequence
		}
		return text
	}},
	{title: "never replies", conn: editSent(func(o object) object {
		if shortName(o) == "confirmation.reply" {
			return nil
		}
		return o
	}), caught: []string{"odd-question", "decision-sent", "answers-the-one", "replies-anew", "answers-after-change", "bare-question"}},
	{title: "always accepts", decides: aaep.Accept, caught: []string{"decision-kept", "answers-the-one"}},
	{title: "replies twice", caught: []string{"reply-once"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{out: func(o object) []object {
			if shortName(o) == "confirmation.reply" {
				return []object{o, o}
			}
			return []object{o}
		}}
	})},
	{title: "tidies tokens", caught: []string{"odd-question", "token-echoed", "answers-the-one", "replies-anew", "answers-after-change", "bare-question"},
		conn: editSent(editOnly("confirmation.reply", func(o object) object {
			return cloneWith(o, object{"reply_token": strings.ToLower(o["reply_token"].(string))})
		}))},
	{title: "says why", conn: editSent(editOnly("confirmation.reply", setMembers(object{"decision_reason": "I like it."}))),
		caught: []string{"reply-valid"}},
	{title: "replies for another", conn: editSent(editOnly("confirmation.reply",
		setMembers(object{"subscription_id": "sub_another"}))), caught: []string{"reply-subscription", "replies-anew"}},
	{title: "has a slow clock", caught: []string{"reply-stamp"},
		conn: editSent(editOnly("confirmation.reply", func(o object) object {
			return cloneWith(o, object{"timestamp": aaep.FormatTimestamp(time.Now().Add(-time.Hour))})
		}))},
	{title: "writes yes as text", caught: []string{"answers-sent"},
		conn: editSent(editOnly("clarification.reply", func(o object) object {
			if o["response"] == true {
				return cloneWith(o, object{"response": "true"})
			}
			return o
		}))},
	{title: "answers what has little time", caught: []string{"never-by-itself"},
		answers: func(ev *aaep.Event) aaep.Decision {
			if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && p.TimeoutSeconds < 10 {
				return aaep.Reject
			}
			return ""
		}},
	{title: "waits for a countdown", caught: []string{"expires"}, conn: editReceived(func(o object) object {
		if o["timeout_seconds"] != nil {
			return cloneWith(o, object{"timeout_seconds": 3600})
		}
		return o
	})},
	{title: "asks on behalf of who is gone", caught: []string{"gone-when-cancelled"}, conn: mutateWith(func() *messageMutator {
		asks := map[any]bool{}
		return &messageMutator{in: editEach(func(o object) object {
			asks[o["session_id"]] = asks[o["session_id"]] || shortName(o) == "awaiting.confirmation"
			if shortName(o) == "session.cancelled" && asks[o["session_id"]] {
				return nil
			}
			return o
		})}
	})},
	{title: "asks what was answered elsewhere", caught: []string{"answers-sent", "bare-question", "choices-told", "gone-when-settled"},
		conn: editReceived(func(o object) object {
			if o["from_state"] == "awaiting_input" { // a subscriber that does not know what that means
				o["from_state"] = "thinking"
			}
			return o
		})},

	{title: "says hello", caught: []string{"request-first"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{out: func(o object) []object {
			if shortName(o) == "subscription.request" {
				return []object{{"type": "hello"}, o}
			}
			return []object{o}
		}}
	})},
	{title: "names half a version", conn: editSent(editOnly("subscription.request", setMembers(object{"aaep_version": "1.0"}))),
		caught: []string{"request-valid"}},
	{title: "never has the same name", names: func() string { return fmt.Sprint("reader-", time.Now().UnixNano()) },
		caught: []string{"one-name"}},
	{title: "wants all or nothing", caught: []string{"lives-with-less"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{bye: func(msg []byte) error {
			if bytes.Contains(msg, []byte("subscription.accepted")) &&
				bytes.Contains(msg, []byte(`"supports_confirmation_reply":false`)) {
				return errors.New("this is less than was asked for")
			}
			return nil
		}}
	})},
	{title: "chooses alone", alone: true, caught: []string{"changes-terms"}},
	{title: "asks for something else", asks: aaep.VerbosityDetailed, caught: []string{"changes-terms", "new-terms-heard"}},
	{title: "forgets its number", conn: editSent(editOnly("subscription.renegotiate",
		setMembers(object{"subscription_id": "sub_another"}))), caught: []string{"renegotiation-valid"}},
	{title: "wants the new terms at once", caught: []string{"old-terms-heard"}, conn: mutateWith(func() *messageMutator {
		waits := false
		return &messageMutator{out: editEach(func(o object) object {
			waits = waits ||
				shortName(o) == "subscription.renegotiate"
			return o
		}), in: editEach(func(o object) object {
			if waits = waits && shortName(o) != "subscription.accepted"; waits {
				return nil
			}
			return o
		})}
	})},
	{title: "wants no other terms", caught: []string{"new-terms-heard", "normal-instead"}, conn: mutateWith(func() *messageMutator {
		n := 0
		return &messageMutator{in: editEach(func(o object) object {
			if shortName(o) == "subscription.accepted" {
				n++
			} else if n > 1 {
				return nil
			}
			return o
		})}
	})},
	{title: "insists", caught: []string{"changes-terms", "asks-for-less"}, conn: func() func(transports.Conn, hook) transports.Conn {
		var first any
		return editSent(editOnly("subscription.request", func(o object) object {
			if first == nil {
				first = o["capabilities"]
			}
			return cloneWith(o, object{"capabilities": first})
		}))
	}()},
	{title: "waits for the beginning", caught: []string{"error-unannounced"}, conn: mutateWith(func() *messageMutator {
		began := map[any]bool{}
		return &messageMutator{in: editEach(func(o object) object {
			began[o["session_id"]] = began[o["session_id"]] || shortName(o) == "session.started"
			if shortName(o) == "session.errored" && !began[o["session_id"]] {
				return nil
			}
			return o
		})}
	})},
	{title: "says again what comes again", caught: []string{"no-doubles"},
		conn: func(c transports.Conn, h hook) transports.Conn {
			seen := map[string]bool{}
			return &messageMutator{Conn: c, in: editEach(func(o object) object {
				id, _ := o["event_id"].(string)
				if seen[id] && id != "" {
					h.Tell(encodeObject(object{"event_id": id, "text": o["summary_normal"], "kind": "news"}))
				}
				seen[id] = true
				return o
			})}
		}},
	{title: "does not count", conn: editReceived(setMembers(object{"sequence_number": nil})), caught: []string{"order-checked"}},
	{title: "takes a hundred", caught: []string{"burst-kept"},
		conn: dropCounted(func(n int, o object) bool { return n > 100 && shortName(o) == "tool.invoked" })},
	{title: "says the newest first", caught: []string{"burst-kept"}, conn: mutateWith(func() *messageMutator {
		var held object
		return &messageMutator{in: func(o object) []object {
			say, _ := o["summary_normal"].(string)
			switch {
			case strings.HasPrefix(say, "Wave 7 "):
				held = o
				return nil
			case strings.HasPrefix(say, "Wave 8 "):
				return []object{o, held}
			}
			return []object{o}
		}}
	})},
	{title: "is tired", caught: []string{"critical-under-load"},
		conn: dropCounted(func(n int, o object) bool { return n > 100 && shortName(o) == "session.errored" })},
	{title: "goes without a word", caught: []string{"takes-leave"}, conn: editSent(func(o object) object {
		if shortName(o) == "subscription.close" {
			return nil
		}
		return o
	})},
	{title: "says goodbye to nobody", conn: editSent(editOnly("subscription.close", setMembers(object{"reason_message": nil}))),
		caught: []string{"leave-valid"}},
	{title: "demands proof and does not look", caught: []string{"demands-proof"}, conn: mutateWith(func() *messageMutator {
		demand := func(name string, v any) func(object) object {
			return func(o object) object {
				if caps, ok := o[name].(object); ok {
					return cloneWith(o, object{name: cloneWith(caps, object{"accept_signed_manifests_only": v})})
				}
				return o
			}
		}
		return &messageMutator{out: editEach(demand("capabilities", true)), in: editEach(demand("honored_capabilities", nil))}
	})},

	{title: "looks reasons up in a table", caught: []string{"reason-unknown"},
		runs: func(ctx context.Context, h *conformance.Hook, rd *reader) error {
			ctx, crash := context.WithCancelCause(ctx)
			defer crash(nil)
			rd.f.conn = editReceived(func(o object) object {
				if o["reason_code"] == "quota_exceeded" {
					crash(errors.New("KeyError: quota_exceeded"))
				}
				return o
			})
			err := rd.followEvents(ctx, h)
			return cmp.Or(context.Cause(ctx), err)
		}},
	{title: "falls when the link breaks", stays: true, caught: []string{"survives-cut"}},
	{title: "is back before it is gone", stays: true, caught: []string{"changes-terms", "comes-back-calmly", "no-doubles"},
		runs: func(ctx context.Context, h *conformance.Hook, rd *reader) error {
			for {
				if err := rd.Run(ctx, h); err == nil || ctx.Err() != nil {
					return nil
				}
			}
		}},
}

// readerOfConns is a run of a reader whose links are made by conn, which is told how many there
// were before.
func readerOfConns(conn func() func(link int) *messageMutator) func(context.Context, *conformance.Hook, *reader) error {
	return func(ctx context.Context, h *conformance.Hook, rd *reader) error {
		links, fresh := 0, conn()
		rd.f.conn = func(c transports.Conn, _ hook) transports.Conn {
			m := fresh(links)
			links++
			m.Conn = c
			return m
		}
		return rd.followEvents(ctx, h)
	}
}

// underFirstName sends messages of a type under the subscription_id of the first link.
func underFirstName(typ string) func(context.Context, *conformance.Hook, *reader) error {
	return readerOfConns(func() func(int) *messageMutator {
		var first any
		return func(int) *messageMutator {
			return &messageMutator{in: editEach(func(o object) object {
				if shortName(o) == "subscription.accepted" && first == nil {
					first = o["subscription_id"]
				}
				return o
			}), out: editEach(editOnly(typ, func(o object) object { return cloneWith(o, object{"subscription_id": first}) }))}
		}
	})
}

// inLowerCase reads names in any case: those that stand for a missing one, or instead of one that
// is there.
func inLowerCase(missing, there bool) func(transports.Conn, hook) transports.Conn {
	return editReceived(func(o object) object {
		read := cloneWith(o, nil)
		for name, v := range o {
			lower := strings.ToLower(name)
			if _, is := o[lower]; lower != name && (is && there || !is && missing) {
				read[lower] = v
			}
		}
		return read
	})
}

// answersOnly drops the answers that the reader gives and is does not hold for.
func answersOnly(is func(response any) bool) func(transports.Conn, hook) transports.Conn {
	return editSent(func(o object) object {
		if shortName(o) == "clarification.reply" && !is(o["response"]) {
			return nil
		}
		return o
	})
}

// severalFaults are those of readers that know one session, one question, one link, or one way to
// write a name.
var severalFaults = []fault{
	{title: "answers the newest question", caught: []string{"answers-the-one"}, conn: mutateWith(func() *messageMutator {
		var newest any
		return &messageMutator{in: editEach(func(o object) object {
			if shortName(o) == "awaiting.confirmation" {
				newest = o["reply_token"]
			}
			return o
		}), out: editEach(editOnly("confirmation.reply",
			func(o object) object { return cloneWith(o, object{"reply_token": newest}) }))}
	})},
	{title: "takes all questions away when one is settled", caught: []string{"answers-the-one"},
		conn: mutateWith(func() *messageMutator {
			asked := map[any]bool{}
			return &messageMutator{in: func(o object) []object {
				list := []object{o}
				asked[o["session_id"]] = asked[o["session_id"]] || shortName(o) == "awaiting.confirmation"
				for s := range asked {
					if o["from_state"] == "awaiting_input" && s != o["session_id"] && asked[s] {
						list = append(list, cloneWith(o, object{"session_id": s, "event_id": "evt_more"}))
					}
				}
				return list
			}}
		})},
	{title: "forgets a question when the next one comes", caught: []string{"answers-the-one"},
		conn: mutateWith(func() *messageMutator {
			var last object
			return &messageMutator{in: func(o object) []object {
				before := last
				if shortName(o) != "awaiting.confirmation" {
					return []object{o}
				}
				if last = o; before == nil || before["session_id"] == o["session_id"] {
					return []object{o}
				}
				gone := cloneWith(before, object{"type": "aaep:agent.state.changed", "event_id": "evt_gone",
					"from_state": "awaiting_input", "to_state": "thinking", "urgency": "background"})
				for _, name := range []string{"action", "consequence", "reply_token", "timeout_seconds",
					"default_decision", "risk_level", "irreversible", "reversibility"} {
					delete(gone, name)
				}
				return []object{gone, o}
			}}
		})},
	{title: "hears nothing of others when a session is over", caught: []string{"sessions-apart"},
		conn: mutateWith(func() *messageMutator {
			over, known := false, map[any]bool{}
			return &messageMutator{in: editEach(func(o object) object {
				if over && known[o["session_id"]] &&
					(shortName(o) == "tool.invoked" || shortName(o) == "session.completed") {
					return nil
				}
				over = over || shortName(o) == "session.completed"
				known[o["session_id"]] = true
				return o
			})}
		})},
	{title: "takes no more work when all is over", caught: []string{"sessions-apart"}, conn: mutateWith(func() *messageMutator {
		open, ended := map[any]bool{}, 0
		return &messageMutator{in: editEach(func(o object) object {
			switch shortName(o) {
			case "session.started":
				if ended > 3 && len(open) == 0 {
					return nil
				}
				open[o["session_id"]] = true
			case "session.completed", "session.errored", "session.cancelled":
				delete(open, o["session_id"])
				ended++
			}
			return o
		})}
	})},
	{title: "reads names in any case", conn: inLowerCase(true, true), caught: []string{"names-exact", "member-case"}},
	{title: "finds what is missing under another name", conn: inLowerCase(true, false),
		caught: []string{"names-exact"}},
	{title: "takes the other of two members", conn: inLowerCase(false, true), caught: []string{"member-case"}},
	{title: "loses what comes first after a cut", caught: []string{"nothing-lost"},
		runs: readerOfConns(func() func(int) *messageMutator {
			return func(link int) *messageMutator {
				lost := false
				return &messageMutator{in: editEach(func(o object) object {
					if link > 0 && o["event_id"] != nil && !lost {
						lost = true
						return nil
					}
					return o
				})}
			}
		})},
	{title: "replies under the name of the first link", caught: []string{"replies-anew"},
		runs: underFirstName("confirmation.reply")},
	{title: "takes a no for no answer", caught: []string{"answers-sent"},
		conn: answersOnly(func(v any) bool { return v != false })},
	{title: "takes nought for no answer", caught: []string{"answers-sent"},
		conn: answersOnly(func(v any) bool { return v != 0.0 })},
	{title: "answers with the first choice that sounds alike", caught: []string{"answers-sent"},
		conn: editSent(editOnly("clarification.reply", func(o object) object {
			if o["response"] == "east" {
				return cloneWith(o, object{"response": "East"})
			}
			return o
		}))},
	{title: "keeps handoffs to itself", says: muteOn(hasType(aaep.TypeHandoffRequested)),
		caught: []string{"handoff-told"}},
}

// TestSubscriberMutants: each broken subscriber is caught by the cases that are meant for it, and
// by no other; and no case is without a mutant that it catches.
func TestSubscriberMutants(t *testing.T) {
	proved := map[string]bool{"goes-on": true, "binding": true,
		"binding-advice": true} // by real links, in TestStreamMutants and TestWrongWays
	caught, all := 0, slices.Concat(faults, severalFaults, outsiderFaults, unseenFaults)
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, f := range all {
			t.Run(f.title, func(t *testing.T) {
				t.Parallel()
				var only []string // with testing.Short: the cases that are meant for it
				if testing.Short() && !f.whole {
					only = f.caught
				}
				report := proveReader(t, 3, f, 0, only...)
				if report == nil {
					t.FailNow()
				}
				var got, why []string
				for _, r := range report.Results {
					if r.Verdict == conformance.Fail || r.Verdict == conformance.Deviation {
						got = append(got, r.Case.Name)
						why = append(why, r.Case.Name+" ("+r.Play+"): "+r.Seen)
					}
				}
				want := slices.Sorted(slices.Values(f.caught))
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("caught by %v, want %v:\n%s", got, want, strings.Join(why, "\n"))
					return
				}
				mu.Lock()
				defer mu.Unlock()
				caught++
				for _, name := range got {
					proved[name] = true
				}
			})
		}
	})
	t.Logf("%d of %d mutants caught as they should be", caught, len(all))
	for _, c := range conformance.SubscriberCases() {
		if !proved[c.Name] {
			t.Errorf("no mutant is caught by %s", c.Name)
		}
	}
}
