package a2a

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// What the requests of HTTP+JSON are, of an agent whose address has a path, a last slash and a
// query, and of a task whose id would lead elsewhere.
func TestRequestsOverREST(t *testing.T) {
	text := "Hi."
	message := sendParams{Message: message{MessageID: "m", Role: "ROLE_USER", Parts: []part{{Text: &text}}}}
	for _, tc := range []struct {
		endpoint, method string
		params           any
		want             string
	}{
		{"https://agent.example", "SendMessage", message, "POST /message:send {"},
		{"https://agent.example/a2a/?tenant=t", "SendStreamingMessage", message, "POST /a2a/message:stream?tenant=t {"},
		{"https://agent.example/a2a/", "GetTask", taskParams{"t1"}, "GET /a2a/tasks/t1 "},
		{"https://agent.example", "CancelTask", taskParams{"a/../b?c"}, "POST /tasks/a%2F..%2Fb%3Fc:cancel "},
		{"https://agent.example", "SubscribeToTask", taskParams{"t1"}, "POST /tasks/t1:subscribe "},
		{"https://agent.example", "CreateTaskPushNotificationConfig", pushParams{"t1", pushConfig{"https://me.example", "k"}},
			`POST /tasks/t1/pushNotificationConfigs {"taskId":"t1","url":"https://me.example","token":"k"}`},
		{"https://agent.example", "engram/get", map[string]any{}, "engram/get needs JSON-RPC, and the agent offers HTTP+JSON alone"},
	} {
		r, err := httpJSON{}.newRequest(t.Context(), tc.endpoint, tc.method, tc.params)
		got := fmt.Sprint(err)
		if err == nil {
			var body []byte
			if r.Body != nil {
				body, _ = io.ReadAll(r.Body)
			}
			got = fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", string(body))
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s at %s is %s, want %s", tc.method, tc.endpoint, got, tc.want)
		}
	}
}

// What answers of HTTP+JSON are: an error is told by its reason, and a server that has no such path
// is one without the method.
func TestAnswersOverREST(t *testing.T) {
	problem := func(reason string) string {
		return `{"error":{"code":400,"status":"X","message":"No.","details":[{"@type":"y"},{"reason":"` + reason + `"}]}}`
	}
	for _, tc := range []struct {
		body   string
		status int
		code   int
		want   string // of the error, or the result
	}{
		{`{"id":"t1"}`, 200, 0, `{"id":"t1"}`},
		{problem("TASK_NOT_FOUND"), 404, codeNotFound, "the agent reports: No."},
		{problem("TASK_NOT_CANCELABLE"), 400, codeNotCancelable, "the agent reports: No."},
		{problem("UNSUPPORTED_OPERATION"), 400, codeUnsupported, "the agent reports: No."},
		{problem("UNSUPPORTED_OPERATION"), 200, codeUnsupported, "the agent reports: No."}, // in a stream
		{problem("NEW"), 500, 0, "the agent reports: No."},
		{"404 page not found", 404, codeMethodNotFound, "the agent reports: Not Found"},
		{"{}", 405, codeMethodNotFound, "the agent reports: Method Not Allowed"},
		{"<html>", 502, 0, "the agent's answer, 502 Bad Gateway, cannot be read"},
		{"{}", 503, 0, "the agent's answer, 503 Service Unavailable, cannot be read"},
		{"no JSON", 200, 0, "the agent's answer, 200 OK, cannot be read"},
	} {
		result, err := httpJSON{}.decodeResult([]byte(tc.body), tc.status)
		got := string(result)
		if err != nil {
			got = err.Error()
		}
		if got != tc.want || codeOf(err) != tc.code {
			t.Errorf("%d %s is %s, of code %d; want %s, %d", tc.status, tc.body, got, codeOf(err), tc.want, tc.code)
		}
	}
}
