// Command users is a service with several users in one process and at one address. Each hears their own agent and answers for
// themselves, and hears nothing of the others: who listens to a producer hears all of it, so each user has one of their own.
//
//	go run ./examples/users        # it prints what Ada and what Ben type, each in a terminal of their own
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/auth"
)

// pay is what the agent does for one user.
func pay(ctx context.Context, p *producer.Producer, user string) error {
	if err := p.WaitSubscriber(ctx); err != nil {
		return err
	}
	s, err := p.StartSession(ctx, aaep.Say("Looking at what "+user+" has to pay."))
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Tool(ctx, producer.Tool{Name: "pay", Irreversible: true, Action: aaep.Say("Pay $20 from the account of " + user + "."),
		Consequence: aaep.Say("The money is gone.")}, func(context.Context) (string, error) {
		fmt.Println("paid for", user)
		return "", nil
	})
	if err != nil {
		return s.Fail(err, aaep.Say("Nothing was paid."))
	}
	return s.Complete(aaep.Say("That was all."))
}

// newService serves each user their own agent. Where users come and go, make it when they log in and shut it down when they leave.
func newService(ctx context.Context, users map[string]string) (http.Handler, error) {
	known, err := auth.Tokens(users) // or who is logged in, by a cookie
	if err != nil {
		return nil, err
	}
	front := serve.Server{Authenticate: known}
	agents := map[string]http.Handler{}
	users[""] = "" // has one too: it says what the service is, and lets nobody in
	for user := range users {
		p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "bank", AgentName: "Bank"}})
		if err != nil {
			return nil, err
		}
		if agents[user], err = front.Handler(p); err != nil {
			return nil, err
		}
		go pay(ctx, p, user)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := known(r)
		if err != nil {
			user = ""
		}
		agents[user].ServeHTTP(w, r)
	}), nil
}

func main() {
	log.SetFlags(0)
	addr := flag.String("listen", "127.0.0.1:8080", "where the service is")
	flag.Parse()
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "users")
	if err != nil {
		log.Fatal(err)
	}
	tokens := map[string]string{"ada": rand.Text(), "ben": rand.Text()}
	for user, token := range tokens {
		file := filepath.Join(folder, user+".token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: go run ./cmd/aaep listen --token-file %s http://%s\n", user, file, ln.Addr())
	}
	service, err := newService(context.Background(), tokens)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal((&http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second}).Serve(ln))
}
