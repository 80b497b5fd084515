package httpguard

import (
	"net/http"
	"net/url"
	"strings"
)

// MountPath returns the path that http.StripPrefix, or something like it, removed from a request's
// path, or "".
func MountPath(r *http.Request) string {
	asked, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	if under, ok := strings.CutSuffix(asked.Path, r.URL.Path); ok {
		return under
	}
	return ""
}
