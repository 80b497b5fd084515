package bridge

import (
	"cmp"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/bridges/mcp"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/producer"
)

// mcpOptions are what the flags of "bridge mcp" say.
type mcpOptions struct {
	servedAgent
	name string
	cfg  mcp.Config
}

// bridgeMCPCommand makes "aaep bridge mcp"; runMCP does its work.
func bridgeMCPCommand() *cobra.Command {
	o := &mcpOptions{}
	cmd := &cobra.Command{
		Use:   "mcp [flags] -- SERVER ARGUMENTS",
		Short: "Hold what an agent's MCP server could destroy until you say yes",
		Long: `mcp stands between an agent and SERVER, which speaks the Model Context Protocol over its standard input and output.
In the agent's settings put "aaep bridge mcp --" before the command of the server; nothing else changes, and neither side need
know of it. Whoever listens hears which tools are called and what comes of it.

A call of a tool is held, unless the server lists the tool as one that only reads (readOnlyHint) or only adds (destructiveHint
is false). A held call reaches the server once, after an answer that accepts it, and never otherwise: a no, silence and nobody
to ask are results that tell the agent's model that it was not done. All other calls pass at once, also where nothing can be
told. A server says of itself what its tools do; --ask-all holds every call of a tool that is not marked as read-only.

Each server that is bridged needs an address of its own; name it with --listen. Where that cannot be had, what is held is
refused. An agent may give up waiting before you have answered: see its settings for how long a tool may take.`,
		Example: `  aaep bridge mcp -- npx -y @modelcontextprotocol/server-filesystem /srv/plans
  aaep bridge mcp --listen 127.0.0.1:8081 --held held.jsonl --audit trail.jsonl -- ./files-server
  aaep listen http://127.0.0.1:8081`,
	}
	cmd.RunE = o.runMCP
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the server's name is the server's
	f.StringVar(&o.name, "name", "", "the agent's name (default is that of the server's program)")
	f.BoolVar(&o.cfg.AskAll, "ask-all", false, "hold every call of a tool that is not marked as read-only")
	f.DurationVar(&o.cfg.AnswerTime, "answer-time", 5*time.Minute, "how long there is to answer; silence is a no")
	f.StringVar(&o.cfg.State, "held", "", "remember in this `FILE` what is held, so that the next start says what became of it")
	o.addFlags(cmd)
	return cmd
}

// runMCP runs an MCP server between its client, which started this, and itself, holds what it could
// destroy, and serves what its tools do. The error has the exit code; it ends as the server does.
func (o *mcpOptions) runMCP(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exits.UsageError("name a server after --, for example: aaep bridge mcp -- npx -y @modelcontextprotocol/server-filesystem .")
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return exits.UsageError("%s", subprocess.CannotStart(args[0], err))
	}
	o.cfg.Logger = lineio.LogTo(cmd.ErrOrStderr())
	return o.runBetween(cmd, args, between{parent: "agent",
		typed: "this speaks with the agent that started it, and that is you.\nPut the line into your agent's settings as the command of its MCP server",
		name:  cmp.Or(o.name, serverName(args)),
		tee: func(p *producer.Producer, client io.ReadWriter, server io.ReadWriteCloser) error {
			return mcp.Tee(p, o.cfg, client, server)
		}})
}

// launchers are programs that run the one that their first argument names.
var launchers = []string{"bunx", "node", "npx", "python", "python3", "uvx"}

// serverName returns what a server that args starts is called to the person who is asked in its
// name: the program's name, or, behind a launcher such as npx, that of the first argument that is
// no flag.
func serverName(args []string) string {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if !slices.Contains(launchers, name) {
		return name
	}
	for _, arg := range args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return filepath.Base(arg)
		}
	}
	return name
}
