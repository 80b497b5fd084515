package jetstream_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// writePrivate writes a file that no other user may open.
func writePrivate(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "user")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// readFile returns the text of a file.
func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documentedConfig is the configuration of the servers in docs/operating.md.
func documentedConfig(t *testing.T) string {
	_, conf, _ := strings.Cut(readFile(t, "../../../docs/operating.md"), "```nats\n")
	conf, _, ok := strings.Cut(conf, "```")
	if !ok {
		t.Fatal("docs/operating.md has no configuration of the servers")
	}
	return conf
}

// A small agent and who serves it, with what docs/operating.md allows each of them and nothing
// else; and what they are told when they are not let in, or may not do what they have to.
func TestUsers(t *testing.T) {
	t.Parallel()
	certs := natstest.Certificates(t)
	conf := strings.NewReplacer("server.pem", certs+"/server.pem", "server.key", certs+"/server.key",
		"$PLANNER", "planned", "$SERVES", "served").Replace(documentedConfig(t))
	// One who may do most of it, and an account that has nothing.
	conf = strings.Replace(conf, "users: [", `users: [ { user: most, password: most, permissions: {
		publish: ["aaep.>", "$JS.API.>"], subscribe: ["_INBOX.>"] } }, { user: some, password: some, permissions: { publish: "aaep.>", subscribe: "_INBOX.>" } },`, 1)
	conf = strings.Replace(conf, "accounts {", "accounts { NONE { users: [ { user: none, password: none } ] }\n", 1)
	url := strings.Replace(natstest.Start(t, 1, conf).URLs(), "nats://", "tls://", 1)
	as := func(user string) jetstream.Options {
		return jetstream.Options{CA: certs + "/ca.pem", Credentials: writePrivate(t, user+"\n")}
	}

	// Who serves may come first, and needs no more permissions for that.
	if _, err := dialCluster(t, url, as("serves:served")).Follow(t.Context(), "planner"); !errors.Is(err, jetstream.ErrNoAgent) {
		t.Errorf("an agent that was never started: %v", err)
	}
	store, err := dialCluster(t, url, as("planner:planned")).Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	feed, err := dialCluster(t, url, as("serves:served")).Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	checkWorks(t, store, feed)

	for name, tc := range map[string]struct {
		opts jetstream.Options
		want string
	}{
		"another CA": {jetstream.Options{},
			"no CA that the system trusts vouches for the server's certificate: name a file with the CA that does"},
		"a wrong CA": {jetstream.Options{CA: natstest.Certificates(t) + "/ca.pem",
			Credentials: writePrivate(t, "planner:planned")}, "/ca.pem vouches for the server's certificate"},
		"nobody":       {jetstream.Options{CA: certs + "/ca.pem"}, "the server takes nobody without credentials"},
		"wrong":        {as("planner:guessed"), "/user, or not with this password or key"},
		"no JetStream": {as("none:none"), "the account of this NATS user has no JetStream"},
		"no permission": {as("some:some"),
			"cannot read the stream AAEP_META: this NATS user may not publish to $JS.API.STREAM.INFO.AAEP_META: " +
				"allow it that in its permissions at the servers"},
		"open to all": {jetstream.Options{Credentials: "testdata/agent.creds"},
			"holds secrets and others than its owner may open it"},
		"no user": {as("planner"),
			"neither a .creds file, nor the seed of a user's nkey, nor one line USER:PASSWORD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := jetstream.Dial(t.Context(), url, tc.opts); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %s", err, tc.want)
			}
		})
	}
	most := dialCluster(t, url, as("most:most"))
	if _, err := most.Follow(t.Context(), "planner"); err == nil ||
		!strings.Contains(err.Error(), "this NATS user may not subscribe to aaep.l.planner") {
		t.Errorf("who may not hear: %v", err)
	}
	if _, err := dialCluster(t, url, as("serves:served")).Open(t.Context(), "planner"); err == nil ||
		!strings.Contains(err.Error(), "may not publish to") {
		t.Errorf("who may serve an agent would be it: %v", err)
	}
	const open, hidden = "nats://nats.example:4222", "tls://ada:secret@127.0.0.1:4222"
	if _, err := jetstream.Dial(t.Context(), open, as("planner:planned")); err == nil ||
		!strings.Contains(err.Error(), "begin the addresses of the NATS servers with tls://") {
		t.Errorf("a password in the clear: %v", err)
	}
	if _, err := jetstream.Dial(t.Context(), hidden, jetstream.Options{}); err == nil ||
		strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "put it into a file") {
		t.Errorf("a password in the address: %v", err)
	}
}

