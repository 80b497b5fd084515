package serve

import (
	"net/http"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

const (
	schemasPath = "/aaep/v1/schemas/"
	healthPath  = "/healthz"
)

// routes puts the manifest and the schemas beside the bindings, with the same checks of who asks. They hold no secret, so
// nobody is asked for credentials.
func (s *Server) routes(p *producer.Producer, hosts []string, events, sockets http.Handler, root *sse.RootServer) http.Handler {
	guard := httpguard.Rules{Hosts: hosts, Origins: s.Origins}
	guarded := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if err := guard.Check(r); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/", events)
	mux.Handle(websocket.DefaultPath, sockets)
	if root != nil {
		mux.Handle("/events", root)
		mux.Handle("/messages", root)
	}
	mux.Handle("GET "+schemasPath, guarded(http.StripPrefix(schemasPath, http.FileServerFS(schemas.FS()))))
	mux.Handle("GET "+manifest.Path, guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { s.manifest(w, p) })))
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) { health(w, p) })
	return mux
}

func (s *Server) manifest(w http.ResponseWriter, p *producer.Producer) {
	m := p.Manifest()
	err := m.AddEndpoint(manifest.SSE, manifest.Endpoint{Address: sse.DefaultPrefix})
	if err == nil {
		err = m.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: websocket.DefaultPath})
	}
	for name, at := range s.Endpoints {
		if err == nil {
			err = m.AddEndpoint(name, at)
		}
	}
	var data []byte
	if err == nil {
		data, err = manifest.Encode(m)
	}
	if err != nil { // what is configured cannot be said in a manifest
		s.logger().Error("serve: there is no manifest", "error", err)
		http.Error(w, "there is no manifest", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Write(data)
}

// health answers whoever watches over the process, under any name and without credentials: it says nothing else.
func health(w http.ResponseWriter, p *producer.Producer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	select {
	case <-p.Done():
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(`{"status":"ended"}` + "\n"))
	default:
		w.Write([]byte(`{"status":"ok"}` + "\n"))
	}
}
