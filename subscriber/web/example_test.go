package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber/web"
)

// The page is served by the application's own server, beside the agent.
func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := new(serve.Server).Handler(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/", agent)
	mux.Handle("GET "+web.Path, http.StripPrefix(web.Path, web.Handler()))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/aaep/web/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
