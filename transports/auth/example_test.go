package auth_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
)

// A listener that knows its peers by certificates or, where those have none, by tokens; and a peer
// with a token.
func Example() {
	tokens, err := auth.Tokens(map[string]string{"ada": "5f1c0b6e9a7d43f2b8e1c05d6a94f37e"}) // or TokenFile
	if err != nil {
		fmt.Println(err)
		return
	}
	server := sse.NewServer(sse.ServerOptions{Authenticate: auth.Any(auth.ClientCertificate, tokens)})
	host := httptest.NewServer(server) // for other machines: an http.Server with the TLSConfig of ServerTLS
	defer host.Close()
	go func() {
		conn, err := server.Accept(context.Background())
		if err != nil {
			return
		}
		conn.Send(context.Background(),
			[]byte(`{"type":"subscription.rejected","reason_code":"unknown","reason_message":"Come back later."}`))
	}()

	for _, token := range []string{"0123456789abcdef0123456789abcdef", "5f1c0b6e9a7d43f2b8e1c05d6a94f37e"} {
		// or BearerFile
		conn, err := sse.Dialer{URL: host.URL, Credentials: auth.Bearer(token)}.Dial(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := conn.Send(context.Background(),
			[]byte(
				`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"reader","capabilities":{}}`)); err != nil {
			fmt.Println(err)
		}
		answer, _ := conn.Receive(context.Background())
		fmt.Printf("%s\n", answer)
		conn.Close()
	}
	// Output:
	// {"type":"subscription.rejected","reason_code":"authentication_required","reason_message":"The credentials are missing or not valid."}
	// {"type":"subscription.rejected","reason_code":"unknown","reason_message":"Come back later."}
}
