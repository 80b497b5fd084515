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

// guarded serves h to whom the rules of the host and the origin let in, and only to be read.
func guarded(guard httpguard.Rules, h http.Handler) http.Handler {
	const methods = "GET, HEAD"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := guard.Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		switch shared := guard.SetCORS(w, r); {
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			h.ServeHTTP(w, r)
		case shared && httpguard.Preflight(w, r, methods, "Accept, Authorization, Cache-Control"):
		default:
			w.Header().Set("Allow", methods)
			http.Error(w, "this is only to be read", http.StatusMethodNotAllowed)
		}
	})
}

// routes puts the manifest and the schemas beside the bindings, with the same checks of who asks. They hold no secret, so
// nobody is asked for credentials.
func (s *Server) routes(p *producer.Producer, hosts []string, at string, events http.Handler, socket string, sockets http.Handler, root *sse.RootServer) http.Handler {
	guarded := func(h http.Handler) http.Handler {
		return guarded(httpguard.Rules{Hosts: hosts, Origins: s.Origins}, h)
	}
	mux := http.NewServeMux()
	mux.Handle("/", events)
	mux.Handle(socket, sockets)
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
	mux.Handle(at+schemasPath, guarded(http.StripPrefix(at+schemasPath, http.FileServerFS(schemas.FS()))))
	mux.Handle(at+manifest.Path, guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.manifest(w, r, p) })))
	mux.Handle(at+manifest.KeysPath, guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { s.keys(w, p) })))
	mux.HandleFunc("GET "+at+healthPath, func(w http.ResponseWriter, _ *http.Request) { health(w, p, false) })
	mux.HandleFunc("GET "+at+readyPath, func(w http.ResponseWriter, _ *http.Request) { health(w, p, true) })
	return mux
}

// manifest publishes what p says of itself, with its signature for those who ask for that.
func (s *Server) manifest(w http.ResponseWriter, r *http.Request, p *producer.Producer) {
	if strings.Contains(r.Header.Get("Accept"), joseType) {
		signed, err := p.SignedManifest()
		if err == nil && signed != "" {
			s.publish(w, joseType, []byte(signed), nil)
			return
		}
		if err != nil {
			s.logger().Error("serve: the manifest cannot be signed", "error", err)
		}
	}
	m, err := p.Manifest()
	var data []byte
	if err == nil {
		data, err = manifest.Encode(m)
	}
	s.publish(w, "application/json", data, err)
}

const joseType = "application/jose"

// keys publishes the keys that the manifest is, was and will be signed with.
func (s *Server) keys(w http.ResponseWriter, p *producer.Producer) {
	signers := p.Signers()
	if len(signers) == 0 {
		http.Error(w, "nothing is signed here", http.StatusNotFound)
		return
	}
	data, err := manifest.PublicKeys(signers...)
	s.publish(w, "application/json", data, err)
}

func (s *Server) publish(w http.ResponseWriter, typ string, data []byte, err error) {
	if err != nil { // what is configured cannot be said in a manifest
		s.logger().Error("serve: there is no manifest", "error", err)
		http.Error(w, "there is none", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Add("Vary", "Accept")
	w.Write(data)
}

// health answers whoever watches over the process, under any name and without credentials: it says nothing else. Who asks whether
// it is ready wants to send listeners here.
func health(w http.ResponseWriter, p *producer.Producer, ready bool) {
	select {
	case <-p.Done():
		status(w, "ended")
	default:
		if ready && !p.Ready() {
			status(w, "away")
			return
		}
		status(w, "ok")
	}
}

func status(w http.ResponseWriter, is string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if is != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write([]byte(`{"status":"` + is + `"}` + "\n"))
}
