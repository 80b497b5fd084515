package serve

import (
	"net/http"
	"strings"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/transports/sse"
)

const (
	schemasPath = "/aaep/v1/schemas/"
	healthPath  = "/healthz"
	readyPath   = "/readyz"
)

// guardReadOnly returns a handler that passes GET and HEAD requests from hosts and origins that
// guard allows to h, answers a browser that asks whether it may send them, and refuses all others.
func guardReadOnly(guard httpguard.Rules, refusals httpguard.Refusals, h http.Handler) http.Handler {
	const methods = "GET, HEAD"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := guard.Check(r); err != nil {
			refusals.Report(r, "", httpguard.Forbidden, err.Error())
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		switch cors := guard.SetCORS(w, r); {
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			h.ServeHTTP(w, r)
		case cors && httpguard.Preflight(w, r, methods, "Accept, Authorization, Cache-Control"):
		default:
			w.Header().Set("Allow", methods)
			http.Error(w, "this is only to be read", http.StatusMethodNotAllowed)
		}
	})
}

// refusals returns what logs and counts requests for documents that are refused.
func (s *Server) refusals() httpguard.Refusals {
	return httpguard.Refusals{Transport: "serve", Log: httpguard.LimitLog(s.Logger), Count: s.Refused}
}

// newMux returns the handler of everything that is served of p: events, which is Server-Sent
// Events; sockets, which is WebSocket, at socketPath; root, the layout without a handshake, which
// may be nil; and, below prefix, the manifest, the schemas and the health checks, with the page.
// The documents hold no secret, so they are served without credentials.
func (s *Server) newMux(p *producer.Producer, hosts []string, prefix string, events http.Handler, socketPath string,
	sockets http.Handler, root *sse.RootServer) http.Handler {
	refusals := s.refusals()
	guarded := func(h http.Handler) http.Handler {
		return guardReadOnly(httpguard.Rules{Hosts: hosts, Origins: s.Origins}, refusals, h)
	}
	mux := http.NewServeMux()
	mux.Handle("/", events)
	mux.Handle(socketPath, sockets)
	if s.Page != nil {
		mux.Handle("GET "+PagePath, guarded(http.StripPrefix(PagePath, s.Page)))
		toPage := guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, httpguard.MountPath(r)+PagePath, http.StatusSeeOther)
		}))
		mux.Handle("GET /{$}", toPage)
		mux.Handle("GET "+strings.TrimSuffix(PagePath, "/"), toPage)
	}
	if root != nil {
		mux.Handle("/events", root)
		mux.Handle("/messages", root)
	}
	files := http.StripPrefix(prefix+schemasPath, http.FileServerFS(schemas.FS()))
	mux.Handle(prefix+schemasPath, guarded(files))
	mux.Handle(prefix+manifest.Path, guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serveManifest(w, r, p)
	})))
	mux.Handle(prefix+manifest.KeysPath, guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.serveKeys(w, p)
	})))
	mux.HandleFunc("GET "+prefix+healthPath, func(w http.ResponseWriter, _ *http.Request) { serveHealth(w, p, false) })
	mux.HandleFunc("GET "+prefix+readyPath, func(w http.ResponseWriter, _ *http.Request) { serveHealth(w, p, true) })
	return mux
}

// serveManifest answers with the manifest of p, signed where the client accepts that and p signs;
// where signing fails, that is logged and it is not signed.
func (s *Server) serveManifest(w http.ResponseWriter, r *http.Request, p *producer.Producer) {
	if strings.Contains(r.Header.Get("Accept"), joseType) {
		signed, err := p.SignedManifest()
		if err == nil && signed != "" {
			s.writeDocument(w, joseType, []byte(signed), nil)
			return
		}
		if err != nil {
			s.logTo().Error("serve: the manifest cannot be signed", "error", err)
		}
	}
	m, err := p.Manifest()
	var data []byte
	if err == nil {
		data, err = manifest.Encode(m)
	}
	s.writeDocument(w, "application/json", data, err)
}

// joseType is the media type of a signed manifest.
const joseType = "application/jose"

// serveKeys answers with the keys that the manifest of p is, was and will be signed with; 404 where
// p signs nothing.
func (s *Server) serveKeys(w http.ResponseWriter, p *producer.Producer) {
	signers := p.Signers()
	if len(signers) == 0 {
		http.Error(w, "nothing is signed here", http.StatusNotFound)
		return
	}
	data, err := manifest.PublicKeys(signers...)
	s.writeDocument(w, "application/json", data, err)
}

// writeDocument writes a document of the manifest, or 404 and a line in the log where err says why
// there is none.
func (s *Server) writeDocument(w http.ResponseWriter, typ string, data []byte, err error) {
	if err != nil { // what is configured cannot be said in a manifest
		s.logTo().Error("serve: there is no manifest", "error", err)
		http.Error(w, "there is none", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Add("Vary", "Accept")
	w.Write(data)
}

// serveHealth answers a health check, under any host name and without credentials, with one word
// and nothing else. With ready it asks whether listeners should be sent here.
func serveHealth(w http.ResponseWriter, p *producer.Producer, ready bool) {
	select {
	case <-p.Done():
		writeStatus(w, "ended")
	default:
		if ready && !p.Ready() {
			writeStatus(w, "away")
			return
		}
		writeStatus(w, "ok")
	}
}

// writeStatus answers a health check with the word health: with 200 if it is "ok", with 503 if it
// is any other.
func writeStatus(w http.ResponseWriter, health string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if health != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write([]byte(`{"status":"` + health + `"}` + "\n"))
}
