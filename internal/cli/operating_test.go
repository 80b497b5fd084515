package cli

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports/auth"
)

// fenced is the first block of a language in docs/operating.md.
func fenced(t *testing.T, language string) string {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```"+language+"\n")
	block, _, ends := strings.Cut(rest, "```\n")
	if !found || !ends {
		t.Fatalf("docs/operating.md has no block of %s", language)
	}
	return block
}

// What operators are told to write for systemd and nginx is what these understand.
func TestOperatingUnit(t *testing.T) {
	realtest.Need(t, "systemd-analyze")
	self := clitest.Must(os.Executable())
	unit := strings.NewReplacer("/usr/local/bin/aaep", self, "/usr/local/bin/planner", self).Replace(fenced(t, "ini"))
	path := filepath.Join(t.TempDir(), "planner.service")
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil ||
		strings.Contains(string(out), path) {
		t.Errorf("%v\n%s", err, out)
	}
}

// The unit keeps what the agent prints out of the journal, and not the log with it: systemd sends
// standard error where standard output goes, unless the unit says otherwise.
func TestOperatingUnitLogs(t *testing.T) {
	unit := fenced(t, "ini")
	for _, line := range []string{"\nStandardOutput=null\n", "\nStandardError=journal\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit lacks %s", strings.TrimSpace(line))
		}
	}
}

// Through nginx as it is set up there, what an agent says comes at once over both transports, who
// is not known is kept out, and where a client comes from is known, whatever its headers claim.
func TestOperatingProxy(t *testing.T) {
	nginx := realtest.Need(t, "nginx")
	site := fenced(t, "nginx")
	t.Chdir(t.TempDir())
	here := clitest.Must(os.Getwd())
	mint()
	taken := clitest.Must(net.Listen("tcp", "127.0.0.1:0")) // nginx cannot say which port it takes
	at := taken.Addr().String()
	taken.Close()
	_, port, _ := net.SplitHostPort(at)
	known := clitest.Must(auth.Tokens(map[string]string{"ada": "F7K2M9Q4T6W8Y3B5D7G9J2L4N6"}))
	p := clitest.Must(serving.NewProducer("planner", producer.Config{}))
	peers := make(chan string, 100) // where the requests seem to come from
	srv := &serve.Server{Hosts: []string{"localhost:" + port}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Authenticate: func(r *http.Request) (string, error) { peers <- r.RemoteAddr; return known(r) }}
	behind := clitest.Must(net.Listen("tcp", "127.0.0.1:0"))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), behind, p) }()
	defer func() { p.Shutdown(context.Background()); <-served }()

	site = strings.NewReplacer("listen 443", "listen "+at, "agent.example", "localhost", "/etc/nginx/", here+"/",
		"127.0.0.1:8080", behind.Addr().String()).Replace(site)
	conf := "daemon off; master_process off; pid pid; error_log stderr; events {} http { access_log off;"
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		conf += " " + of + "_temp_path " + of + ";"
	}
	if err := os.WriteFile("nginx.conf", []byte(conf+"\n"+site+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(nginx, "-t", "-p", here, "-c", "nginx.conf").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	proxy := exec.Command(nginx, "-p", here, "-c", "nginx.conf")
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { proxy.Process.Kill(); proxy.Wait() }()
	for deadline := time.Now().Add(clitest.Patience); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithTimeout(t.Context(), clitest.Patience)
	defer stop()
	trusted := clitest.Must(auth.ClientTLS("ca.pem", "", "", nil))
	follow := func(transport string, show func(context.Context) (http.Header, error)) (*subscriber.Subscription,
		error) {
		ways, err := discover.Ways(ctx, "https://localhost:"+port,
			discover.Options{TLS: trusted, Credentials: show, Transports: []string{transport}})
		if err != nil {
			return nil, err
		}
		return subscriber.Dial(ctx, ways[0].Dialer,
			subscriber.Config{ID: "reader", Capabilities: subscriber.ScreenReader("en-US")})
	}
	var subs []*subscriber.Subscription
	for _, transport := range []string{manifest.SSE, manifest.WebSocket} {
		sub, err := follow(transport, auth.Bearer("F7K2M9Q4T6W8Y3B5D7G9J2L4N6"))
		if err != nil {
			t.Fatalf("%s: %v", transport, err)
		}
		defer sub.Close()
		subs = append(subs, sub)
		if _, err := follow(transport, auth.Bearer("A1B2C3D4E5F6G7H8J9K1L2M3N4")); !errors.Is(err,
			aaep.AuthenticationRequired) {
			t.Errorf("%s, not known: %v", transport, err)
		}
	}
	s := clitest.Must(p.StartSession(ctx, aaep.Say("Planning.")))
	defer s.Close()
	for _, sub := range subs { // what nginx held back would not come, for nothing follows it
		if ev, err := sub.Next(ctx); err != nil || ev.Type() != aaep.TypeSessionStarted {
			t.Errorf("%v, %v; want the start of the session", ev, err)
		}
	}
	for len(peers) > 0 {
		<-peers
	}
	away := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted.Clone(), DisableKeepAlives: true,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	for _, claims := range []http.Header{{}, {"X-Forwarded-For": {"192.0.2.66"}}, {"Forwarded": {"for=192.0.2.66"}},
		{"X-Forwarded-For": {"192.0.2.66"}, "Forwarded": {"for=192.0.2.66"}}, {"X-Forwarded-For": {"192.0.2.66, 127.0.0.1"}}} {
		request := clitest.Must(http.NewRequestWithContext(ctx, http.MethodPost, "https://"+at+"/aaep/v1/subscriptions", nil))
		request.Host, request.Header = "localhost:"+port, claims
		response := clitest.Must(away.Do(request))
		response.Body.Close()
		if peer := <-peers; peer != "127.0.0.2:0" {
			t.Errorf("a client that claims %v seems to come from %s", claims, peer)
		}
	}
}

// An operator who names an issuer that is not proved to this machine is told that, and how to mend
// it.
func TestIssuerNotTrusted(t *testing.T) {
	issuer := httptest.NewUnstartedServer(http.NotFoundHandler())
	issuer.Config.ErrorLog = log.New(io.Discard, "", 0)
	issuer.StartTLS()
	defer issuer.Close()
	var said strings.Builder
	code := Main([]string{"run", "--listen", "127.0.0.1:0", "--oidc-issuer", issuer.URL, "--oidc-audience", "planner",
		"--", clitest.Must(os.Executable())}, strings.NewReader(""), io.Discard, &said)
	if code != exits.Unreachable || !strings.Contains(said.String(), "x509: ") ||
		!strings.Contains(said.String(), "update-ca-certificates") {
		t.Errorf("%d: %s", code, said.String())
	}
}
