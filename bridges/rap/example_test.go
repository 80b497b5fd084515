package rap_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/rap"
	"github.com/aaep-go/aaep/producer"
)

func Example() {
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"name": "house", "endpoint": "/run", "tools": [{"name": "wipe", "annotations": {"destructive": true}}]}`)
	}))
	defer tools.Close()
	result := make(chan string)
	runtime := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		result <- string(body)
	}))
	defer runtime.Close()

	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "house"}, Languages: []string{"en"}})
	defer p.Shutdown(context.Background())
	tee, err := rap.New(p, rap.Config{Toolset: tools.URL, URL: "http://127.0.0.1:9090"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tee.Close()
	// The runtime posts a call. No user follows p, so none can allow it.
	r := httptest.NewRequest("POST", "/invoke", strings.NewReader(
		`{"operation": "wipe", "arguments": {}, "id": "1", "group_id": "g", "callback_url": "`+runtime.URL+`"}`))
	tee.ServeHTTP(httptest.NewRecorder(), r)
	fmt.Println(<-result)
	// Output: {"type":"tool_result","group_id":"g","id":"1","text":"Error: no user could be asked; the action was not done"}
}
