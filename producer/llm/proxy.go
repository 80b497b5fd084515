package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxIdle is how many connections to the provider are kept for the next request.
const maxIdle = 64

// Proxy returns a handler that stands in front of the API of a model, for programs that only let
// their user change its address: it passes requests on to upstream, and their answers back, with
// every byte and as they come, and tells what is said. It follows any number of programs, each of
// which is known by its User-Agent and its key, and sends on nothing of its own. The last part of
// upstream's path may also be the first of a request's: it is taken once.
//
// Requests that programs make for themselves are not told, as far as they show: those for a title,
// a summary of what was said so far, a choice of the next step, or JSON; those of a few tokens;
// and those to the models that silent names. What is not a request for an answer, such as for a
// list of models or for embeddings, is never told.
//
// The handler sends with base; nil is a transport that verifies the provider's certificate. It asks
// for codings that can be read here, of those that the client accepts: gzip, or else none.
func (t *Tap) Proxy(upstream *url.URL, base http.RoundTripper, silent ...string) http.Handler {
	if base == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableCompression = true // else the client would get other bytes than came
		transport.MaxIdleConnsPerHost = maxIdle
		base = transport
	}
	return &httputil.ReverseProxy{
		Transport: &proxyTransport{tap: t, base: base, silent: silent},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = upstream.Scheme, upstream.Host, ""
			r.Out.URL.Path, r.Out.URL.RawPath = joinPaths(upstream, r.In.URL)
			r.Out.URL.RawQuery = r.In.URL.RawQuery
		},
		FlushInterval: -1,
		BufferPool:    copyBuffers,
		ErrorLog:      log.New(io.Discard, "", 0), // addresses hold keys
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			writeProxyError(w, r, upstream.Host, err)
		},
	}
}

// copyBuffers are the buffers that answers are copied with.
var copyBuffers = &bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

// A bufferPool is an httputil.BufferPool of buffers of 32 KiB.
type bufferPool struct{ pool sync.Pool }

// Get returns a buffer.
func (b *bufferPool) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

// Put takes back a buffer that Get returned.
func (b *bufferPool) Put(p []byte) { b.pool.Put((*[32 << 10]byte)(p)) }

// joinPaths returns the path, and its encoded form, of a request below the path of the upstream.
// The end of the upstream's path is not repeated where the request begins with it, as with "/v1".
func joinPaths(upstream, request *url.URL) (path, raw string) {
	prefix, requested := strings.Trim(upstream.EscapedPath(), "/"), strings.TrimLeft(request.EscapedPath(), "/")
	parts := strings.Split(prefix, "/")
	for i := range parts {
		rest, repeats := strings.CutPrefix(requested, strings.Join(parts[i:], "/"))
		if repeats && strings.HasPrefix(rest, "/") {
			prefix = strings.Join(parts[:i], "/")
			break
		}
	}
	raw = "/" + requested
	if prefix != "" {
		raw = "/" + prefix + raw
	}
	if path, err := url.PathUnescape(raw); err == nil {
		return path, raw
	}
	return raw, ""
}

