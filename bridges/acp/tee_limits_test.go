package acp

import (
	"bytes"
	"fmt"
	"testing"
)

func permissionLine(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1"}}`, id)
}

// What a listener allows does not pass once the editor has told the agent to stop, or either has
// taken back what is asked, or the editor has sent what could be an answer, though the observer may
// not have seen that yet.
func TestTeeStopped(t *testing.T) {
	for _, tc := range []struct {
		name, line  string
		part, agent bool // only the beginning of a line; it is the agent's
		want        bool
	}{
		{name: "stop", line: `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`},
		{name: "stop, escaped", line: `{"jsonrpc":"2.0","method":"session\/cancel","params":{"sessionId":"s\u0031"}}`},
		{name: "stop of another", line: `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`, want: true},
		{name: "the prompt is taken back", line: `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`},
		{name: "the question is taken back", line: `{"jsonrpc":"2.0","method":"$\/cancel_request","params":{"requestId":1}}`, agent: true},
		{name: "another is taken back", line: `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`, agent: true, want: true},
		{name: "an answer written twice", line: `{"jsonrpc":"2.0","id":1,"id":1,"result":{"outcome":{"outcome":"cancelled"}}}`},
		{name: "several answers", line: `[{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}]`},
		{name: "letters that are none", line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"_meta\":\"\xff\"}}"},
		{name: "the beginning of a line", line: `{"jsonrpc":"2.0","result":{"_meta":"`, part: true},
		{name: "no line", line: "\r\n", want: true},
		{name: "something else", line: `{"jsonrpc":"2.0","id":9,"method":"session/list"}`, want: true},
	} {
		var agent, editor bytes.Buffer
		between := &tee{toAgent: &agent, toEditor: &editor, open: map[string]*pendingPermission{},
			more: make(chan struct{}, 1)}
		asks := between.notePermission(permissionLine(1))
		if !between.admitLine([]byte(tc.line), !tc.part, !tc.agent) {
			t.Errorf("%s: the line does not pass", tc.name)
		}
		if got := asks.request.sendResult(selectedOutcome(permissionOption{ID: "once"})); got != tc.want ||
			got != (agent.Len() > 0) {
			t.Errorf("%s: passed is %v, and the agent got %q", tc.name, got, agent.String())
		}
	}
}

// Beyond what is kept only the editor answers, and a settled permission makes room.
func TestTeeLimits(t *testing.T) {
	between := &tee{toAgent: &bytes.Buffer{}, toEditor: &bytes.Buffer{}, open: map[string]*pendingPermission{},
		agent: &Agent{conversations: map[string]*Conversation{}}}
	var first *pendingPermission
	for id := range maxPending {
		asks := between.notePermission(permissionLine(id))
		if asks == nil {
			t.Fatal(id)
		}
		if first == nil {
			first = asks
		}
	}
	if between.notePermission(permissionLine(maxPending)) != nil {
		t.Error("one more was kept")
	}
	first.request.sendResult(cancelledOutcome())
	if between.notePermission(permissionLine(maxPending)) == nil {
		t.Error("a settled one made no room")
	}
	for n := range maxConversations {
		if between.findConversation(fmt.Sprint(n)) == nil {
			t.Fatal(n)
		}
	}
	if between.findConversation("more") != nil || between.findConversation("0") == nil {
		t.Error("more conversations are followed than may be")
	}
}
