// Package trust is the commands by which people check each other: manifest (make, sign, verify and
// show what says who an agent is, and accept a new key) and audit (verify and show what is on
// record). Nothing is followed or served.
//
// Making and signing are in manifest.go, verifying and showing in manifest_show.go, and accepting a
// key in accept.go. Verifying a record is in audit.go, and the words that show it in audit_show.go.
package trust

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/input"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/schemas"
)

// ManifestCommand makes "aaep manifest", with a command for each thing to do with one.
func ManifestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "Say who an agent is, sign that, and find out who signed it",
		Long: `A manifest is what an agent says of itself before anybody follows it. Signed, it proves who says so to those who have
the agent's public keys.

Begin with:
  aaep manifest init planner
  aaep manifest sign planner.json > planner.jws`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exits.UsageError("say what to do with a manifest: init, keygen, sign, verify, show or accept.\nSee: aaep manifest --help")
		},
	}
	cmd.AddCommand(manifestInit(), manifestKeygen(), manifestSign(), manifestVerify(), manifestShow(), manifestAccept())
	return cmd
}

// The files of a manifest stand beside each other and are called after the name that was given:
// PLANNER.json, its private key PLANNER.key, its public PLANNER.keys.json.
const (
	manifestSuffix = ".json"
	privateSuffix  = ".key"
	publicSuffix   = ".keys.json"
)

// fileStem returns the name that the files of a manifest and its keys have in common, given that of
// one of them; any other name, and a suffix alone, comes back as it is.
func fileStem(name string) string {
	for _, suffix := range []string{publicSuffix, privateSuffix, manifestSuffix} {
		if before, ok := strings.CutSuffix(name, suffix); ok && filepath.Base(name) != suffix {
			return before
		}
	}
	return name
}

// manifestInit makes "aaep manifest init", which writes a first manifest and, if there is none, a
// key.
func manifestInit() *cobra.Command {
	var flags initFlags
	cmd := &cobra.Command{
		Use:   "init AGENT_ID",
		Short: "Write a first manifest, and the key to sign it with",
		Long: `init writes a manifest to begin with, AGENT_ID.json, to be edited. If there is no AGENT_ID.key yet, it also makes a
key pair, as "aaep manifest keygen AGENT_ID" does. No file that is there is changed. With --out the files have another
name.`,
		Example: `  aaep manifest init planner
  aaep manifest init invoice-helper --name "Invoice helper" --out invoices`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.writeFiles(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "", "the `NAME` of the files, without .json (default AGENT_ID)")
	f.StringVar(&flags.name, "name", "", "what people call the agent")
	f.StringVar(&flags.language, "language", "en", "the language it speaks, such as en or pt-BR")
	return cmd
}

// initFlags are the flags of "aaep manifest init".
type initFlags struct{ out, name, language string }

// writeFiles does the work of "aaep manifest init": it writes the manifest, and the key if there is
// none yet, and says what to do next.
func (flags *initFlags) writeFiles(cmd *cobra.Command, agentID string) error {
	if err := exits.CheckLanguage(flags.language, "manifest init"); err != nil {
		return err
	}
	stem, err := flags.chooseStem(agentID)
	if err != nil {
		return err
	}
	data, err := manifest.Encode(&manifest.Manifest{
		AgentID: agentID, AgentName: flags.name, AgentVersion: "0.1.0", AAEPVersionsSupported: []string{aaep.Version},
		ConformanceLevelsSupported: []int64{1, 2},
		TransportsSupported:        []string{manifest.SSE, manifest.WebSocket},
		LanguagesSupported:         []string{flags.language}, EventTypesEmitted: []string{"aaep:agent.*"},
		DefaultVerbosity: aaep.VerbosityNormal, MaxConcurrentSubscriptions: 16,
	})
	if err != nil {
		return exits.UsageError("no manifest can say that: %s.\nSee: aaep manifest init --help", exits.PlainError(err))
	}
	if err := createFile(stem+manifestSuffix, append(data, '\n'), 0o644); err != nil {
		return err
	}
	status := lineio.Printer{Out: cmd.ErrOrStderr()}
	status.PrintLabelled("aaep", "Wrote "+stem+manifestSuffix+", the manifest. Edit it to say what the agent does.")
	if _, err := os.Stat(stem + privateSuffix); errors.Is(err, fs.ErrNotExist) {
		if err := generateKey(&status, stem, manifest.ES256); err != nil {
			return err
		}
	}
	status.PrintLabelled("aaep", "Next: aaep manifest sign "+stem+manifestSuffix+" > "+stem+".jws")
	return nil
}

// chooseStem returns the name of the files without their suffixes: that of --out, or else the id of
// the agent. An id that looks like the name of a file, or that cannot be one, is a usage error; an
// empty one comes back, since no manifest can say it.
func (flags *initFlags) chooseStem(agentID string) (string, error) {
	if out := fileStem(flags.out); out != "" || agentID == "" {
		return out, nil
	}
	if id := fileStem(agentID); id != agentID {
		return "", exits.UsageError("an agent is called %s rather than after a file: aaep manifest init %s\nTo call it %s all the same, name the files with --out.", id, id, agentID)
	}
	isFileName := filepath.Base(agentID) == agentID && !strings.ContainsAny(agentID, `\/:*?"<>|`) &&
		!strings.HasPrefix(agentID, ".")
	if !isFileName {
		return "", exits.UsageError("%q is no name for files; give them one with --out.\nSee: aaep manifest init --help", agentID)
	}
	return agentID, nil
}

// manifestKeygen makes "aaep manifest keygen"; generateKey does its work.
func manifestKeygen() *cobra.Command {
	var alg string
	cmd := &cobra.Command{
		Use:   "keygen NAME",
		Short: "Make a key pair to sign manifests with",
		Long: `keygen writes a private key, NAME.key, that nobody but you may open, and its public half, NAME.keys.json, a JWK Set to
give to those who verify. No file that is there is changed.`,
		Example: `  aaep manifest keygen planner
  aaep manifest keygen planner-2027 --alg RS256`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exits.UsageError("name the files, for example: aaep manifest keygen planner")
			}
			return generateKey(&lineio.Printer{Out: cmd.ErrOrStderr()}, fileStem(args[0]), alg)
		},
	}
	cmd.Flags().StringVar(&alg, "alg", manifest.ES256,
		"the `ALGORITHM`: ES256, RS256, or EdDSA, which not everybody takes")
	return cmd
}

