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
	was  fs.FileInfo
}

type originKey struct{}

// Attach returns a context for a call of Credentials: o learns which file the credentials are read
// from.
func (o *Origin) Attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// readFrom notes that the credentials are being read from a file.
func readFrom(ctx context.Context, path string) {
	o, _ := ctx.Value(originKey{}).(*Origin)
	if o == nil {
		return
	}
	was, _ := os.Stat(path) // before it is read: what is written meanwhile is a change
	o.mu.Lock()
	defer o.mu.Unlock()
	o.path, o.was = path, was
}

// File is its path; empty where the credentials came from elsewhere.
func (o *Origin) File() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.path
}

// Changed reports whether the file is no longer what was read.
func (o *Origin) Changed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, _ := os.Stat(o.path)
	return o.path != "" && !sameFiles([]fs.FileInfo{now}, []fs.FileInfo{o.was})
}

// FromFile reads a subscriber's own credentials, which no other user may open.
func FromFile(ctx context.Context, path string) ([]byte, error) {
	readFrom(ctx, path)
	return ReadPrivate(path)
}
