package serving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/producer/serve"
)

// An Invitation is how an agent is followed at one of the places where it is served.
type Invitation struct {
	command, at string   // as they can be typed where the agent was started, but for words in capitals
	Notes       []string // what to put in there, and what else is needed
}

// PrintInvitations says that an agent is served, with the commands that follow it, each at an
// address and the path below it; a note that several have is said once.
func PrintInvitations(status *lineio.Printer, agent, path string, invitations []Invitation) {
	var commands, notes []string
	for _, v := range invitations {
		commands = append(commands, v.command+" "+quoteForShell(v.at+path))
		for _, note := range v.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	status.PrintLabelled("aaep", fmt.Sprintf("Serving %s. Follow it with: %s", agent, strings.Join(commands, ", or ")))
	for _, note := range notes {
		status.PrintLabelled("aaep", note)
	}
}

// newInvitation returns how to follow an agent that srv serves at a TCP address: the address that
// leads there, what vouches for it, and what a listener has to show.
func (s *Flags) newInvitation(addr net.Addr, srv *serve.Server) (v Invitation) {
	tcp := addr.(*net.TCPAddr)
	words := []string{"aaep listen"}
	note := func(format string, args ...any) { v.Notes = append(v.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case srv.TLS != nil:
		cert := srv.TLS.Certificates[0]
		v.at = encryptedAddress(tcp, cert, srv.Hosts, note)
		if !vouchedFor(cert) {
			file, about := s.trustAnchor(cert)
			words = append(words, "--ca", quoteForShell(file))
			note("%s", about)
		}
	case len(srv.Hosts) > 0:
		v.at = s.proxiedAddress(tcp, srv.Hosts, note)
	default:
		v.at = "http://" + tcp.String()
	}
	if s.below != "" {
		v.at += "/" + s.below
	}
	switch {
	case s.tokens != "" || s.issuer != "":
		words = append(words, "--token-file FILE")
		note("FILE is a file with the listener's token and nothing else, which only its owner may read.")
	case s.clientCA != "":
		words = append(words, "--cert FILE --key FILE")
		note("FILE is the listener's certificate, and then its key.")
	}
	if s.Web && s.tokens == "" && s.issuer == "" { // which a browser has no way to show
		note("Or open %s in a browser.", v.at)
	}
	v.command = strings.Join(words, " ")
	return v
}

// encryptedAddress returns the https address of a server with a certificate, by one of the names of
// --host, or of the certificate where there are none. It notes what else leads there, or has to.
func encryptedAddress(tcp *net.TCPAddr, cert tls.Certificate, names []string, note func(string, ...any)) string {
	if len(names) == 0 {
		names = namesIn(cert.Leaf)
	}
	name := nameFor(tcp.IP.IsLoopback(), names)
	if tcp.IP.IsLoopback() && !OfThisMachine(name) {
		note("The name %s has to lead to %s on this machine.", hostOf(name), tcp.IP)
	}
	if hostName := nameFor(true, names); tcp.IP.IsUnspecified() && hostName != name && OfThisMachine(hostName) {
		note("On this machine https://%s will do too.", withPort(hostName, tcp.Port))
	}
	return "https://" + withPort(name, tcp.Port)
}

// proxiedAddress returns the address of a server that does not encrypt, by the names of --host: one
// that leads from this machine to its port, else that of a proxy before it, which it notes.
func (s *Flags) proxiedAddress(tcp *net.TCPAddr, names []string, note func(string, ...any)) string {
	own := withPort(nameFor(true, names), tcp.Port)
	_, port, err := net.SplitHostPort(own)
	if err == nil && port == fmt.Sprint(tcp.Port) && OfThisMachine(nameFor(true, names)) {
		return "http://" + own
	}
	name := nameFor(false, names)
	passed := name
	if s.below != "" {
		passed += "/" + s.below
	}
	note("A proxy has to pass on to %s what comes for %s.", tcp, passed)
	return "https://" + name
}

// trustAnchor returns the file with which a listener trusts a certificate that is not of a public
// authority, also after the certificate was renewed where that can be, and what to know about it.
func (s *Flags) trustAnchor(cert tls.Certificate) (file, about string) {
	leaf, file := cert.Leaf, s.cert
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && filepath.Dir(file) == filepath.Clean(dir) { // see systemd.exec(5)
		file = "CA"
		about = fmt.Sprintf("CA is a copy of the file that LoadCredential= has as %s: only this service may read %s. ",
			filepath.Base(s.cert), s.cert)
	}
	if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		return file, about + fmt.Sprintf("The certificate in %s vouches for itself: when you renew it, give the new one to who listens first.", s.cert)
	}
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil && c.IsCA {
			return file, about + fmt.Sprintf("Of %s, who listens needs the certificate of the CA, %s; it stays good when the agent's own is renewed.", s.cert, c.Subject)
		}
	}
	return "CA", fmt.Sprintf("CA is a file with the certificate of the CA that signed %s, %s.", s.cert, leaf.Issuer)
}

// namesIn returns the names and addresses in a certificate that are of one machine; names with a
// wildcard are left out.
func namesIn(leaf *x509.Certificate) []string {
	names := slices.DeleteFunc(slices.Clone(leaf.DNSNames),
		func(name string) bool { return strings.HasPrefix(name, "*.") })
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// nameFor returns the first name that is of loopback, or with loopback false the first that is not;
// where there is none it is the first of all. names must not be empty.
func nameFor(loopback bool, names []string) string {
	i := slices.IndexFunc(names, func(name string) bool { return OfThisMachine(name) == loopback })
	return names[max(i, 0)]
}

// OfThisMachine reports whether a name, with or without a port, is localhost or a loopback address.
func OfThisMachine(name string) bool {
	ip := net.ParseIP(hostOf(name))
	return strings.EqualFold(hostOf(name), "localhost") || ip != nil && ip.IsLoopback()
}

// hostOf returns the host of an address with or without a port.
func hostOf(name string) string {
	host, _, err := net.SplitHostPort(name)
	if err != nil {
		return strings.Trim(name, "[]")
	}
	return host
}

// withPort returns a name with a port; a name that has one already keeps it.
func withPort(name string, port int) string {
	if _, _, err := net.SplitHostPort(name); err == nil {
		return name
	}
	return net.JoinHostPort(hostOf(name), fmt.Sprint(port))
}

// vouchedFor reports whether a program on this machine trusts a certificate already, without --ca.
func vouchedFor(cert tls.Certificate) bool {
	o := x509.VerifyOptions{Intermediates: x509.NewCertPool()}
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			o.Intermediates.AddCert(c)
		}
	}
	_, err := cert.Leaf.Verify(o)
	return err == nil
}

// quoteForShell returns a word of a command that a person copies, as a shell of this system reads
// it: quoted where it has a sign that the shell obeys, by single quotes on Unix and double ones on
// Windows; else as it is.
func quoteForShell(word string) string {
	switch {
	case !strings.ContainsAny(word, " \t\n'\"&|;()<>$`\\*?[]{}~#!"):
		return word
	case runtime.GOOS == "windows":
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
