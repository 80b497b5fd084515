package trust

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
)

// signerFlags say whose signatures count.
type signerFlags struct {
	keys, algorithms []string
	ca, tlsCA, agent string
}

// addSignerFlags adds to a command the flags that say whose signature counts. The result has their
// values once the command runs.
func addSignerFlags(cmd *cobra.Command) *signerFlags {
	b := &signerFlags{}
	f := cmd.Flags()
	f.StringArrayVar(&b.keys, "trust", nil, "public keys to believe: a JWK, JWK Set or PEM `FILE`, or the URL of one; may be repeated")
	f.StringVar(&b.ca, "key-ca", "", "believe keys that the CAs in this PEM `FILE` vouch for")
	f.StringVar(&b.tlsCA, "ca", "", reach.CAHelp)
	f.StringVar(&b.agent, "agent", "", "the `ID` of the agent whose manifest it must be")
	f.StringSliceVar(&b.algorithms, "algorithms", []string{manifest.ES256, manifest.RS256},
		"the `ALGORITHMS` to allow; EdDSA is the other one there is")
	return b
}

// isGiven reports whether any key is believed.
func (b *signerFlags) isGiven() bool { return len(b.keys) > 0 || b.ca != "" }

// verifyManifest returns a signed manifest and who signed it, or in refused why it is not to be
// believed. err is for the user, where nothing could be judged; then the others are nil.
func (b *signerFlags) verifyManifest(ctx context.Context, signed string) (m *manifest.Manifest, id *manifest.Identity,
	refused, err error) {
	for _, a := range b.algorithms {
		if !slices.Contains([]string{manifest.ES256, manifest.RS256, manifest.EdDSA}, a) {
			return nil, nil, nil, exits.UsageError("--algorithms has %q; there are ES256, RS256 and EdDSA", a)
		}
	}
	trust, err := b.readTrust(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	m, id, refused = trust.Verify(ctx, signed, manifest.Expect{AgentID: b.agent, AnyAgent: b.agent == ""})
	if ctx.Err() != nil {
		return nil, nil, nil, exits.With(exits.Interrupted, errors.New("interrupted"))
	}
	return m, id, refused, nil
}

// readTrust returns whose signature counts: the keys in the files of --trust, those at its URL, of
// which there may be one, and those that the CAs of --key-ca vouch for. The error names the flag.
func (b *signerFlags) readTrust(ctx context.Context) (trust manifest.Trust, err error) {
	trust.Verifier.Algorithms = b.algorithms
	var files []string
	for _, location := range b.keys {
		switch {
		case !strings.Contains(location, "://"):
			files = append(files, location)
			continue
		case trust.Source != nil:
			return trust, exits.UsageError("--trust may name one URL, and any number of files")
		}
		if trust.Source, err = b.findKeys(ctx, location); err != nil {
			return trust, err
		}
	}
	if len(files) > 0 {
		if trust.Keys, err = manifest.ReadKeys(files...); err != nil {
			return trust, exits.CannotTake("--trust", err)
		}
	}
	if b.ca == "" {
		return trust, nil
	}
	text, err := os.ReadFile(b.ca)
	trust.Roots = x509.NewCertPool()
	if err == nil && !trust.Roots.AppendCertsFromPEM(text) {
		err = errors.New("it holds no certificate")
	}
	if err != nil {
		return trust, exits.CannotTake("--key-ca "+b.ca, err)
	}
	return trust, nil
}

// findKeys returns the source of the keys at a URL of --trust, which it asks once, so that an error
// of the network is none of the manifest.
func (b *signerFlags) findKeys(ctx context.Context, location string) (manifest.KeySource, error) {
	conf, err := (&reach.Flags{Ca: b.tlsCA}).TLSConfig()
	if err != nil {
		return nil, err
	}
	source, err := manifest.RemoteKeys(location, conf)
	if err != nil {
		return nil, exits.UsageError("--trust %s: %s", location, exits.PlainError(err))
	}
	if _, err := source(ctx, ""); err != nil && ctx.Err() == nil {
		return nil, exits.With(exits.Unreachable, fmt.Errorf("cannot take --trust %s: %s", location, exits.PlainError(err)))
	}
	return source, nil
}

// manifestVerify makes "aaep manifest verify", which says whether a manifest is signed by a key or
// an authority that the person believes.
func manifestVerify() *cobra.Command {
	var b *signerFlags
	cmd := &cobra.Command{
		Use:   "verify FILE | - | URL",
		Short: "Tell whether a manifest is signed by somebody you believe",
		Long: `verify reads a signed manifest, from a file or from where an agent publishes it, and tells whether it is good: signed with
one of the keys that you name, in time, and that of the agent you name. A URL is the agent's address.

Exit codes: 0 verified, 1 not verified, 2 wrong use, 3 something could not be read.`,
		Example: `  aaep manifest verify planner.jws --trust planner.keys.json --agent planner
  aaep manifest verify https://bank.example --trust bank.keys.json`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !b.isGiven() {
				return exits.UsageError("say whom you believe: --trust FILE, or --key-ca FILE.\nSee: aaep manifest verify --help")
			}
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			data, err := readManifest(ctx, args[0], b.tlsCA, cmd.InOrStdin())
			if err != nil {
				return err
			}
			m, id, refused, err := b.verifyManifest(ctx, string(data))
			if err != nil {
				return err
			}
			if refused != nil {
				return exits.With(exits.Failed, fmt.Errorf("not verified: %s", exits.PlainError(refused)))
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(),
				"Verified: the manifest of "+embedText(m.AgentID)+". "+signedBy(id)); err != nil {
				return exits.With(exits.Failed, err)
			}
			return nil
		},
	}
	b = addSignerFlags(cmd)
	return cmd
}

