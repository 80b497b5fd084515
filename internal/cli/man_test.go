package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// prints is what the command prints when all is well.
func prints(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != exits.OK || errs.Len() > 0 {
		t.Fatalf("%q: code %d, %s", args, code, &errs)
	}
	return out.String()
}

var (
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z0-9]+) +\S`)
	helpFlag    = regexp.MustCompile(`(?m)^  (?:-\w, |    )--([a-z-]+)`)
)

// Whatever a command's help names has its place in the manual page.
func TestMan(t *testing.T) {
	page := prints(t, "man")
	var look func(path ...string)
	sections := map[string]string{}
	for _, section := range strings.Split(page, "\n.SS ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		words := regexp.MustCompile(`^aaep((?: [a-z0-9]+)+)`).FindStringSubmatch(title)
		sections[strings.TrimSpace(words[1])] = text
	}
	look = func(path ...string) {
		name := strings.Join(path, " ")
		help := prints(t, append(path, "--help")...)
		text, ok := sections[name]
		if !ok && name != "" {
			t.Errorf("there is no section for aaep %s", name)
		}
		delete(sections, name)
		_, flags, _ := strings.Cut(help, "\nFlags:")
		for _, m := range helpFlag.FindAllStringSubmatch(flags, -1) {
			if flag := "\n.B \\-\\-" + strings.ReplaceAll(m[1], "-", `\-`); m[1] != "help" && name != "" && !strings.Contains(text, flag) {
				t.Errorf("aaep %s --%s is missing", name, m[1])
			}
		}
		if _, list, ok := strings.Cut(help, "Available Commands:"); ok {
			list, _, _ = strings.Cut(list, "Flags:")
			for _, m := range helpCommand.FindAllStringSubmatch(list, -1) {
				if m[1] != "help" {
					look(append(path, m[1])...)
				}
			}
		}
	}
	look()
	for name := range sections {
		t.Errorf("there is a section for aaep %s, and no such command", name)
	}
	for line := range strings.Lines(page) {
		if request, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(request, ".") &&
			!strings.Contains(" .TH .SH .SS .PP .TP .B .nf .fi ", " "+request+" ") {
			t.Errorf("text is taken for a request: %q", line)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".so /etc/passwd": `\&.so /etc/passwd`, "'\n": `\(aq` + "\n", `a\fB-b`: `a\efB\-b`, "plain": "plain",
	} {
		if got := escapeRoff(text); got != want {
			t.Errorf("roff(%q) = %q, want %q", text, got, want)
		}
	}
}
