package lineio

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// In systemd's journal each line has the priority that it is searched by; elsewhere there is none.
func TestPriorities(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(prioritized{&out, anyLevel}, nil))
	log.Error("bad", "cause", "level=INFO")
	log.Warn("odd")
	log.Info("level=ERROR is no level")
	for _, level := range []slog.Level{slog.LevelError, slog.LevelWarn} {
		if n, err := (prioritized{&out, level}).Write([]byte("aaep: one\ntwo\n")); n != 14 || err != nil {
			t.Error(n, err)
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, line[:3])
	}
	if want := "<3> <4> <6> <3> <3> <4> <4>"; strings.Join(got, " ") != want {
		t.Errorf("the priorities are %q, want %s:\n%s", got, want, &out)
	}
	t.Setenv("JOURNAL_STREAM", "8:1")
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, talk := range []io.Writer{&out, file} {
		if WithPriority(talk, anyLevel) != talk {
			t.Errorf("%T is taken for a journal", talk)
		}
	}
}

// A person at a terminal is told in sentences what a service's log has in fields.
func TestLogAsWords(t *testing.T) {
	var told []string
	log := LogAsWords(slog.LevelWarn, func(text string) { told = append(told, text) })
	log.Info("nothing of this")
	log.Warn("acp: the agent reads nothing, and its link is ended", "after", "5s")
	log.With("session_id", "sess_1", "cause", "none").Error("the log is not kept whole", "error", "sqlite: no room\nleft")
	want := "The agent reads nothing, and its link is ended.|The log is not kept whole: sqlite: no room left."
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
