package subscriber

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// An agent that knows no handshake does not know its listeners, and says itself in several
// languages at once. Each hears the one that serves them best, and its voice is told which that is:
// by their own order, then by the agent's, and in the agent's own language if none does. I18N-003,
// I18N-004, I18N-005, I18N-014, I18N-016, D-73
func TestSummariesInSeveralLanguages(t *testing.T) {
	const said = `,"localization_hints":{"primary_language":"en","text_direction":"ltr"},"summary_normal":"Done.","summary_terse_yo":"Parí.","summary_normal_yo":"Ó ti parí.","summary_normal_ar":"تم."`
	const finished = "aaep:agent.session.completed"
	for _, tt := range []struct {
		wants, typ, more string
		text, language   string
		direction        aaep.TextDirection
	}{
		{"yo-NG,en", finished, said, "Ó ti parí.", "yo", aaep.DirectionLTR},
		{"en-GB,yo", finished, said, "Done.", "en", aaep.DirectionLTR},
		{"fr,ar-EG", finished, said, "تم.", "ar", aaep.DirectionRTL},
		{"fr", finished, said, "Done.", "en", aaep.DirectionLTR},
		{"", finished, said, "Done.", "en", aaep.DirectionLTR},
		{"fr", finished, strings.Replace(said, `"ltr"`, `"ltr","fallback_chain":["ar","en"]`, 1), "تم.", "ar",
			aaep.DirectionRTL},
		{"yo", finished, `,"summary_normal_yo":"Ó ti parí."`, "Ó ti parí.", "yo", aaep.DirectionLTR},
		// and nothing in its own
		{"yo", "acme:thing", said, "Ó ti parí.", "yo", aaep.DirectionLTR},
		{"yo", "aaep:agent.session.errored", said + `,"error_category":"unknown"`, "Ó ti parí.", "yo",
			aaep.DirectionLTR},
		// What is told beside the summary has no other language.
		{"yo", "aaep:agent.session.errored", said + `,"error_category":"unknown","remediation_hint":"Try again."`,
			"Done.", "en", aaep.DirectionLTR},
		{"yo", "aaep:agent.awaiting.clarification",
			said + `,"question":"Which?","reply_token":"rpl_1","timeout_seconds":60`, "Done.", "en", aaep.DirectionLTR},
	} {
		runVirtual(t, func(t *testing.T) {
			cfg := Config{ID: "reader", Capabilities: allReplies()}
			if tt.wants != "" {
				cfg.Capabilities.Languages = strings.Split(tt.wants, ",")
			}
			sub, p := openSubscription(t, newStage(), cfg)
			p.sendRaw(t, eventMessage("evt_1", tt.typ, tt.more))
			ev := takeEvent(t, sub, "evt_1")
			if text := ev.Text(aaep.VerbosityNormal); text != tt.text || ev.Language() != tt.language ||
				ev.LocalizationHints.TextDirection != tt.direction {
				t.Errorf("for %s a %s says %q in %q, %+v; want %q in %q", tt.wants, tt.typ, text, ev.Language(),
					ev.LocalizationHints, tt.text, tt.language)
			}
			closeBoth(t, sub, p)
		})
	}
}

// A user who changes their language hears the next event in the new one.
func TestLanguageOfTheMoment(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		cfg := Config{ID: "reader", Capabilities: allReplies()}
		cfg.Capabilities.Languages = []string{"en"}
		sub, p := openSubscription(t, newStage(), cfg)
		const said = `,"localization_hints":{"primary_language":"en"},"summary_normal":"Done.","summary_terse_yo":"Parí."`
		p.sendRaw(t, eventMessage("evt_1", "acme:thing", said))
		first := takeEvent(t, sub, "evt_1")
		go func() {
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			p.sendRaw(t, acceptedMessage("sub_1", "{}"))
		}()
		if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{Languages: []string{"yo"}}); err != nil {
			t.Error(err)
		}
		p.sendRaw(t, eventMessage("evt_2", "acme:thing", said))
		if next := takeEvent(t, sub, "evt_2"); first.Language() != "en" || next.Language() != "yo" ||
			next.Text(aaep.VerbosityDetailed) != "Parí." {
			t.Errorf("%q in %q after %q", next.Text(aaep.VerbosityDetailed), next.Language(), first.Language())
		}
		closeBoth(t, sub, p)
	})
}