// manifestShowFlags are what the flags of "manifest show" say.
type manifestShowFlags struct {
	*signerFlags
	ask bool
}

// manifestShow makes "aaep manifest show"; showManifest does its work.
func manifestShow() *cobra.Command {
	o := &manifestShowFlags{}
	cmd := &cobra.Command{
		Use:   "show FILE | - | URL",
		Short: "Print what a manifest says, and who signed it",
		Long: `show prints a manifest, one fact on each line, after who signed it and whether that is proven by the keys that you name.
Without any it is not verified: anybody can have written it.

With --ask it also subscribes, which an agent may be waiting for, and says whether the answer agrees with the manifest.

Exit codes: 0 shown, 1 not verified though keys were named, contradicted, or no manifest, 2 wrong use, 3 something could not be read.`,
		Example: `  aaep manifest show http://127.0.0.1:8080
  aaep manifest show https://bank.example --trust bank.keys.json --agent planner`,
		Args: exits.Arguments(1, 1),
		RunE: o.showManifest,
	}
	o.signerFlags = addSignerFlags(cmd)
	cmd.Flags().BoolVar(&o.ask, "ask", false, "subscribe to the agent at URL, and compare its answer")
	return cmd
}

// showManifest does the work of "aaep manifest show": it prints who signed a manifest, whether that
// is proven, and what the manifest says. The error has the exit code: for one that is not verified
// though keys were named, and for an agent that contradicts it.
func (o *manifestShowFlags) showManifest(cmd *cobra.Command, args []string) error {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	data, err := readManifest(ctx, args[0], o.tlsCA, cmd.InOrStdin())
	if err != nil {
		return err
	}
	m, id, err := manifest.ParseUnverified(data)
	if err != nil {
		return exits.With(exits.Failed, fmt.Errorf("%s is no manifest: %s", args[0], exits.PlainError(err)))
	}
	verdict := "Not verified: you named no keys to believe. Anybody can have written this."
	var refused error
	if o.isGiven() {
		proven, signer, reason, err := o.verifyManifest(ctx, string(data))
		if err != nil {
			return err
		}
		if refused = reason; refused != nil {
			verdict = words.Sentence("Not verified: " + exits.PlainError(refused))
		} else {
			verdict, m, id = "Verified.", proven, signer
		}
	}
	signed := "It is not signed."
	if id != nil {
		signed = signedBy(id)
	}
	lines := append([]string{verdict, signed}, claimLines(m)...)
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(lines, "\n")); err != nil {
		return exits.With(exits.Failed, err)
	}
	agrees := true
	if o.ask {
		var line string
		address, _ := manifestAddress(args[0])
		line, agrees = keepsItsWord(ctx, address, o.tlsCA, m)
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
			return exits.With(exits.Failed, err)
		}
	}
	if refused != nil || !agrees {
		return exits.With(exits.Failed, errors.New(""))
	}
	return nil
}

