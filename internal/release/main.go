// Command release builds the aaep command for six platforms and packs each with its manual,
// completions and licences, so that everybody who builds the same source with the same Go gets the
// same bytes. Run it by make release.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// main writes the archives of a release into the folder of -out, with the version of -version or
// what git says.
func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "the version to write into the programs, such as v0.1.0; default what git says")
	out := flag.String("out", "dist", "the folder for the archives; those of another version in it are removed")
	flag.Parse()
	r, err := newRelease(".", *version)
	if err == nil {
		err = r.writeArchives(*out)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// release is one state of the source under one name.
type release struct {
	source  string // the folder of the repository
	version string
	at      time.Time // of all files
}

var goodVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]*$`)

// newRelease takes the version and the time from git where they are not given: the time is
// SOURCE_DATE_EPOCH, or that of the commit. A version of another form is an error.
func newRelease(source, version string) (*release, error) {
	r := &release{source: source, version: version}
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", source}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	var err error
	if r.version == "" {
		if r.version, err = git("describe", "--tags", "--always", "--dirty"); err != nil {
			return nil, errors.New("git does not say which version this is: give -version")
		}
	}
	if !goodVersion.MatchString(r.version) {
		return nil, fmt.Errorf("the version is %q; give one such as v0.1.0", r.version)
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = git("log", "-1", "--format=%ct"); err != nil {
			return nil, errors.New("git does not say when this was committed: set SOURCE_DATE_EPOCH to the seconds since 1970")
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH must be the seconds since 1970; it is %q", epoch)
	}
	r.at = time.Unix(seconds, 0).UTC()
	return r, nil
}

// writeArchives writes the archives of all platforms, and their sums, into the folder out, from
// which it removes those of another version.
func (r *release) writeArchives(out string) error {
	if err := prepareFolder(out); err != nil {
		return err
	}
	documents, err := r.commonFiles()
	if err != nil {
		return err
	}
	sumOf := map[string]string{}
	for _, platform := range platforms {
		name, data, err := r.buildArchive(platform, documents)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
		sumOf[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		fmt.Printf("%s  %s\n", sumOf[name], name)
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sumOf)) {
		fmt.Fprintf(&list, "%s  %s\n", sumOf[name], name)
	}
	fmt.Printf("%d archives of %s in %s, built with %s\n", len(sumOf), r.version, out, runtime.Version())
	return os.WriteFile(filepath.Join(out, sums), []byte(list.String()), 0o644)
}

// prepareFolder makes the folder out, or takes out of it what a release has put there before. A
// folder that holds anything else is refused, and stays as it is.
func prepareFolder(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	old, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, f := range old {
		if f.Name() != sums && !archiveName.MatchString(f.Name()) {
			return fmt.Errorf("%s holds %s, which no release has put there: name another folder", out, f.Name())
		}
	}
	for _, f := range old {
		if err := os.Remove(filepath.Join(out, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// What is in a folder of a release.
const sums = "SHA256SUMS"

var archiveName = regexp.MustCompile(`^aaep_.*\.(tar\.gz|zip)$`)

// commonFiles returns what goes with the command on every platform. The manual and the completions
// are the command's own output.
func (r *release) commonFiles() (files []file, err error) {
	for _, name := range []string{"LICENSE", "NOTICE", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, data})
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	command := filepath.Join(temp, "aaep.exe") // which is a name anywhere
	if err := r.buildCommand(runtime.GOOS, runtime.GOARCH, command); err != nil {
		return nil, err
	}
	for name, args := range map[string][]string{
		"aaep.1": {"man"}, "completions/aaep.bash": {"completion", "bash"}, "completions/_aaep": {"completion", "zsh"},
		"completions/aaep.fish": {"completion", "fish"}, "completions/aaep.ps1": {"completion", "powershell"},
	} {
		text, err := exec.Command(command, args...).Output()
		if err != nil {
			return nil, fmt.Errorf("aaep %s: %w", strings.Join(args, " "), err)
		}
		files = append(files, file{name, 0o644, text})
	}
	return files, nil
}

// buildArchive builds the command for a platform, such as linux/amd64, and packs it with documents
// and the licences of what is in it, as a zip for Windows and else a tar.gz. name is that of the
// archive, with the version.
func (r *release) buildArchive(platform string, documents []file) (name string, data []byte, err error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(temp)
	program := "aaep"
	if goos == "windows" {
		program = "aaep.exe"
	}
	if err := r.buildCommand(goos, goarch, filepath.Join(temp, program)); err != nil {
		return "", nil, err
	}
	binary, err := os.ReadFile(filepath.Join(temp, program))
	if err != nil {
		return "", nil, err
	}
	licences, err := r.collectLicences(goos, goarch)
	if err != nil {
		return "", nil, err
	}
	files := append([]file{{program, 0o755, binary}, {"THIRD-PARTY-LICENSES", 0o644, licences}}, documents...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	name = fmt.Sprintf("aaep_%s_%s_%s", strings.TrimPrefix(r.version, "v"), goos, goarch)
	if goos == "windows" {
		data, err = packZip(files, r.at)
		return name + ".zip", data, err
	}
	data, err = packTar(files, r.at)
	return name + ".tar.gz", data, err
}

// goCommand returns a go command that runs in the source, and lets nothing of the caller's
// environment into the result.
func (r *release) goCommand(goos, goarch string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = r.source
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	return cmd
}

// buildCommand builds the aaep command into a file, without what differs from folder to folder:
// paths, and what git says of the folder.
func (r *release) buildCommand(goos, goarch, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	return r.goCommand(goos, goarch, "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X github.com/aaep-go/aaep/internal/cli/buildinfo.release="+r.version,
		"-o", to, "./cmd/aaep").Run()
}
