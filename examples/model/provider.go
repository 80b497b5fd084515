package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

type object = map[string]any

// moveMoney is the tool that the model calls. It runs only once the user has said yes.
func moveMoney(_ context.Context, in transfer) (string, error) {
	return fmt.Sprintf("$%d is in savings now.", in.Amount), nil
}

// madeUp answers as a provider of language models does, a word at a time: it wants the tool first,
// and then says what came of it.
type madeUp struct{}

func (madeUp) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(r.Body)
	if err = cmp.Or(err, r.Context().Err()); err != nil {
		return nil, err
	}
	says := "Nothing was moved, as you wish."
	switch {
	case !strings.Contains(string(asked), `"role":"tool"`):
		says = "I will put five hundred dollars into your savings. You will be asked first."
	case strings.Contains(string(asked), "in savings now"):
		says = "Done. Five hundred dollars are in your savings."
	}
	from, to := io.Pipe()
	context.AfterFunc(r.Context(), func() { to.CloseWithError(r.Context().Err()) })
	go func() {
		chunk := func(delta, finish string) {
			fmt.Fprintf(to, `data: {"choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
			time.Sleep(50 * time.Millisecond)
		}
		for word := range strings.SplitAfterSeq(says, " ") {
			chunk(fmt.Sprintf(`"content":%q`, word), "null")
		}
		if strings.HasPrefix(says, "I will") {
			chunk(`"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"transfer","arguments":"{\"amount\":500}"}}]`, `"tool_calls"`)
		} else {
			chunk("", `"stop"`)
		}
		io.WriteString(to, "data: [DONE]\n\n")
		to.Close()
	}()
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: from, Request: r}, nil
}
