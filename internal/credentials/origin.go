package credentials

import (
	"context"
	"io/fs"
	"os"
	"sync"
)

// Origin is the file that the credentials of a subscriber were read from last, as it was then. Its
// methods may be called at once.
type Origin struct {
	mu   sync.Mutex
	path string
	info fs.FileInfo // of the file when it was read; nil if it did not exist
}

// originKey is the key of an *Origin in a context.
type originKey struct{}

// Attach returns a context for a call of Credentials: o learns which file the credentials are read
// from.
func (o *Origin) Attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// readFrom tells the Origin of ctx, if there is one, that the credentials are about to be read from
// the file at path.
func readFrom(ctx context.Context, path string) {
	o, _ := ctx.Value(originKey{}).(*Origin)
	if o == nil {
		return
	}
	info, _ := os.Stat(path) // before it is read: what is written meanwhile is a change
	o.mu.Lock()
	defer o.mu.Unlock()
	o.path, o.info = path, info
}

// File returns its path; empty where the credentials came from elsewhere.
func (o *Origin) File() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.path
}

// Changed reports whether the file is no longer what was read.
func (o *Origin) Changed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	current, _ := os.Stat(o.path)
	return o.path != "" && !sameFiles([]fs.FileInfo{current}, []fs.FileInfo{o.info})
}

// FromFile reads a subscriber's own credentials, which no other user may open.
func FromFile(ctx context.Context, path string) ([]byte, error) {
	readFrom(ctx, path)
	return ReadPrivate(path)
}
