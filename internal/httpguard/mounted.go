package httpguard

import (
	"net/http"
	"net/url"
	"strings"
)

// MountPath returns the path that http.StripPrefix, or something like it, removed from the
// beginning of a request's path; "" where nothing was removed.
func MountPath(r *http.Request) string {
	requested, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	if prefix, ok := strings.CutSuffix(requested.Path, r.URL.Path); ok {
		return prefix
	}
	return ""
}
