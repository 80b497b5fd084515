package listen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/sound"
)

// A person's settings for listen are lines of a file, each the name of a flag and its value. What
// is on the command line goes over them.

// settableFlags returns the flags that are a person's preferences, and not about one agent or one
// use.
func settableFlags() []string {
	names := []string{"output", "quiet-until-done", "content", "sounds", "volume", "as", "cells", "profile"}
	for _, w := range terms.Wishes {
		names = append(names, w.Name)
	}
	return append(names, "include", "exclude")
}

const maxSettings = 64 << 10

// settingsFile returns where a person's settings are, or "" where the system does not say.
func settingsFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "aaep", "listen.conf")
}

// applySettings sets those flags that the command line leaves out. Without a name the person's own
// file is read, if there is one. An error says which line is wrong, and what would be right.
func applySettings(cmd *cobra.Command, name string) error {
	flags := cmd.Flags()
	isNamed := name != ""
	if !isNamed {
		if name = settingsFile(); name == "" {
			return nil
		}
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !isNamed {
		return nil
	}
	var data []byte
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, maxSettings+1))
	}
	if err == nil && len(data) > maxSettings {
		err = fmt.Errorf("%s is too long", name)
	}
	if err != nil {
		return exits.UsageError("cannot read the settings: %s", exits.PlainError(err))
	}
	settings, err := parseSettings(data)
	if err != nil {
		return exits.UsageError("%s, %s", name, err)
	}
	for _, s := range settings {
		if flags.Changed(s.name) || s.name == "cells" && flags.Lookup("as").Value.String() != "braille" {
			continue
		}
		if s.name == "profile" && !filepath.IsAbs(s.value) {
			s.value = filepath.Join(filepath.Dir(name), s.value)
		}
		if err := flags.Set(s.name, s.value); err != nil {
			return exits.UsageError("%s, line %d: %s", name, s.line, err)
		}
	}
	return nil
}

// silencesStates reports whether patterns stand for all changes of state. What the agent turns to
// is never silenced for good (§4.2.1).
func silencesStates(patterns string) bool {
	return slices.ContainsFunc(strings.Split(patterns, ","), func(p string) bool {
		begin, open := strings.CutSuffix(p, "*")
		return p == string(aaep.TypeStateChanged) || open && strings.HasPrefix(string(aaep.TypeStateChanged), begin)
	})
}

// outputsToSet are the outputs that a file of settings may name: the page has settings of its own.
func outputsToSet() []string {
	return slices.DeleteFunc(OutputNames(), func(name string) bool { return name == onPage })
}

// settingMustBe returns, in words for an error, what the value of a setting must be.
func settingMustBe(name string) string {
	switch name {
	case "output":
		return "of " + strings.Join(outputsToSet(), ", ") + ", joined by commas"
	case "volume":
		return "a whole number from 1 to 100"
	case "sounds":
		return "of " + strings.Join(sound.Meanings(), ", ") + ", joined by commas"
	case "quiet-until-done":
		return "true or false"
	case "content":
		return "a list such as code=read,tables=columns"
	}
	return terms.MustBe(name)
}

// validSetting reports whether a setting may have a value, which may be a list. applySettings
// refuses any other.
func validSetting(name, value string) bool {
	areAll := func(known []string) bool {
		return !slices.ContainsFunc(strings.Split(value, ","),
			func(s string) bool { return !slices.Contains(known, s) })
	}
	switch name {
	case "output":
		return areAll(outputsToSet())
	case "volume":
		return terms.SetWhole(new(int64), value, 1, 100)
	case "sounds":
		return areAll(sound.Meanings())
	case "quiet-until-done":
		return value == "true" || value == "false"
	case "content":
		_, err := announce.ParseContent(value, announce.Content{})
		return err == nil
	}
	return terms.ValidValue(name, value)
}

type setting struct {
	name, value string
	line        int
}

// parseSettings reads a file of settings: a name, a space and a value on each line. The error has
// the line, what is wrong and what would be right. The device comes first in the result, for others
// depend on it.
func parseSettings(data []byte) (settings []setting, err error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, maxSettings+1)
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, value, _ := strings.Cut(text, " ")
		s := setting{strings.ToLower(name), strings.TrimSpace(value), n}
		switch {
		case !utf8.ValidString(text) || aaep.SafeText(text) != text || strings.Contains(text, "\t"):
			return nil, fmt.Errorf("line %d is not plain text", n)
		case !slices.Contains(settableFlags(), s.name):
			return nil, fmt.Errorf("line %d: %.40q is no setting; there are %s", n, name,
				strings.Join(settableFlags(), ", "))
		case slices.ContainsFunc(settings, func(o setting) bool { return o.name == s.name }):
			return nil, fmt.Errorf("line %d: %s is set twice", n, s.name)
		case s.value == "":
			return nil, fmt.Errorf("line %d: %s must be followed by %s", n, s.name,
				strings.TrimPrefix(settingMustBe(s.name), "of "))
		case !validSetting(s.name, s.value):
			return nil, fmt.Errorf("line %d: %s must be %s; it is %q", n, s.name, settingMustBe(s.name), s.value)
		}
		if s.name == "include" || s.name == "exclude" {
			if fault := terms.DescribeUnmatched(s.value); fault != "" {
				return nil, fmt.Errorf("line %d: %s: %s", n, s.name, fault)
			}
		}
		if s.name == "exclude" && silencesStates(s.value) || s.name == "include" && !silencesStates(s.value) {
			return nil, fmt.Errorf("line %d: %s would leave out all that the agent turns to, for good; say so when you listen, with --%s", n, s.name, s.name)
		}
		settings = append(settings, s)
	}
	slices.SortStableFunc(settings, func(a, b setting) int {
		return slices.Index(settableFlags(), a.name) - slices.Index(settableFlags(), b.name)
	})
	return settings, in.Err()
}
