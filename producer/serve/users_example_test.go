package serve_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
)

// A service has several users at one address. Who listens to a producer hears all of it, and is
// asked its questions: so each user has one of their own, hears their own agent, and answers for
// themselves.
func Example_users() {
	ctx := context.Background()
	tokens := map[string]string{"ada": rand.Text(), "ben": rand.Text()}
	known, err := auth.Tokens(tokens) // or who is logged in, by a cookie
	if err != nil {
		fmt.Println(err)
		return
	}
	front := serve.Server{Authenticate: known}
	agents := map[string]http.Handler{}
	for _, user := range []string{"ada", "ben",
		""} { // made when they log in; the one without a user says what the service is, and lets no one in
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer p.Shutdown(ctx) // when they leave
		if agents[user], err = front.Handler(p); err != nil {
			fmt.Println(err)
			return
		}
		go workForUser(ctx, p, user)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := known(r)
		if err != nil {
			user = ""
		}
		agent := agents[user] // with a lock, where users come and go
		if agent == nil {
			http.Error(w, "You have no agent here yet.", http.StatusServiceUnavailable)
			return
		}
		agent.ServeHTTP(w, r)
	}))
	defer service.Close()

	_, err = answerAs(ctx, sse.Dialer{URL: service.URL}, (*subscriber.Question).Accept)
	fmt.Println("A stranger:", err)
	for _, user := range []string{"ada", "ben"} {
		answer := (*subscriber.Question).Accept
		if user == "ben" {
			answer = (*subscriber.Question).Reject
		}
		last, err := answerAs(ctx, sse.Dialer{URL: service.URL, Credentials: auth.Bearer(tokens[user])}, answer)
		fmt.Println(user, "hears:", last, err)
	}
	// Output:
	// A stranger: aaep: authentication required (said by the peer): The credentials are missing or not valid.
	// ada hears: Paid for ada. <nil>
	// ben hears: Nothing was paid for ben. <nil>
}

// workForUser is what the agent does for one user.
func workForUser(ctx context.Context, p *producer.Producer, user string) error {
	if err := p.WaitSubscriber(ctx); err != nil {
		return err
	}
	s, err := p.StartSession(ctx, aaep.Say("Looking at what "+user+" has to pay."))
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Tool(ctx, producer.Tool{Name: "pay", Irreversible: true,
		Action:      aaep.Say("Pay $20 from the account of " + user + "."),
		Consequence: aaep.Say("The money is gone.")}, func(context.Context) (string, error) { return "", nil })
	if err != nil {
		return s.Fail(err, aaep.Say("Nothing was paid for "+user+"."))
	}
	return s.Complete(aaep.Say("Paid for " + user + "."))
}

// answerAs follows a user's agent, answers what it asks, and returns the last event's text. A
// program for a person leaves the answer to present.Follow.
func answerAs(ctx context.Context, agent sse.Dialer,
	answer func(*subscriber.Question, context.Context) error) (last string, err error) {
	sub, err := subscriber.Dial(ctx, agent, subscriber.Config{ID: "reader",
		Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		return "", err
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return "", err
		}
		last = ev.Text(aaep.VerbosityNormal)
		if ev.Type() == aaep.TypeAwaitingConfirmation {
			err = answer(sub.Question(ev), ctx)
		}
		if err != nil || ev.Type().Terminal() {
			return last, err
		}
	}
	return last, nil
}