// checkWorks has an agent say something and a process settle a question.
func checkWorks(t *testing.T, store *jetstream.Store, feed *jetstream.Feed) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(store.SetMeta([]byte("meta")))
	check(store.SetProfile([]byte("profile")))
	check(store.Claims(func(string) {}))
	check(store.Receive(func([]byte) []byte { return []byte("yes") }))
	check(feed.Claims(func(string) {}))
	check(store.Append([][]byte{[]byte("one"), []byte("two")}))
	if records, err := feed.Next(t.Context(), 0); err != nil || len(records) == 0 || string(records[0]) != "one" {
		t.Errorf("heard %q, %v", records, err)
	}
	if records, err := feed.Read(0, 9); err != nil || string(joinRecords(records)) != "one two" {
		t.Errorf("read %q, %v", records, err)
	}
	if profile, err := feed.Profile(t.Context()); string(profile) != "profile" {
		t.Errorf("profile %q, %v", profile, err)
	}
	if meta, err := feed.Meta(); string(meta) != "meta" {
		t.Errorf("meta %q, %v", meta, err)
	}
	if answer, err := feed.Send(t.Context(), []byte("here")); string(answer) != "yes" {
		t.Errorf("the agent answers %q, %v", answer, err)
	}
	if _, mine, err := feed.Claim(t.Context(), "tok", []byte("no")); !mine {
		t.Errorf("claimed: %v", err)
	}
	if first, mine, err := store.Claim(t.Context(), "tok", []byte("yes")); mine || string(first.Data) != "no" {
		t.Errorf("claimed again: %q, %v, %v", first.Data, mine, err)
	}
	if _, err := store.Read(9, 1); err == nil || errors.Is(err, log.ErrTrimmed) {
		t.Log(err)
	}
}

// A user of an operator's, with a .creds file; one with an nkey; and servers that want a
// certificate.
func TestKeysAndCertificates(t *testing.T) {
	t.Parallel()
	const seed, public = "SUAIJNZEX56S46SQ5QS5CYDHPGMQAXQBKDTUFOCWD2NVEWPJQO4L4P6P4E",
		"UDFBLP224BWPVICWJC3DWYRFE2SVNQZJRL3W4I3VLGTOW2KCRO33WWAE"
	certs := natstest.Certificates(t)
	open := func(t *testing.T, conf string, opts jetstream.Options) string {
		url := natstest.Start(t, 1, conf).URLs()
		if opts.CA != "" {
			url = strings.Replace(url, "nats://", "tls://", 1)
		}
		store, err := dialCluster(t, url, opts).Open(t.Context(), "planner")
		if err != nil {
			t.Fatal(err)
		}
		store.Close()
		return url
	}
	t.Run("creds", func(t *testing.T) {
		t.Parallel()
		open(t, readFile(t, "testdata/operator.conf"),
			jetstream.Options{Credentials: writePrivate(t, readFile(t, "testdata/agent.creds"))})
	})
	t.Run("nkey", func(t *testing.T) {
		t.Parallel()
		open(t, "authorization { users: [ { nkey: "+public+" } ] }",
			jetstream.Options{Credentials: writePrivate(t, seed+"\n")})
	})
	t.Run("certificate", func(t *testing.T) {
		t.Parallel()
		mine := jetstream.Options{CA: certs + "/ca.pem", Certificate: certs + "/client.pem", Key: certs + "/client.key"}
		url := open(t, `tls { cert_file: "`+certs+`/server.pem", key_file: "`+certs+`/server.key", ca_file: "`+certs+
			`/ca.pem", verify: true }`, mine)
		if _, err := jetstream.Dial(t.Context(), url, jetstream.Options{CA: mine.CA}); err == nil ||
			!strings.Contains(err.Error(), "the server wants a client certificate") {
			t.Errorf("without one: %v", err)
		}
		other := natstest.Certificates(t)
		if _, err := jetstream.Dial(t.Context(), url,
			jetstream.Options{CA: mine.CA, Certificate: other + "/client.pem",
				Key: other + "/client.key"}); err == nil ||
			!strings.Contains(err.Error(), "the server does not take the client certificate in "+other) {
			t.Errorf("with another: %v", err)
		}
		if _, err := jetstream.Dial(t.Context(), natstest.Start(t, 1).URLs(), mine); err == nil ||
			!strings.Contains(err.Error(), "the server there has no TLS") {
			t.Errorf("without TLS: %v", err)
		}
	})
}