// generateKey makes a pair of keys for an algorithm, and writes each half to a file of that name. A
// file that is there is an error, and nothing is left behind then.
func generateKey(status *lineio.Printer, name, alg string) error {
	var private crypto.Signer
	var err error
	switch alg {
	case manifest.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case manifest.RS256:
		private, err = rsa.GenerateKey(rand.Reader, 3072)
	case manifest.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		return exits.UsageError("--alg must be ES256, RS256 or EdDSA; it is %q.\nSee: aaep manifest keygen --help", alg)
	}
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	signer, err := manifest.NewSigner(private, manifest.SignerOptions{})
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	public, err := manifest.PublicKeys(signer)
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	if err := createFile(name+privateSuffix, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		0o600); err != nil {
		return err
	}
	if err := createFile(name+publicSuffix, append(public, '\n'), 0o644); err != nil {
		os.Remove(name + privateSuffix) // which was not used yet
		return err
	}
	status.PrintLabelled("aaep", "Wrote "+name+privateSuffix+", the private key. Keep it secret.")
	status.PrintLabelled("aaep", "Wrote "+name+publicSuffix+", the public key "+signer.KeyID()+
		". Give it to those who verify.")
	return nil
}

// createFile writes a file that must not be there yet. The error has the exit code, and says what
// to do where it is; nothing is left behind after an error.
func createFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return exits.With(exits.Failed, fmt.Errorf("%s is there already.\nMove it away, or take another name", path))
	}
	if err == nil {
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	return nil
}

