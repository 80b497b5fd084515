package announce

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A contentCase is one of testdata/content.txt.
type contentCase struct {
	name, source, set, text, heard string
	do                             []string
}

// readContentCases reads the cases.
func readContentCases(t *testing.T) (all []contentCase) {
	t.Helper()
	file, err := os.Open("testdata/content.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var c *contentCase
	part := ""
	for in := bufio.NewScanner(file); in.Scan(); {
		line := in.Text()
		switch name, is := strings.CutPrefix(line, "== "); {
		case is:
			all = append(all, contentCase{name: name})
			c, part = &all[len(all)-1], "head"
		case c == nil:
		case line == "-- text" || line == "-- heard":
			part = line[3:]
		case part == "text":
			c.text += strings.TrimPrefix(line, "\\") + "\n"
		case part == "heard" && line != "":
			c.heard += line + "\n"
		case part == "head":
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "source":
				c.source = value
			case "set":
				c.set = value
			case "do":
				c.do = append(c.do, value)
			default:
				t.Fatalf("%s: %q", c.name, line)
			}
		}
	}
	return all
}

// What is heard of an answer, and of each walk in it, is what the list of cases says, in whatever
// pieces the answer comes.
func TestContent(t *testing.T) {
	cases := readContentCases(t)
	if len(cases) < 30 {
		t.Fatalf("there are only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.source == "" {
				t.Error("it has no source")
			}
			content := Content{}
			if c.set != "" {
				var err error
				if content, err = ParseContent(c.set, content); err != nil {
					t.Fatal(err)
				}
			}
			for _, size := range []int{1, 7, len(c.text)} {
				r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Content: content})
				r.addEvent(&aaep.SessionStarted{}, "The turn begins.")
				r.passTime(time.Minute)
				r.heard = nil
				for rest := c.text; rest != ""; {
					chunk := rest[:min(size, len(rest))]
					rest = rest[len(chunk):]
					r.addEvent(&aaep.OutputStreaming{Chunk: chunk, OutputID: "o", CoalesceHint: aaep.BoundaryNone,
						Complete: rest == ""}, "")
				}
				r.passTime(time.Hour)
				for _, command := range c.do {
					r.heard = nil
					doCommand(t, r, command)
					r.passTime(10 * time.Minute)
				}
				var heard strings.Builder
				for _, line := range r.heard {
					_, said, _ := strings.Cut(line, " ")
					heard.WriteString(said + "\n")
				}
				if heard.String() != c.heard {
					t.Errorf("%d bytes at a time: heard\n%swant\n%s", size, heard.String(), c.heard)
				}
			}
		})
	}
}

// doCommand has the person walk, look for a text or ask for details.
func doCommand(t *testing.T, r *room, command string) {
	t.Helper()
	name, word, _ := strings.Cut(command, " ")
	switch name {
	case "details":
		r.a.Details(r.now)
	case "to", "back":
		r.a.Walk(r.now, Place(word), name == "back")
	case "find":
		r.a.Find(r.now, word, false)
	default:
		t.Fatalf("there is no command %q", command)
	}
}
