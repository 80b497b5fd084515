package serve_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// firstSentence is the event of it that a listener had last.
const firstSentence = "evt_d6bd542c19abb30062d2bbfea73d233b"

// firstLog unpacks testdata/first-log.tar.gz: the log of an agent that was killed in the middle of
// a text, as the first version that kept a log wrote it.
func firstLog(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Open("testdata/first-log.tar.gz")
	check(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	check(t, err)
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		check(t, err)
		data, err := io.ReadAll(files)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, h.Name), data, 0o600))
	}
}

// TestUpgrade: an agent goes on with a log that the first version wrote. A listener that had a part
// of it gets the rest, and what was open has ended; so it is, too, after a backup of it was
// restored. P8, TR-024
func TestUpgrade(t *testing.T) {
	dir := firstLog(t)
	restored := filepath.Join(t.TempDir(), "restored")
	backup := filepath.Join(t.TempDir(), "backup.db")
	check(t, sqlite.Backup(t.Context(), dir, backup))
	check(t, sqlite.Restore(t.Context(), backup, restored))
	for _, dir := range []string{dir, restored} {
		kept, err := sqlite.Open(dir, sqlite.Options{Limits: log.Limits{Age: -1}}) // it is from long ago
		check(t, err)
		agent := aaep.Agent{AgentID: "planner", AgentName: "Planner"}
		st := startFixture(t, producer.Config{Agent: agent, Languages: []string{"es"}, Log: kept})
		c := everything
		check(t, c.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: firstSentence}))
		sub, err := dial(st.addr, c)
		check(t, err)
		s := st.startSession("Going on.")
		check(t, s.Complete(aaep.Text{}))
		ends := 0
		evs := mustCollect(t, sub, func(ev *aaep.Event) bool {
			if ev.Type().Terminal() {
				ends++
			}
			return ends == 3
		})
		want := `"Another one." ""! writing_output>thinking session.completed ` +
			`session.started idle>thinking thinking>writing_output "It is not " ""! session.errored ` +
			"session.started idle>thinking session.completed"
		if got := summarize(evs); got != want || checkOnce(evs) != nil {
			t.Errorf("after the event that the first version sent came %s, want %s", got, want)
		}
		check(t, sub.Close())
		check(t, st.p.Shutdown(context.Background()))
		check(t, kept.Close())
	}
}
