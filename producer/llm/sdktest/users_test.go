package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

type userKey struct{}

// Two users of one client, whose models want the same tool with the same id at the same time: each is asked about their own call, also
// where the second is called first.
func TestTwoUsers(t *testing.T) {
	taps, guarded, heard := map[string]*llm.Tap{}, map[string]tool{}, map[string]chan []string{}
	producers := map[string]*producer.Producer{}
	for user, decision := range map[string]aaep.Decision{"ada": aaep.Accept, "ben": aaep.Reject} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		if err != nil {
			t.Fatal(err)
		}
		heard[user] = make(chan []string, 1)
		go func() { heard[user] <- listen(p, decision) }()
		p.WaitSubscriber(t.Context())
		producers[user], taps[user] = p, llm.New(p)
		guarded[user] = llm.Guard(taps[user], "transfer", func(in transfer) producer.Tool {
			return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d of %s.", in.Amount, user)), Consequence: aaep.Say("It moves at once.")}
		}, func(context.Context, transfer) (string, error) { return "moved for " + user, nil })
	}
	wants := func(amount string) fakemodel.Answer {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":` + amount + `}`}}}
	}
	server := httptest.NewServer(fakemodel.New(wants("100"), wants("200"), fakemodel.Answer{Says: []string{"Done for ben."}}, fakemodel.Answer{Says: []string{"Done for ada."}}))
	defer server.Close()
	client := openai.NewClient(option.WithAPIKey("none"), option.WithBaseURL(server.URL+"/v1/"),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return taps[r.Context().Value(userKey{}).(string)].Middleware(r, next)
		}))
	params := map[string]*openai.ChatCompletionNewParams{}
	ask := func(user string) (calls []openai.ChatCompletionMessageToolCallUnion) {
		t.Helper()
		if params[user] == nil {
			params[user] = &openai.ChatCompletionNewParams{Model: "fake", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Save.")}}
		}
		whole, err := client.Chat.Completions.New(context.WithValue(t.Context(), userKey{}, user), *params[user])
		if err != nil {
			t.Fatal(err)
		}
		message := whole.Choices[0].Message
		params[user].Messages = append(params[user].Messages, message.ToParam())
		return message.ToolCalls
	}
	calls := map[string][]openai.ChatCompletionMessageToolCallUnion{"ada": ask("ada"), "ben": nil}
	calls["ben"] = ask("ben")
	for _, user := range []string{"ben", "ada"} {
		var in transfer
		json.Unmarshal([]byte(calls[user][0].Function.Arguments), &in)
		got, err := guarded[user](t.Context(), in)
		if want := map[string]string{"ben": refused, "ada": "moved for ada"}[user]; got != want || err != nil {
			t.Errorf("the tool of %s gave %q, %v", user, got, err)
		}
		params[user].Messages = append(params[user].Messages, openai.ToolMessage(got, calls[user][0].ID))
		ask(user)
	}
	for user, amount := range map[string]string{"ada": "$100", "ben": "$200"} {
		producers[user].Shutdown(context.Background())
		told := <-heard[user]
		if all := strings.Join(told, "\n"); !strings.Contains(all, "Transfer "+amount+" of "+user) || !strings.Contains(all, "Done for "+user) || !slices.Contains(told, "The agent finished.") || strings.Contains(all, map[string]string{"ada": "ben", "ben": "ada"}[user]) {
			t.Errorf("%s heard\n%s", user, all)
		}
	}
}
