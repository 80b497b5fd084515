package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// outputCases judge streamed text.
var outputCases = []Case{
	{Name: "text-whole", Requirements: []string{"LVL-008", "EVT-056"}, Level: 1, Strength: Must,
		plays: []string{"stream"},
		Rule:  "the chunks of an output make up all of its text, in order", Judge: judgeText},
	{Name: "positions", Requirements: []string{"EVT-059", "SM-011"}, Level: 1, Strength: Must,
		plays: []string{"stream", "rate", "completion"}, beside: runsBeside,
		Rule: "a chunk's position is where it starts in its output, in characters", Judge: eachOutput(func(f follower,
			list []message) Finding {
			next := map[string]int{}
			for _, m := range list {
				id := m.stringMember("session_id") + m.stringMember("output_id")
				if at := int(m.numberMember("position")); at != next[id] {
					has := fmt.Sprintf("position %d", at)
					if at < 0 {
						has = "no position"
					}
					return failFinding(fmt.Sprintf("a chunk has %s where %d characters came before it", has, next[id]),
						m.Entry)
				}
				next[id] += utf8.RuneCountInString(m.stringMember("chunk"))
			}
			return someOutput(list, "each where it should be")
		})},
	{Name: "output-complete", Requirements: []string{"EVT-058", "EVT-057"}, Level: 1, Strength: Must,
		plays: []string{"stream", "rate", "completion"}, beside: runsBeside,
		Rule: "an output has complete=true once, on its last chunk", Judge: eachOutput(func(f follower,
			list []message) Finding {
			closed := map[string]*message{}
			for _, m := range list {
				id := m.stringMember("session_id") + m.stringMember("output_id")
				if before := closed[id]; before != nil {
					return failFinding("a chunk came after complete=true", before.Entry, m.Entry)
				}
				if closed[id] = nil; m.boolMember("complete") {
					closed[id] = &m
				}
			}
			for _, last := range closed {
				if last == nil && (f.link == 0 || f.owesEnd()) {
					return failFinding("an output ended without complete=true", list[len(list)-1].Entry)
				}
			}
			return someOutput(list, "complete=true on the last")
		})},
	{Name: "text-whole-slow", Requirements: []string{"LVL-034", "HS-065"}, Level: 3, Strength: Must,
		plays: []string{"rate", "completion", "long", "changed-text"},
		Rule:  "a subscriber that wants few events still gets all of the text, also where its terms change", Judge: judgeText},
	{Name: "cuts-labelled", Requirements: []string{"EVT-060", "LVL-030"}, Level: 3, Strength: Must,
		plays: []string{"completion"},
		Rule:  "a chunk that is not cut at an agreed boundary says in coalesce_hint where it is cut",
		Judge: func(r *Recording) Finding {
			list := ofTypes(r.eventsOn(0), output)
			for _, m := range list {
				allowed := stringList(r.termsAt(0, m.index)["coalesce_boundaries"])
				if !m.boolMember("complete") && m.stringMember("coalesce_hint") == "" {
					return failFinding("a chunk in the middle of an output does not say where it is cut, where "+
						strings.Join(allowed, ", ")+" was agreed", m.Entry)
				}
			}
			return someOutput(list, "cut as agreed or labelled")
		}},
	{Name: "held-not-starved", Requirements: []string{"HS-066"}, Level: 3, Strength: Must, plays: []string{"rate"},
		Rule: "what the rate holds up is sent as soon as the rate allows", Judge: func(r *Recording) Finding {
			list := r.eventsOn(0)
			for i := range list {
				if i > 0 && list[i].At.Sub(list[i-1].At) > slack {
					return failFinding(fmt.Sprintf("nothing came for %v, at a rate of 2 a second, and there was more",
						list[i].At.Sub(list[i-1].At).Round(time.Millisecond)),
						list[i-1].Entry, list[i].Entry)
				}
			}
			if r.before["type "+state] && len(list) > 0 && slices.ContainsFunc(list, message.isTerminal) &&
				len(ofTypes(list, state)) == 0 {
				return failFinding("a session whose states are told without a rate came to its end without any, at a rate of 2 a second", list[len(list)-1].Entry)
			}
			return passIfAny(len(list), "events came without a long gap")
		}},
	{Name: "boundaries", Requirements: []string{"HS-024", "HS-071"}, Level: 3, Strength: Should,
		plays: []string{"completion", "stream", "recut"},
		Rule:  "chunks are cut at the boundaries that were agreed, and where they say",
		Judge: func(r *Recording) Finding {
			list := ofTypes(r.eventsOn(0), output)
			for _, m := range list {
				allowed := stringList(r.termsAt(0, m.index)["coalesce_boundaries"])
				said := strings.TrimSpace(m.stringMember("chunk")) // of sentences that end with one of three signs
				if hint := m.stringMember("coalesce_hint"); (hint == "sentence" || hint == "paragraph") &&
					!m.boolMember("complete") && strings.TrimRight(said, ".!?") == said {
					return failFinding("a chunk says that it is cut at a "+hint+", and ends within a sentence", m.Entry)
				}
				if hint := m.stringMember("coalesce_hint"); !m.boolMember("complete") && hint != "" &&
					!slices.Contains(allowed, hint) {
					return failFinding("a chunk is cut at "+quoteText(hint)+" where "+strings.Join(allowed, ", ")+
						" was agreed", m.Entry)
				}
			}
			return someOutput(list, "cut as agreed")
		}},
}

