package httpguard

import (
	"net/http"
	"net/url"
	"strings"
)

// MountPath is the path that http.StripPrefix, or something like it, took away from a request's before
// it came here, or "".
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
