package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer/serve"
)

// What is printed about an agent is enough to follow it, from where it was started.
func TestInvitation(t *testing.T) {
	const file = "FILE is a file with the listener's token and nothing else, which only its owner may read."
	const own = "\nThe certificate in agent.pem vouches for itself: when you renew it, give the new one to who listens first."
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/planner.service")
	loopback, everywhere := net.IPv4(127, 0, 0, 1), net.IPv4zero
	for _, tt := range []struct {
		name  string
		s     Flags
		at    net.IP
		certs []string // names in the certificate; nil is none
		hosts []string
		want  string
	}{
		{"a loopback agent", Flags{}, loopback, nil, nil, "aaep listen http://127.0.0.1:8443"},
		{"one with a page", Flags{Web: true}, loopback, nil, nil,
			"aaep listen http://127.0.0.1:8443\nOr open http://127.0.0.1:8443 in a browser."},
		{"one with a page and tokens", Flags{Web: true, tokens: "tokens"}, loopback, nil, nil,
			"aaep listen --token-file FILE http://127.0.0.1:8443\n" + file},
		{"one with tokens", Flags{tokens: "tokens"}, loopback, nil, nil,
			"aaep listen --token-file FILE http://127.0.0.1:8443\n" + file},
		{"one with certificates", Flags{cert: "agent.pem", clientCA: "ca.pem"}, everywhere,
			[]string{"agent.example"}, nil,
			"aaep listen --ca agent.pem --cert FILE --key FILE https://agent.example:8443" + own +
				"\nFILE is the listener's certificate, and then its key."},
		{"a certificate for others and this machine", Flags{cert: "my agent.pem"}, everywhere,
			[]string{"localhost", "agent.example", "127.0.0.1"}, nil,
			"aaep listen --ca " + quoteForShell("my agent.pem") + " https://agent.example:8443\nOn this machine https://localhost:8443 will do too." + strings.Replace(own, "agent.pem", "my agent.pem", 1)},
		{"a service of systemd, whose copy others cannot read", Flags{cert: "/run/credentials/planner.service/agent.pem"}, everywhere,
			[]string{"agent.example"}, nil,
			"aaep listen --ca CA https://agent.example:8443\nCA is a copy of the file that LoadCredential= has as agent.pem: only this service may read " +
				"/run/credentials/planner.service/agent.pem. " + strings.Replace(own[1:], "agent.pem", "/run/credentials/planner.service/agent.pem", 1)},
		{"on loopback", Flags{cert: "agent.pem"}, loopback, []string{"agent.example", "127.0.0.1"}, nil,
			"aaep listen --ca agent.pem https://127.0.0.1:8443" + own},
		{"on loopback under a name of the network", Flags{cert: "agent.pem"}, loopback, []string{"agent.example"},
			nil,
			"aaep listen --ca agent.pem https://agent.example:8443\nThe name agent.example has to lead to 127.0.0.1 on this machine." + own},
		{"with a port of its own", Flags{cert: "agent.pem"}, everywhere, []string{"agent.example"},
			[]string{"agent.example:443"},
			"aaep listen --ca agent.pem https://agent.example:443" + own},
		{"behind a proxy", Flags{issuer: "https://login.example"}, loopback, nil, []string{"agent.example:9443"},
			"aaep listen --token-file FILE https://agent.example:9443\nA proxy has to pass on to 127.0.0.1:8443 what comes for agent.example:9443.\n" + file},
		{"behind a proxy on this machine", Flags{}, loopback, nil, []string{"localhost:9443"},
			"aaep listen https://localhost:9443\nA proxy has to pass on to 127.0.0.1:8443 what comes for localhost:9443."},
		{"below a path of a proxy", Flags{issuer: "https://login.example", below: "planner"}, loopback, nil,
			[]string{"agent.example"},
			"aaep listen --token-file FILE https://agent.example/planner\nA proxy has to pass on to 127.0.0.1:8443 what comes for agent.example/planner.\n" + file},
		{"below a path with TLS", Flags{cert: "agent.pem", below: "planner"}, everywhere,
			[]string{"agent.example"}, []string{"agent.example"},
			"aaep listen --ca agent.pem https://agent.example:8443/planner" + own},
		{"under another name of this machine", Flags{}, loopback, nil, []string{"localhost"},
			"aaep listen http://localhost:8443"},
	} {
		srv := &serve.Server{Hosts: tt.hosts}
		if tt.certs != nil {
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(tt.certs)}}
		}
		v := tt.s.newInvitation(&net.TCPAddr{IP: tt.at, Port: 8443}, srv)
		if got := strings.Join(append([]string{v.command + " " + v.at}, v.Notes...), "\n"); got != tt.want {
			t.Errorf("%s: said\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func certificate(names []string) tls.Certificate {
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	key := clitest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := clitest.Must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return tls.Certificate{Certificate: [][]byte{der}, Leaf: clitest.Must(x509.ParseCertificate(der))}
}

// A word of a command that is copied into a shell arrives as it was meant.
func TestQuoteForShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell of Unix")
	}
	for _, word := range []string{"http://127.0.0.1:8443/planner", "two words", "$HOME/ca.pem", "`id`", `a\b`, "it's", `"x"`,
		"https://[::1]:8443", "a;b&c|d", "~/x", "*"} {
		got, err := exec.Command("sh", "-c", "printf %s "+quoteForShell(word)).Output()
		if err != nil || string(got) != word {
			t.Errorf("%q arrives as %q, %v", word, got, err)
		}
	}
	if got := quoteForShell("http://127.0.0.1:8443/planner"); got != "http://127.0.0.1:8443/planner" {
		t.Errorf("a plain address is %q", got)
	}
}
