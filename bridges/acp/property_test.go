package acp_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
)

// A consent is one confirmation that the person accepted: its words, and whether an answer to the
// agent was given for it.
type consent struct {
	words string
	used  bool
}

// A hostileAgent asks for permission in every way there is, right and wrong, and holds what it is
// answered against what the person accepted. Each of its calls and options has a name that no other
// has.
type hostileAgent struct {
	*scriptedAgent
	rand *rand.Rand

	mu       sync.Mutex
	offered  map[string][]offer // by the id of an option
	accepted []*consent
	halted   bool // the client has said that it must stop
	wrong    []string
}

type offer struct{ kind, name, call string }

var hostileKinds = []string{"allow_once", "allow_always", "reject_once", "reject_always", "allow_once", "allow", ""}

// askPermission sends a request for permission with random options.
func (h *hostileAgent) askPermission(n int) {
	call := fmt.Sprintf("call%dx", n)
	ids := []string{"0", fmt.Sprint(n), `"text"`, fmt.Sprint(n), fmt.Sprintf(`"p%d"`, n), "null", "-1", "1.5", "{}",
		"-0", `"t\u0065xt"`}
	var options []string
	for i := range h.rand.IntN(5) {
		id, kind, name := fmt.Sprintf("o%d-%d", n, i), hostileKinds[h.rand.IntN(len(hostileKinds))],
			fmt.Sprintf("Option%dand%dx", n, i)
		if h.rand.IntN(6) == 0 {
			id = fmt.Sprintf("o%d-0", n)
		}
		h.mu.Lock()
		h.offered[id] = append(h.offered[id], offer{kind, name, call})
		h.mu.Unlock()
		options = append(options, fmt.Sprintf(`{"optionId":%q,"name":%q,"kind":%q}`, id,
			name+[]string{"", "\x1b[2J", "\u202eevil"}[h.rand.IntN(3)], kind))
	}
	if h.version2 {
		subject := []string{`{"type":"tool_call","toolCall":{"toolCallId":"t%d","title":%q,"kind":"execute"}}`,
			`{"type":"command","toolCallId":"t%d","command":%q,"cwd":"/srv"}`,
			`{"type":"surprise","n":%d,"toolCall":{"toolCallId":"t1","title":%q}}`}[h.rand.IntN(3)]
		h.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","title":%q,"subject":%s,"options":[%s]}}`,
			ids[h.rand.IntN(len(ids))], "About "+call, fmt.Sprintf(subject, h.rand.IntN(4), call+" rm x"), strings.Join(options, ","))
		return
	}
	h.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":%q,"title":%q,"kind":%q},"options":[%s]}}`,
		ids[h.rand.IntN(len(ids))], fmt.Sprintf("t%d", h.rand.IntN(4)), call+" rm x",
		[]string{"execute", "read", "delete", "", "?"}[h.rand.IntN(5)], strings.Join(options, ","))
}

