// Package metrics counts what operators watch of the agents that a program serves, and tells it in
// the text format of Prometheus: what producer.Stats has, which requests were refused and why, how
// late critical events were, and what the process takes. No metric tells what was said, or to whom.
// A new count of what the producer does is made in package producer first (Stats, in
// producer/observe.go), and told here; requests are counted here, in request_counts.go. Begin with
// Handler. Where it is served is the business of the program.
package metrics

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
)

// Handler answers programs of this machine with the counts of agents, by their names, or "" where
// there is one, and with what was observed. Version and commit are those of the program.
func Handler(agents map[string]*producer.Producer, seen *RequestCounts, version, commit string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, _ := net.SplitHostPort(r.Host); !httpguard.LoopbackName(host) { // a page that gave this machine a name
			http.Error(w, "ask by an address of this machine", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		all := map[string]producer.Stats{}
		for name, p := range agents {
			all[name] = p.Stats()
		}
		writeStats(w, all)
		seen.writeCounts(w)
		writeProcess(w, version, commit)
	})
}

// counts are what --metrics tells, by the names that module producer/telemetry has for them.
var counts = []struct {
	name, kind, help string
	value            func(producer.Stats) int
}{
	{"aaep_events_produced_total", "counter", "Events the agent produced.",
		func(s producer.Stats) int { return s.Produced }},
	{"aaep_events_delivered_total", "counter", "Events delivered, over all subscriptions.",
		func(s producer.Stats) int { return s.Delivered }},
	{"aaep_events_merged_total", "counter", "Events that left inside another.",
		func(s producer.Stats) int { return s.Merged }},
	{"aaep_events_filtered_total", "counter", "Events a subscription did not want.",
		func(s producer.Stats) int { return s.Filtered }},
	{"aaep_events_held", "gauge", "Events that wait for their turn.", func(s producer.Stats) int { return s.Held }},
	{"aaep_questions_open", "gauge", "Questions that wait for an answer.",
		func(s producer.Stats) int { return s.Questions }},
	{"aaep_subscriptions", "gauge", "Subscriptions that are served.",
		func(s producer.Stats) int { return s.Subscriptions }},
	{"aaep_subscriptions_connected", "gauge", "Subscriptions whose link is not broken.",
		func(s producer.Stats) int { return s.Connected }},
	{"aaep_log_failed", "gauge", "Whether the log is given up: 1 is yes.",
		func(s producer.Stats) int { return boolAsNumber(s.LogFailed) }},
	{"aaep_log_away", "gauge", "Whether the log does not answer, or the agent cannot be reached, for now: 1 is yes.",
		func(s producer.Stats) int { return boolAsNumber(s.LogAway) }},
	{"aaep_audit_unrecorded_total", "counter", "Records that the audit trail could not keep.",
		func(s producer.Stats) int { return s.Unrecorded }},
	{"aaep_replies_lost_total", "counter", "Replies that could not be handed to the agent and do not count.",
		func(s producer.Stats) int { return s.LostReplies }},
}

// boolAsNumber returns 1 for true, as metrics have it.
func boolAsNumber(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// writeStats writes the counts of agents in the text format of Prometheus, by the agents' names;
// the name is "" where there is only one.
func writeStats(w io.Writer, agents map[string]producer.Stats) {
	for _, c := range counts {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", c.name, c.help, c.name, c.kind)
		for _, agent := range slices.Sorted(maps.Keys(agents)) {
			label := ""
			if agent != "" {
				label = `{agent="` + inLabel.Replace(agent) + `"}`
			}
			fmt.Fprintf(w, "%s%s %d\n", c.name, label, c.value(agents[agent]))
		}
	}
}

var inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
