package web_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber/web"
)

func get(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, r)
	return w.Result()
}

// TestHandler: every file has its type and the strict policy, and there is nothing else.
func TestHandler(t *testing.T) {
	types := map[string]string{"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
	paths := []string{"/"}
	entries, err := os.ReadDir("static")
	check(t, err)
	for _, e := range entries {
		paths = append(paths, "/"+e.Name())
	}
	for _, path := range append(paths, "/secret", "/../web.go", "/static/page.js") {
		resp := get(t, "GET", path)
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			!strings.Contains(policy, "base-uri 'none'") || strings.Contains(policy, "unsafe") || strings.ContainsAny(policy, "*:") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
		want, status := types[path[strings.LastIndexByte(path, '.')+1:]], http.StatusOK
		switch path {
		case "/":
			want = types["html"]
		case "/secret", "/../web.go", "/static/page.js":
			want, status = "text/plain; charset=utf-8", http.StatusNotFound
		}
		if resp.StatusCode != status || resp.Header.Get("Content-Type") != want {
			t.Errorf("%s: %s, %s; want %d, %s", path, resp.Status, resp.Header.Get("Content-Type"), status, want)
		}
	}
	if resp := get(t, "POST", "/"); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s", resp.Status)
	}
	etag := get(t, "GET", "/page.js").Header.Get("ETag")
	if resp := get(t, "GET", "/page.js", "If-None-Match", etag); etag == "" || resp.StatusCode != http.StatusNotModified {
		t.Errorf("with the ETag %s: %s", etag, resp.Status)
	}
}

// TestPage: a page knows where it speaks to, and only one that is relayed believes what is said of
// who the agent is.
func TestPage(t *testing.T) {
	for want, p := range map[string]web.Page{
		`<body data-endpoints="">`:                   {},
		`<body data-endpoints="/a&#34;&gt;b/v1">`:    {Endpoints: `/a">b/v1`},
		`<body data-relayed data-endpoints="../v1">`: {Endpoints: "../v1", Relayed: true},
	} {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%+v has no %s", p, want)
		}
	}
}

// TestFiles: nothing comes from elsewhere, nothing is script or style within the page, no text
// becomes markup, and no letter is a shortcut.
func TestFiles(t *testing.T) {
	forbidden := map[string]string{
		`//[a-z0-9-]+\.[a-z]`:           "names another place",
		`(?i)<(script|style)[^>]*>[^<]`: "script or style within the page",
		`(?i)\s(on[a-z]+|style)="`:      "a handler or style in an attribute",
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b|srcdoc`: "text could become markup or code",
		`accessKey|accesskey`: "a shortcut",
		`autofocus`:           "takes the focus",
	}
	known := regexp.MustCompile(`http://www\.w3\.org/2000/svg|https://github\.com/aaep-go/aaep/extensions/`) // names, never fetched
	root := os.DirFS("static")
	check(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		text := known.ReplaceAllString(string(data), "")
		for pattern, why := range forbidden {
			if found := regexp.MustCompile(pattern).FindString(text); found != "" {
				t.Errorf("%s: %q: %s", name, found, why)
			}
		}
		return err
	}))
}

// TestWords: every language that the terminal speaks says every line, with the same values in it,
// in the letters of its script and the marks at which a voice pauses.
func TestWords(t *testing.T) {
	line := regexp.MustCompile(`(?m)^  "?([\w.]+)"?: (.*),$`)
	value := regexp.MustCompile(`\{\w+\}`)
	read := func(tag string) map[string]string {
		data, err := os.ReadFile("static/words." + tag + ".js")
		check(t, err)
		lines := map[string]string{}
		for _, m := range line.FindAllStringSubmatch(string(data), -1) {
			lines[m[1]] = m[2]
		}
		return lines
	}
	used := regexp.MustCompile(`(?:words|say|\bw)\("([\w.]+)"|data-say="(\w+)"`)
	said := regexp.MustCompile(`"([^"]*)"`)
	latin := regexp.MustCompile(`\p{Latin}`)
	unspoken := regexp.MustCompile(`[^\p{L}\p{Mn} .,:;()'’،؛\x{a0}-]| -|- `) // a voice says it as a name or as nothing
	english := read("en")
	for _, name := range []string{"index.html", "page.js", "log.js", "questions.js"} {
		data, err := os.ReadFile("static/" + name)
		check(t, err)
		for _, m := range used.FindAllStringSubmatch(string(data), -1) {
			if key := m[1] + m[2]; english[key] == "" && !strings.HasSuffix(key, ".") {
				t.Errorf("%s says %q, which is no line", name, key)
			}
		}
	}
	for _, tag := range phrase.Languages() {
		lines := read(tag)
		for key, want := range english {
			got := lines[key]
			for _, m := range said.FindAllStringSubmatch(strings.ReplaceAll(got, `\u00a0`, "\u00a0"), -1) {
				if line := value.ReplaceAllString(m[1], ""); !norm.NFC.IsNormalString(line) {
					t.Errorf("%s: %q is not in normal form C: %+q", tag, key, line)
				} else if bad := unspoken.FindString(line); bad != "" || line != "" && (tag == "ar") == latin.MatchString(line) {
					t.Errorf("%s: %q has %+q, or another script: %s", tag, key, bad, line)
				}
			}
			if got == "" {
				t.Errorf("%s lacks %q", tag, key)
			}
			for _, v := range value.FindAllString(want, -1) {
				if !strings.Contains(got, v) {
					t.Errorf("%s: %q lacks %s", tag, key, v)
				}
			}
		}
		if len(lines) != len(english) {
			t.Errorf("%s has %d lines, English %d", tag, len(lines), len(english))
		}
	}
}
