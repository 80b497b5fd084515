// Package web is one page that listens to an agent in a browser and asks its user, made for screen
// readers, braille displays, keyboards, touch and large print. It is plain HTML, CSS and JavaScript
// within the program: nothing is built, nothing is fetched from anywhere else, and nothing has to
// be stored. The page itself is in static: page.js is where to begin, and says what happens upon
// each event, such as a notification of the system; link.js subscribes, connects and connects
// again, questions.js puts the questions, log.js has what was said, voice.js speaks, feel.js
// vibrates and notifies, settings.js has what the user sets, and words.*.js are what the page
// itself says in a language.
//
// The page speaks to the SSE endpoints under /aaep/v1 of the origin that it comes from (B.1.1), so
// it belongs beside a producer. It can send no credentials but cookies. Package relay serves it for
// an agent that is elsewhere.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/safetext"
)

// Path is where the page usually is. Handler works under any path that ends in a slash.
const Path = "/aaep/web/"

//go:embed static
var static embed.FS

// policy allows what the page has and nothing else: no script or style within it, no form that is
// sent, no frame around it in which another site could make a user press a button, and no text
// that becomes markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// types are written here because a system's own table may say otherwise, and a module of the wrong
// type does not run.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one file of the page, as it is served.
type file struct {
	body      []byte
	typ, etag string // the headers Content-Type and ETag
}

// newFile returns a file of a kind, which is the ending of its name, such as ".js".
func newFile(kind string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{body: body, typ: types[kind], etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// table is what the page knows of characters: the table that this program goes by too.
var table = sync.OnceValue(func() []byte { return []byte(safetext.Script()) })

// Handler serves the page and its files, by their names in a URL below the one that it is mounted
// at:
//
//	mux.Handle("GET "+web.Path, http.StripPrefix(web.Path, web.Handler()))
//
// It holds no secret and does not look at who asks.
func Handler() http.Handler { return Page{}.Handler() }

// Page is a page that is not the usual one.
type Page struct {
	// Endpoints are where the page speaks to, as the browser sees it: a URL path on its own origin,
	// absolute or relative to that of the page, without a slash at its end. Empty is /aaep/v1,
	// below the path that the page's own /aaep/web/ is below.
	Endpoints string
	// Relayed says that who answers there found out who the agent is, and can be believed: package
	// relay.
	Relayed bool
}

// Handler returns a handler for this page, as the function Handler does, with the endpoints and the
// mark of a relay put into index.html. It serves the files of the page by their names, and
// index.html without one.
func (p Page) Handler() http.Handler {
	files := map[string]file{}
	entries, err := static.ReadDir("static")
	if err != nil {
		panic(err) // it is in the program
	}
	files["table.js"], files["times.js"] = newFile(".js", table()), newFile(".js", []byte(hearing.Script()))
	for _, e := range entries {
		body, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		if e.Name() == "index.html" {
			body = bytes.Replace(body, []byte(`data-endpoints=""`),
				[]byte(`data-endpoints="`+html.EscapeString(p.Endpoints)+`"`), 1)
			if p.Relayed {
				body = bytes.Replace(body, []byte("<body "), []byte("<body data-relayed "), 1)
			}
		}
		files[e.Name()] = newFile(path.Ext(e.Name()), body)
	}
	files[""] = files["index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, files) })
}

// serveFile answers a request with one of the files, by its name; another name gets 404, and
// another method than GET and HEAD 405. Every answer has the page's policy.
func serveFile(w http.ResponseWriter, r *http.Request, files map[string]file) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	f, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case !ok:
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", f.typ)
	h.Set("Cache-Control", "no-cache") // but with ETag
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
