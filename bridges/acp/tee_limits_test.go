package acp

import (
	"bytes"
	"fmt"
	"testing"
)

func permissionLine(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1"}}`, id)
}

// What a listener allows does not pass once the editor has told the agent to stop, though the
// observer may not have seen that yet.
func TestTeeStopped(t *testing.T) {
	for _, tc := range []struct {
		line string
		want bool
	}{
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`, false},
		{`{"jsonrpc":"2.0","method":"session\/cancel","params":{"sessionId":"s\u0031"}}`, false},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`, true},
	} {
		var agent, editor bytes.Buffer
		between := &tee{toAgent: &agent, toEditor: &editor, open: map[string]*pendingPermission{},
			more: make(chan struct{}, 1)}
		asks := between.notePermission(permissionLine(1))
		if !between.admitLine([]byte(tc.line), true) {
			t.Error("the editor's line does not pass")
		}
		if got := asks.request.answer(selectedOutcome(permissionOption{ID: "once"})); got != tc.want ||
			got != (agent.Len() > 0) {
			t.Errorf("%s: passed is %v, and the agent got %q", tc.line, got, agent.String())
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
	first.request.answer(cancelledOutcome())
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