// manifestSign makes "aaep manifest sign", which checks a manifest and prints it signed.
func manifestSign() *cobra.Command {
	var flags signFlags
	cmd := &cobra.Command{
		Use:   "sign FILE",
		Short: "Sign a manifest",
		Long: `sign checks a manifest and prints it signed: one compact JWS, on one line. Serve it in place of the manifest, or give it to
the agent. It says until when it is good; sign anew before that.

Exit codes: 0 signed, 1 not signed, 2 wrong use, 3 the manifest could not be read.`,
		Example: `  aaep manifest sign planner.json > planner.jws
  aaep manifest sign planner.json --key /etc/aaep/planner.key --days 30`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.signFile(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.keyFile, "key", "", "the private key, a PEM or JWK `FILE` (default that of the manifest's name, with .key)")
	f.StringVar(&flags.keyID, "kid", "", "the key's `ID`, where those who verify know it by another than its thumbprint")
	f.IntVar(&flags.days, "days", 365, "how many days it is good; 0 for ever")
	return cmd
}

// signFlags are the flags of "aaep manifest sign".
type signFlags struct {
	keyFile, keyID string
	days           int // zero is for ever
}

// signFile does the work of "aaep manifest sign": it prints the manifest of the named file signed,
// and says with which key and for how long.
func (flags *signFlags) signFile(cmd *cobra.Command, name string) error {
	stem, hasSuffix := strings.CutSuffix(name, manifestSuffix)
	switch {
	case flags.days < 0 || flags.days > 36500:
		return exits.UsageError("--days must be from 1 to 36500, or 0 for ever; it is %d.\nSee: aaep manifest sign --help", flags.days)
	case flags.keyFile == "" && !hasSuffix:
		return exits.UsageError("name the private key with --key.\nSee: aaep manifest sign --help")
	case flags.keyFile == "":
		flags.keyFile = stem + privateSuffix
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	m, err := readSignable(ctx, name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	signer, err := flags.readSigner()
	if err != nil {
		return err
	}
	now := time.Now()
	signed, err := signer.Sign(m, now)
	if err != nil {
		return exits.With(exits.Failed, fmt.Errorf("cannot sign: %s", exits.PlainError(err)))
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), signed); err != nil {
		return exits.With(exits.Failed, err)
	}
	expiry := "for ever"
	if flags.days > 0 {
		expiry = "until " + formatDay(now.AddDate(0, 0, flags.days))
	}
	status := lineio.Printer{Out: cmd.ErrOrStderr()}
	status.PrintLabelled("aaep", "Signed the manifest of "+embedText(m.AgentID)+" with "+signer.Algorithm()+
		" and the key "+signer.KeyID()+". It is good "+expiry+".")
	return nil
}

// readSignable reads a manifest to be signed, and refuses one that is not valid.
func readSignable(ctx context.Context, name string, stdin io.Reader) (*manifest.Manifest, error) {
	data, err := readManifest(ctx, name, "", stdin)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(data)
	if err == nil {
		err = schemas.Validate(data)
	}
	if err != nil {
		return nil, exits.With(exits.Failed, fmt.Errorf("%s is no manifest that could be signed: %s.\nSee: aaep validate %s",
			name, exits.PlainError(err), name))
	}
	return m, nil
}

// readSigner reads the key to sign with, in the file of --key. The error is a usage error that says
// how to make one.
func (flags *signFlags) readSigner() (*manifest.Signer, error) {
	lifetime := time.Duration(flags.days) * 24 * time.Hour
	signer, err := manifest.ReadSigner(flags.keyFile, manifest.SignerOptions{KeyID: flags.keyID, Lifetime: lifetime})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, exits.UsageError("there is no key %s.\nName one with --key, or make one: aaep manifest keygen NAME",
			flags.keyFile)
	case err != nil:
		return nil, exits.UsageError("cannot sign with %s: %s", flags.keyFile, exits.PlainError(err))
	}
	return signer, nil
}

// formatDay returns a date for people.
func formatDay(t time.Time) string { return t.UTC().Format("2 January 2006") }

// manifestAddress returns where an agent publishes its manifest, if name is an agent's address: one
// with http, https, ws or wss, or HOST:PORT where no file has that name. ok is false for a file's
// name.
func manifestAddress(name string) (address string, ok bool) {
	if strings.HasPrefix(name, "ws://") || strings.HasPrefix(name, "wss://") {
		name = "http" + strings.TrimPrefix(name, "ws")
	}
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return name, true
	}
	host, _, err := net.SplitHostPort(name)
	if _, missing := os.Stat(name); missing == nil || err != nil || host == "" {
		return "", false
	}
	return "http://" + name, true
}

// readManifest reads a manifest from a file, standard input as "-", or what the agent at an address
// publishes. ca is a file of CAs beside the system's, or "". The error has the exit code.
func readManifest(ctx context.Context, name, ca string, stdin io.Reader) ([]byte, error) {
	var data []byte
	var err error
	if address, ok := manifestAddress(name); ok {
		conf, failed := (&reach.Flags{Ca: ca}).TLSConfig()
		if failed != nil {
			return nil, failed
		}
		data, err = manifest.Discover(ctx, address, conf)
		var unproven *tls.CertificateVerificationError
		if errors.As(err, &unproven) || err != nil && reach.SpeaksTLS(ctx, address) {
			return nil, reach.DialError(ctx, address, err)
		}
	} else {
		var in io.ReadCloser
		if in, _, err = input.Open(ctx, name, nil, stdin); err == nil {
			defer in.Close()
			data, err = io.ReadAll(io.LimitReader(in, manifest.MaxSize+1))
		}
	}
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return nil, exits.With(exits.Unreachable, fmt.Errorf("%s: %w", name, file.Err))
	case ctx.Err() != nil:
		return nil, exits.With(exits.Interrupted, errors.New("interrupted"))
	case errors.Is(err, manifest.ErrNone):
		return nil, exits.With(exits.Failed, fmt.Errorf("the agent at %s publishes no manifest", name))
	case err != nil:
		return nil, exits.With(exits.Unreachable, fmt.Errorf("%s: %s", name, exits.PlainError(err)))
	}
	return bytes.TrimSpace(data), nil
}
