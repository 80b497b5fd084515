// Command web is a site of its own with an accessible agent in it. It shows how the agent and the
// page that follows it are mounted in an application's own server: the same origin, no build step,
// nothing fetched from elsewhere.
//
//	go run ./examples/web          # then open http://127.0.0.1:8080 in any browser, with any screen reader
//
// "Plan a trip" there starts the agent; follow the link to hear it, and answer what it asks. Other
// subscribers are served as well:
//
//	go run ./cmd/aaep listen http://127.0.0.1:8080
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber/web"
)

const home = `<!DOCTYPE html>
<html lang="en"><title>Ada's trips</title>
<h1>Ada's trips</h1>
<form method="post" action="/trips"><button>Plan a trip</button></form>
<p><a href="` + serve.PagePath + `">Follow the planner</a></p>
</html>`

func main() {
	log.SetFlags(0)
	addr := flag.String("listen", "127.0.0.1:8080", "where the site is")
	flag.Parse()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "trips", AgentName: "Trip planner"}, FromStart: true})
	if err != nil {
		log.Fatal(err)
	}
	site, err := newSite(p)
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Open http://%s in a browser.\n", ln.Addr())
	log.Fatal((&http.Server{Handler: site, ReadHeaderTimeout: 5 * time.Second}).Serve(ln))
}

// newSite puts the agent beside what the application serves.
func newSite(p *producer.Producer) (http.Handler, error) {
	agent, err := new(serve.Server).Handler(p) // the protocol's own endpoints, with its checks of who may ask
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", agent)
	mux.Handle("GET "+serve.PagePath, http.StripPrefix(serve.PagePath, web.Handler()))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, home)
	})
	mux.Handle("POST /trips", http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		go plan(context.WithoutCancel(r.Context()), p) // it outlives the request
		http.Redirect(w, r, serve.PagePath, http.StatusSeeOther)
	})))
	return mux, nil
}

// plan is the agent.
func plan(ctx context.Context, p *producer.Producer) error {
	if err := p.WaitSubscriber(ctx); err != nil { // the person is on the way to the page
		return err
	}
	s, err := p.StartSession(ctx, aaep.Say("Planning a trip."))
	if err != nil {
		return err
	}
	defer s.Close()
	city, err := s.AskChoice(ctx, producer.Question{Text: aaep.Say("Where do you want to go?"), Choices: []producer.Choice{
		{Label: aaep.Say("Lagos")}, {Label: aaep.Say("Lima")}}})
	if err != nil {
		return s.Fail(err, aaep.Say("Nobody said where to."))
	}
	out := s.Output()
	fmt.Fprintf(out, "There is a train to the airport at nine. The flight to %s leaves at noon.", city)
	out.Close()
	return s.Complete(aaep.Say("The trip is planned."))
}
