package a2a

import (
	"cmp"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
)

const maxPush = 256 << 10

// ServeHTTP takes push notifications of the tasks that are followed. A notification needs the token
// of its task. Its content is not announced: the agent is asked for the task itself, so that a
// forged, late or repeated notification changes nothing.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token := cmp.Or(r.Header.Get("X-A2A-Notification-Token"), r.Header.Get("A2A-Notification-Token"), bearer)
	a.mu.Lock()
	t := a.pushes[sha256.Sum256([]byte(token))]
	a.mu.Unlock()
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "push notifications are posted", http.StatusMethodNotAllowed)
		return
	case t == nil:
		http.Error(w, "no task that is followed has this token", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
	if err != nil {
		http.Error(w, "the notification is too long or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	u, err := readUpdate(body)
	if err != nil {
		http.Error(w, "the notification cannot be read", http.StatusBadRequest)
		return
	}
	if id := u.taskID(); id != "" && t.ID() != "" && id != t.ID() {
		http.Error(w, "the token is of another task", http.StatusConflict)
		return
	}
	t.hintNews()
	w.WriteHeader(http.StatusAccepted)
}

// taskID returns the task that an update is of, or "", as for a message that belongs to none.
func (u update) taskID() string {
	switch {
	case u.Task != nil:
		return u.Task.ID
	case u.Status != nil:
		return u.Status.TaskID
	case u.Artifact != nil:
		return u.Artifact.TaskID
	case u.Message != nil:
		return u.Message.TaskID
	}
	return ""
}