// signedBy returns the sentence that says who signed a manifest or, without a thumbprint, who it
// says did, and from when until when it counts.
func signedBy(id *manifest.Identity) string {
	text := "Signed with " + embedText(id.Algorithm) + " by the key "
	switch {
	case id.Thumbprint == "":
		text = "Said to be signed with " + embedText(id.Algorithm) + " by the key " + embedText(id.KeyID)
	case id.KeyID == "" || id.KeyID == id.Thumbprint:
		text += id.Thumbprint
	default:
		text += embedText(id.KeyID) + ", which is " + id.Thumbprint
	}
	if id.Certificate != nil {
		text += ", for which " + embedText(id.Certificate.Issuer.String()) + " vouches"
	}
	if !id.SignedAt.IsZero() {
		text += ", on " + formatDay(id.SignedAt)
	}
	if !id.ExpiresAt.IsZero() {
		text += ". Good until " + formatDay(id.ExpiresAt)
	}
	return text + "."
}

// claimLines returns what a manifest says, a line for each member that is set.
func claimLines(m *manifest.Manifest) (lines []string) {
	add := func(label string, values ...string) {
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
		if len(values) > 0 {
			lines = append(lines, label+": "+embedText(strings.Join(values, ", ")))
		}
	}
	add("Agent", m.AgentID)
	add("Name", m.AgentName)
	add("Version", m.AgentVersion)
	add("Contact", m.Contact)
	add("AAEP versions", m.AAEPVersionsSupported...)
	levels := make([]string, len(m.ConformanceLevelsSupported))
	for i, l := range m.ConformanceLevelsSupported {
		levels[i] = fmt.Sprint(l)
	}
	add("Conformance levels", levels...)
	add("Languages", m.LanguagesSupported...)
	add("Transports", m.TransportsSupported...)
	if places, err := m.Endpoints(); err == nil {
		for _, name := range slices.Sorted(maps.Keys(places)) {
			add("Address of "+embedText(name), places[name].Address)
		}
	}
	add("Events", m.EventTypesEmitted...)
	add("Extensions", m.ExtensionsSupported...)
	add("Verbosity", string(m.DefaultVerbosity))
	if m.MaxConcurrentSubscriptions > 0 {
		add("Subscriptions at once", fmt.Sprint(m.MaxConcurrentSubscriptions))
	}
	return lines
}

// keepsItsWord asks the agent at an address for a subscription, in which it is asked nothing, and
// returns a sentence and whether its answer agrees with its manifest. An agent that cannot be
// asked, within ten seconds, does not contradict it.
func keepsItsWord(ctx context.Context, address, ca string, m *manifest.Manifest) (line string, agrees bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conf, err := (&reach.Flags{Ca: ca}).TLSConfig()
	if err != nil {
		return words.Sentence("The agent could not be asked: " + exits.PlainError(err)), true
	}
	ways, err := discover.Ways(ctx, address, discover.Options{TLS: conf})
	if err != nil {
		return words.Sentence("The agent could not be asked: " + exits.PlainError(err)), true
	}
	cfg := subscriber.Config{ID: "aaep-manifest-show", Name: "aaep manifest show", Version: aaep.Version,
		NoReconnect: true,
		Fallback:    discover.Dialers(ways[1:]), Capabilities: aaep.Capabilities{Languages: m.LanguagesSupported}}
	sub, err := subscriber.Dial(ctx, ways[0].Dialer, cfg)
	if err != nil {
		return words.Sentence("The agent could not be asked: " + exits.PlainError(err)), true
	}
	defer sub.Close()
	status, _ := sub.Status()
	expect := manifest.Expect{Accepted: sub.Accepted(), Transport: ways[status.Way].Transport}
	if err := expect.Check(m); err != nil {
		return words.Sentence("The agent contradicts its manifest: " + exits.PlainError(err)), false
	}
	return "The agent's answer over " + reach.WireWords(ways[status.Way].Transport) + " agrees with it.", true
}
