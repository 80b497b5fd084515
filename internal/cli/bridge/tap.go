package bridge

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// A modelAPI is a provider that has a short name.
type modelAPI struct {
	name, url string
	variable  string // the environment variable by which programs take the address
	path      string // what stands behind the address there
}

var modelAPIs = []modelAPI{
	{"openai", "https://api.openai.com", "OPENAI_BASE_URL", "/v1"},
	{"anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ""},
	{"gemini", "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", ""},
	{"openrouter", "https://openrouter.ai/api", "OPENAI_BASE_URL", "/v1"},
	{"ollama", "http://127.0.0.1:11434", "OLLAMA_HOST", ""},
}

// apiNames returns the short names of the providers.
func apiNames() (names []string) {
	for _, api := range modelAPIs {
		names = append(names, api.name)
	}
	return names
}

// tapOptions are what the flags of "tap" say.
type tapOptions struct {
	bridgeFlags
	at                string
	languages, silent []string
}

// TapCommand makes "aaep tap"; runTap does its work.
func TapCommand() *cobra.Command {
	o := &tapOptions{}
	cmd := &cobra.Command{
		Use:   "tap [flags] UPSTREAM",
		Short: "Hear what programs ask of a language model, and its answers",
		Long: `tap stands between programs and the API of their language model. A program that lets you change the address of the
API needs no other change: give it that of tap. What the model answers is heard as it comes, and the tools that it wants
are named. Several programs may use one tap; each of their requests is a session of its own.

UPSTREAM is the address of the API, such as https://gateway.example/v1, or one of these: ` + strings.Join(apiNames(), ", ") + `.
The wire is OpenAI's (chat completions and responses), Anthropic's, Gemini's or Ollama's, which most others speak too.

Every byte passes as it came. Keys are not logged or told, and the provider's certificate is verified. What programs ask for
themselves is not told: titles, summaries, choices, answers in JSON, embeddings. Nor are requests to the models that
--skip-model names. Only programs of this machine can use it, and no web pages.

A tap only hears: it cannot ask before a tool runs. What the program asks, it asks itself.`,
		Example: `  aaep tap openai
  OPENAI_BASE_URL=http://127.0.0.1:8081/v1 aider

  aaep tap --at 127.0.0.1:9000 --skip-model llama3.2:1b ollama
  aaep tap --web --language de,en https://gateway.example/v1`,
		Args: exits.Arguments(1, 1),
		RunE: o.runTap,
	}
	o.addFlags(cmd, "the provider's")
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "127.0.0.1:8081", "where programs find it: an `ADDRESS` of this machine")
	f.StringSliceVar(&o.languages, "language", []string{"en-US"},
		"the `TAGS` of the languages that the model answers in")
	f.StringSliceVar(&o.silent, "skip-model", nil, "do not tell what these `MODELS` answer")
	return cmd
}

// runTap serves a proxy between programs and the API of a model, and serves what the model says
// there as an agent, until it is told to end. The error has the exit code.
func (o *tapOptions) runTap(cmd *cobra.Command, args []string) error {
	api, upstream, err := upstreamOf(args[0])
	if err != nil {
		return err
	}
	for _, tag := range o.languages {
		if err := exits.CheckLanguage(tag, "tap"); err != nil {
			return err
		}
	}
	if slices.Contains(o.where.Addrs, o.at) && !strings.HasSuffix(o.at, ":0") {
		return exits.UsageError("--at %s is where the agent is served, too (--listen).\nGive programs another, such as --at 127.0.0.1:8081", o.at)
	}
	ln, err := listenForPrograms(cmd.Context(), "--at", o.at)
	if err != nil {
		return err
	}
	defer ln.Close()
	if upstream.Host == ln.Addr().String() {
		return exits.UsageError("%s is where this tap is itself: name the address of the provider.\nSee: aaep tap --help",
			upstream.Host)
	}
	o.status.Out = cmd.ErrOrStderr()
	o.cfg = producer.Config{Language: o.languages[0], Languages: o.languages[1:]}
	name := firstOf(cmp.Or(o.name, api.name), upstream.Host)
	return o.bridgeFlags.serveBridge(cmd, name, nil, nil, func(ctx context.Context, p *producer.Producer) error {
		ownURL := "http://" + ln.Addr().String()
		o.status.PrintLabelled("aaep", "Programs find "+upstream.Host+" at "+ownURL)
		if api.variable != "" {
			o.status.PrintLabelled("aaep", "Start them with: "+api.variable+"="+ownURL+api.path)
		}
		if upstream.Scheme == "http" && !serving.OfThisMachine(upstream.Host) {
			o.status.PrintLabelled("aaep", "What they send to "+upstream.Host+", keys among it, is not encrypted.")
		}
		return servePrograms(ctx, ln, llm.New(p).Proxy(upstream, nil, o.silent...), nil)
	})
}

// upstreamOf returns the address of a model's API, which is given as such or by a provider's short
// name; api is zero where it is an address. The error is a usage error.
func upstreamOf(name string) (api modelAPI, upstream *url.URL, err error) {
	for _, known := range modelAPIs {
		if strings.EqualFold(name, known.name) {
			api, name = known, known.url
		}
	}
	upstream, isWeb := httpguard.WebAddress(name)
	switch {
	case !isWeb:
		return api, nil, exits.UsageError("%q is not the address of a model's API, such as https://gateway.example/v1, nor one of the names %s.\nSee: aaep tap --help", name, strings.Join(apiNames(), ", "))
	case upstream.User != nil, upstream.RawQuery != "", upstream.Fragment != "":
		return api, nil, exits.UsageError("The address of the API has no user, key or \"?\" in it; those are the programs' to send.\nSee: aaep tap --help")
	}
	return api, upstream, nil
}