// eachOutput makes a judge of a recording of a judge of the chunks of each session that came to a
// subscriber from its beginning. Without chunks it is inconclusive.
func eachOutput(judge func(f follower, chunks []message) Finding) func(*Recording) Finding {
	return mustCome(eachSession(func(f follower) Finding {
		if chunks := ofTypes(f.list, output); f.whole && len(chunks) > 0 {
			return judge(f, chunks)
		}
		return nothingToJudge("no output.streaming came")
	}))
}

// mustCome makes a judge for a case that needs something to judge in each recording: where there is
// nothing, the case cannot pass.
func mustCome(judge func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		f := judge(r)
		f.none = false
		return f
	}
}

// someOutput passes if there was any output to judge, with its first event as evidence.
func someOutput(list []message, what string) Finding {
	if len(list) == 0 {
		return inconclusiveFinding("no output.streaming came")
	}
	return passFinding(fmt.Sprintf("%d chunks, %s", len(list), what), list[len(list)-1].Entry)
}

// judgeText compares the text of the last session that came to the first subscriber with what the
// scenario says. White space at both ends may be dropped. Without chunks it is inconclusive.
func judgeText(r *Recording) Finding {
	var list []message
	if all := r.sessionsOn(0); len(all) > 0 { // of some there are two, and the last is the scenario's
		list = ofTypes(all[len(all)-1], output)
	}
	if len(list) == 0 {
		return inconclusiveFinding("no output.streaming came")
	}
	var got strings.Builder
	for _, m := range list {
		got.WriteString(m.stringMember("chunk"))
	}
	is, want := strings.TrimSpace(got.String()), strings.TrimSpace(strings.Join(r.Scenario.Sentences, ""))
	if is == want {
		return passFinding(fmt.Sprintf("%d characters came in %d chunks, all of the text", utf8.RuneCountInString(is),
			len(list)), list[len(list)-1].Entry)
	}
	isRunes, wantRunes := []rune(is), []rune(want)
	same := commonPrefix(isRunes, wantRunes)
	next := func(text []rune) string {
		if same == len(text) {
			return "nothing"
		}
		return quoteText(string(text[same:min(same+40, len(text))]))
	}
	return failFinding(fmt.Sprintf("the text is not what was written: after %d characters %s came where %s was written",
		same, next(isRunes), next(wantRunes)), list[len(list)-1].Entry)
}

// commonPrefix returns how many characters two texts have in common at their beginning.
func commonPrefix(a, b []rune) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
