// Package trust is the commands by which people check each other: manifest (make, sign, verify and
// show what says who an agent is, and accept a new key) and audit (verify and show what is on
// record). Nothing is followed or served.
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

// fileStem returns what the files are called after, where one of them was named.
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
	var out, name, language string
	cmd := &cobra.Command{
		Use:   "init AGENT_ID",
		Short: "Write a first manifest, and the key to sign it with",
		Long: `init writes a manifest to begin with, AGENT_ID.json, to be edited. If there is no AGENT_ID.key yet, it also makes a
key pair, as "aaep manifest keygen AGENT_ID" does. No file that is there is changed. With --out the files have another
name.`,
		Example: `  aaep manifest init planner
  aaep manifest init invoice-helper --name "Invoice helper" --out invoices`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !aaep.ValidLanguageTag(language) {
				return exits.UsageError("--language must be a language tag such as en-US; it is %q.\nSee: aaep manifest init --help", language)
			}
			if out = fileStem(out); out == "" && args[0] != "" {
				if id := fileStem(args[0]); id != args[0] {
					return exits.UsageError("an agent is called %s rather than after a file: aaep manifest init %s\nTo call it %s all the same, name the files with --out.", id, id, args[0])
				}
				if out = args[0]; filepath.Base(out) != out || strings.ContainsAny(out, `\/:*?"<>|`) ||
					strings.HasPrefix(out, ".") {
					return exits.UsageError("%q is no name for files; give them one with --out.\nSee: aaep manifest init --help", out)
				}
			}
			data, err := manifest.Encode(&manifest.Manifest{
				AgentID: args[0], AgentName: name, AgentVersion: "0.1.0", AAEPVersionsSupported: []string{aaep.Version},
				ConformanceLevelsSupported: []int64{1, 2},
				TransportsSupported:        []string{manifest.SSE, manifest.WebSocket},
				LanguagesSupported:         []string{language}, EventTypesEmitted: []string{"aaep:agent.*"},
				DefaultVerbosity: aaep.VerbosityNormal, MaxConcurrentSubscriptions: 16,
			})
			if err != nil {
				return exits.UsageError("no manifest can say that: %s.\nSee: aaep manifest init --help",
					exits.PlainError(err))
			}
			if err := createFile(out+manifestSuffix, append(data, '\n'), 0o644); err != nil {
				return err
			}
			status := lineio.Printer{Out: cmd.ErrOrStderr()}
			status.PrintLabelled("aaep", "Wrote "+out+manifestSuffix+
				", the manifest. Edit it to say what the agent does.")
			if _, err := os.Stat(out + privateSuffix); errors.Is(err, fs.ErrNotExist) {
				if err := generateKey(&status, out, manifest.ES256); err != nil {
					return err
				}
			}
			status.PrintLabelled("aaep", "Next: aaep manifest sign "+out+manifestSuffix+" > "+out+".jws")
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "the `NAME` of the files, without .json (default AGENT_ID)")
	f.StringVar(&name, "name", "", "what people call the agent")
	f.StringVar(&language, "language", "en", "the language it speaks, such as en or pt-BR")
	return cmd
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
	var keyFile, keyID string
	var days int
	cmd := &cobra.Command{
		Use:   "sign FILE",
		Short: "Sign a manifest",
		Long: `sign checks a manifest and prints it signed: one compact JWS, on one line. Serve it in place of the manifest, or give it to
the agent. It says until when it is good; sign anew before that.

Exit codes: 0 signed, 1 not signed, 2 wrong use, 3 the manifest could not be read.`,
		Example: `  aaep manifest sign planner.json > planner.jws
  aaep manifest sign planner.json --key /etc/aaep/planner.key --days 30`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			stem, hasSuffix := strings.CutSuffix(args[0], manifestSuffix)
			switch {
			case days < 0 || days > 36500:
				return exits.UsageError("--days must be from 1 to 36500, or 0 for ever; it is %d.\nSee: aaep manifest sign --help", days)
			case keyFile == "" && !hasSuffix:
				return exits.UsageError("name the private key with --key.\nSee: aaep manifest sign --help")
			case keyFile == "":
				keyFile = stem + privateSuffix
			}
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			data, err := readManifest(ctx, args[0], "", cmd.InOrStdin())
			if err != nil {
				return err
			}
			m, err := manifest.Parse(data)
			if err == nil {
				err = schemas.Validate(data)
			}
			if err != nil {
				return exits.With(exits.Failed,
					fmt.Errorf("%s is no manifest that could be signed: %s.\nSee: aaep validate %s", args[0],
						exits.PlainError(err), args[0]))
			}
			signer, err := manifest.ReadSigner(keyFile,
				manifest.SignerOptions{KeyID: keyID, Lifetime: time.Duration(days) * 24 * time.Hour})
			if errors.Is(err, fs.ErrNotExist) {
				return exits.UsageError("there is no key %s.\nName one with --key, or make one: aaep manifest keygen NAME",
					keyFile)
			}
			if err != nil {
				return exits.UsageError("cannot sign with %s: %s", keyFile, exits.PlainError(err))
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
			if days > 0 {
				expiry = "until " + formatDay(now.AddDate(0, 0, days))
			}
			status := lineio.Printer{Out: cmd.ErrOrStderr()}
			status.PrintLabelled("aaep", "Signed the manifest of "+embedText(m.AgentID)+" with "+signer.Algorithm()+
				" and the key "+signer.KeyID()+". It is good "+expiry+".")
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&keyFile, "key", "", "the private key, a PEM or JWK `FILE` (default that of the manifest's name, with .key)")
	f.StringVar(&keyID, "kid", "", "the key's `ID`, where those who verify know it by another than its thumbprint")
	f.IntVar(&days, "days", 365, "how many days it is good; 0 for ever")
	return cmd
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