// takeStep sends one random line.
func (h *hostileAgent) takeStep(n int) {
	switch h.rand.IntN(8) {
	case 0:
		h.sendText("I do something. ")
	case 1:
		h.sendUpdate(`{"sessionUpdate":"tool_call","toolCallId":"t%d","title":"before","kind":"execute","status":%q}`,
			h.rand.IntN(4), []string{"pending", "in_progress"}[h.rand.IntN(2)])
	case 2:
		h.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"t%d","status":%q%s}`, h.rand.IntN(4),
			[]string{"completed", "failed", "in_progress"}[h.rand.IntN(3)],
			[]string{"", `,"title":"after","kind":"read","content":[]`}[h.rand.IntN(2)])
	case 3:
		h.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, h.rand.IntN(n+1))
	case 4: // the end of the turn, perhaps; what is asked after that belongs to no turn that was stopped
		h.mu.Lock()
		h.halted = false
		h.mu.Unlock()
		h.send(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, h.rand.IntN(5))
		h.sendUpdate(`{"sessionUpdate":"state_update","state":"idle"}`)
	default:
		h.askPermission(n)
	}
}

// judgeAnswer holds an answer of the client's against what was accepted.
func (h *hostileAgent) judgeAnswer(m map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m["method"] != nil {
		h.halted = h.halted || m["method"] == "session/cancel"
		return
	}
	id := outcomeOf(m)
	for _, o := range h.offered[id] {
		if !strings.HasPrefix(o.kind, "allow") {
			continue
		}
		i := slices.IndexFunc(h.accepted, func(c *consent) bool {
			return !c.used && strings.Contains(c.words, o.call) && strings.Contains(c.words, o.name)
		})
		switch {
		case h.halted:
			h.wrong = append(h.wrong, "after stop: "+id)
		case len(h.offered[id]) > 1:
			h.wrong = append(h.wrong, "an id that several options have: "+id)
		case o.kind == "allow":
			h.wrong = append(h.wrong, "a kind that is not known: "+id)
		case i < 0:
			h.wrong = append(h.wrong, fmt.Sprintf("%s %+v without an accepted confirmation; of it there were %s", id,
				o, h.heardAbout(o.call)))
		default:
			h.accepted[i].used = true
		}
	}
}

// heardAbout returns the accepted confirmations of a call.
func (h *hostileAgent) heardAbout(call string) (all []string) {
	for _, c := range h.accepted {
		if strings.Contains(c.words, call) {
			all = append(all, fmt.Sprintf("%+v", *c))
		}
	}
	return all
}

// Whatever an agent sends, no option that allows something is selected but upon an accepted
// confirmation of that call and of that option's own name. Each confirmation counts once, and none
// after the person said stop.
func TestNothingAllowedUnasked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		wrong := hostileTurn(t, rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 30).Draw(rt, "steps"),
			rapid.Bool().Draw(rt, "version 2"))
		if len(wrong) > 0 {
			rt.Fatalf("allowed without consent: %s", strings.Join(wrong, "; "))
		}
	})
}

// hostileTurn has a person and a hostile agent do as the seed says, and returns what was allowed
// that should not have been.
func hostileTurn(t *testing.T, seed uint64, steps int, version2 bool) (wrong []string) {
	synctest.Test(t, func(t *testing.T) {
		h := &hostileAgent{rand: rand.New(rand.NewPCG(seed, 1)), offered: map[string][]offer{}}
		choices := rand.New(rand.NewPCG(seed, 2))
		turn := func(a *scriptedAgent, _ string) string {
			for n := range steps {
				h.takeStep(n)
				if h.rand.IntN(3) == 0 {
					time.Sleep(time.Duration(h.rand.IntN(3000)) * time.Millisecond)
				}
			}
			time.Sleep(time.Duration(h.rand.IntN(600)) * time.Second)
			if h.rand.IntN(4) == 0 {
				a.out.(io.Closer).Close()
			}
			return "end_turn"
		}
		decide := func(p *person, ev *aaep.Event) {
			time.Sleep(time.Duration(choices.IntN(2000)) * time.Millisecond)
			if q, ok := ev.Payload.(*aaep.AwaitingClarification); ok {
				p.sub.Question(ev).AnswerText(context.Background(), q.Choices[choices.IntN(len(q.Choices))].Value)
				return
			}
			switch choices.IntN(4) {
			case 0:
				p.sub.Question(ev).Reject(context.Background())
			case 1: // silence
			default:
				h.mu.Lock()
				h.accepted = append(h.accepted, &consent{words: eventWords(ev)})
				h.mu.Unlock()
				p.sub.Question(ev).Accept(context.Background())
			}
		}
		f := newFixtureWith(t, acp.Config{Folder: "/srv/project", Version2: version2}, turn, decide)
		h.scriptedAgent = f.script
		f.script.mu.Lock()
		f.script.judge = h.judgeAnswer
		f.script.mu.Unlock()
		over := make(chan struct{})
		go func() {
			random := rand.New(rand.NewPCG(seed, 3))
			for range random.IntN(20) {
				select {
				case <-time.After(time.Duration(random.IntN(5000)) * time.Millisecond):
				case <-over:
					return
				}
				if n := len(f.talk.Options()); n > 0 {
					f.talk.Choose(random.IntN(n))
				}
			}
			if random.IntN(3) == 0 {
				f.talk.Stop()
			}
		}()
		f.talk.Prompt(t.Context(), "Go on.")
		close(over)
		waitTenSeconds()
		h.mu.Lock()
		defer h.mu.Unlock()
		wrong = h.wrong
	})
	return wrong
}