// writeProxyError answers a request that could not be passed on to host with 502 and err, in a form
// that the clients of all providers read. A client that is gone gets nothing.
func writeProxyError(w http.ResponseWriter, r *http.Request, host string, err error) {
	if r.Context().Err() != nil { // the client is gone
		return
	}
	if urlErr := (*url.Error)(nil); errors.As(err, &urlErr) {
		err = urlErr.Err // without the address, which may hold a key
	}
	message := fmt.Sprintf("%s could not be reached: %v", host, err)
	body := map[string]any{"type": "error", "error": map[string]any{
		"type": "api_error", "code": http.StatusBadGateway, "status": "UNAVAILABLE", "message": message}}
	if strings.Contains(r.URL.Path, "/api/") { // Ollama's
		body = map[string]any{"error": message}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	json.NewEncoder(w).Encode(body)
}

// A proxyTransport follows the requests of programs that know nothing of the tap.
type proxyTransport struct {
	tap    *Tap
	base   http.RoundTripper
	silent []string // models whose answers are not told
}

// RoundTrip sends r with base, and follows the answer if it is one that a person reads. What is no
// request to a model, what a program asks for itself, and models of p.silent pass unread.
func (p *proxyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	d, ok := dialectOf(r)
	if !ok || p.tap.checkMade() != nil {
		return p.base.RoundTrip(r)
	}
	r, body, ok := bodyOf(r)
	if !ok {
		return p.base.RoundTrip(r)
	}
	next := p.send(withReadableCoding(r)) // the model thinks while its request is read here
	var in proxyRequest
	if !decodeLenient(body, &in) {
		in = proxyRequest{Prompt: "?"} // what cannot be read is the provider's to refuse
	}
	if in.isBackground() || slices.Contains(p.silent, in.modelOf(r.URL.Path)) {
		return next(r)
	}
	req := readRequest(r, d, body)
	req.from = programOf(r)
	_, req.before, req.said = splitConversation(in.entries(), isModelEntry)
	return p.tap.follow(r, d, req, next)
}

// send starts a goroutine that sends r with base, and returns a function that waits for the
// response, whatever request it is given. The caller must call it once, and close the response's
// body.
func (p *proxyTransport) send(r *http.Request) func(*http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	results := make(chan result, 1)
	go func() {
		resp, err := p.base.RoundTrip(r)
		results <- result{resp, err}
	}()
	return func(*http.Request) (*http.Response, error) {
		r := <-results
		return r.resp, r.err
	}
}

// A program is the sender of a request, as far as it shows.
type program struct {
	id   uint64 // tells programs apart while this process runs
	name string // empty where it gives none, or only that of a library
}

var (
	programSeed = maphash.MakeSeed()
	keyHeaders  = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}
)

// programOf identifies the program that sends a request: by a hash of its User-Agent and key, which
// only this process can compute, and by its name. The key itself is not kept.
func programOf(r *http.Request) program {
	var h maphash.Hash
	h.SetSeed(programSeed)
	agent := r.Header.Get("User-Agent")
	for _, part := range append([]string{agent, r.URL.Query().Get("key")}, keysOf(r.Header)...) {
		h.WriteString(part)
		h.WriteByte(0)
	}
	return program{h.Sum64() | 1, programName(agent)}
}

// keysOf returns the values of the headers that may hold a key, "" for those that are missing.
func keysOf(h http.Header) (keys []string) {
	for _, name := range keyHeaders {
		keys = append(keys, h.Get(name))
	}
	return keys
}

// libraries are the names in a User-Agent that tell which library a program uses, or which
// provider, and nothing of the program.
var libraries = []string{"mozilla", "node", "node-fetch", "undici", "axios", "got", "bun", "deno", "python",
	"python-requests", "python-httpx", "python-urllib", "aiohttp", "go-http-client", "java", "okhttp", "curl", "wget",
	"openai", "asyncopenai", "anthropic", "asyncanthropic", "google-genai-sdk", "ollama-python", "ollama-js"}

// programName returns the name at the beginning of a User-Agent, or "" where that is a library's,
// or too long to be one.
func programName(agent string) string {
	end := strings.IndexFunc(agent, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
	if end >= 0 {
		agent = agent[:end]
	}
	if len(agent) > 40 || slices.Contains(libraries, strings.ToLower(agent)) {
		return ""
	}
	return agent
}

// withReadableCoding returns the request with an Accept-Encoding of which the answer can be read
// here: gzip where the client accepts it, or else none. What the client refuses is not asked for.
func withReadableCoding(r *http.Request) *http.Request {
	const header = "Accept-Encoding"
	if len(r.Header.Values(header)) == 0 {
		return r
	}
	accepts := map[string]bool{}
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		name, params, _ := strings.Cut(strings.ToLower(strings.TrimSpace(coding)), ";")
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(params), "q="), 64)
		accepts[strings.TrimSpace(name)] = err != nil || q > 0
	}
	wanted := "gzip"
	acceptsGzip, namesGzip := accepts["gzip"]
	acceptsAny, namesAny := accepts["*"]
	acceptsIdentity, namesIdentity := accepts["identity"]
	switch {
	case !acceptsGzip && !acceptsAny:
		wanted = "identity"
		if namesIdentity && !acceptsIdentity || !namesIdentity && namesAny {
			return r // the client accepts only what cannot be read here
		}
	case namesGzip && !acceptsGzip:
		wanted = "identity"
	}
	narrowed := *r
	narrowed.Header = r.Header.Clone()
	narrowed.Header.Set(header, wanted)
	return &narrowed
}
