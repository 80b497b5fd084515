package arch

// module is the import path of the repository's root folder.
const module = "github.com/aaep-go/aaep"

// public stands in an arrow for every folder outside internal, cmd and examples.
const public = "public"

// A folder is one row of the map: a package, and the only things it may import besides the standard
// library. Tests may import more: they are where the halves meet.
type folder struct {
	path   string
	arrows []string // folders of this module, or public
	others []string // import paths of other modules, with everything below them
	pure   bool     // it decides and never acts: see purity
	each   bool     // the row is that of every folder directly in this one
	why    string
}

// The map of the module. A new package gets a row, with as few arrows as it can live
// with.
var theMap = []folder{
	{
		path:   ".",
		arrows: []string{"internal/nesting", "internal/safetext"},
		others: []string{"github.com/go-json-experiment/json"},
		pure:   true,
		why:    "the words of the protocol are below everything else, and must read the same in every program",
	},
	{
		path:   "schemas",
		arrows: []string{"."},
		others: []string{"github.com/santhosh-tekuri/jsonschema", "github.com/go-json-experiment/json"},
		why:    "a schema describes one message and knows nothing of behaviour over time",
	},
	{
		path:   "handshake",
		arrows: []string{"."},
		pure:   true,
		why:    "the author of an extension needs no more than what an extension is",
	},
	{
		path:   "internal/negotiation",
		arrows: []string{".", "handshake", "internal/phrase"},
		others: []string{"github.com/go-json-experiment/json", "golang.org/x/text"},
		pure:   true,
		why:    "what is agreed follows from request and offer alone, whoever asks and over whatever link",
	},
	{
		path:   "handshake/extensions",
		arrows: []string{".", "handshake", "schemas"},
		others: []string{"github.com/go-json-experiment/json"},
		pure:   true,
		why:    "our own extensions are made as anybody's are, of what package handshake gives to all",
	},
	{
		path:   "coalesce",
		arrows: []string{"."},
		others: []string{"github.com/clipperhouse/uax29", "golang.org/x/text"},
		pure:   true,
		why:    "where a sentence ends follows from the text alone, whoever speaks and whoever listens",
	},
	{
		path:   "internal/budget",
		arrows: []string{"."},
		pure:   true,
		why:    "it counts times and must not know what happened at them",
	},
	{
		path:   "internal/shaper",
		arrows: []string{".", "coalesce", "internal/budget", "internal/negotiation"},
		pure:   true,
		why:    "the stream of one subscription is shaped without knowing the others or the link",
	},
	{
		path:   "internal/closes",
		arrows: []string{"."},
		others: []string{"github.com/go-json-experiment/json"},
		pure:   true,
		why:    "whether a question is open follows from the events alone, for everybody who might put it",
	},
	{
		path:   "internal/answers",
		arrows: []string{".", "internal/phrase", "internal/words"},
		pure:   true,
		why:    "what a line means as an answer follows from the line and the question, whatever it was typed on",
	},
	{
		path: "internal/errkind",
		why:  "what an error is about is known where it is made, and has other words where it is shown",
	},
	{
		path:   "internal/replies",
		arrows: []string{"."},
		why:    "it knows a question by its methods, so that all that hold a decision as a value may use it",
	},
	{
		path:   "internal/lifecycle",
		arrows: []string{".", "internal/closes"},
		pure:   true,
		why:    "producer, subscriber and judge share it, so it may know none of them",
	},
	{
		path:   "internal/ledger",
		arrows: []string{"."},
		others: []string{"github.com/go-json-experiment/json"},
		pure:   true,
		why:    "a question is settled by the reply and the time alone",
	},
	{
		path:   "internal/safetext",
		others: []string{"golang.org/x/text"},
		pure:   true,
		why:    "whether a text deceives follows from the text alone",
	},
	{
		path: "internal/words",
		pure: true,
		why:  "how a number or a time is said depends on nothing but itself",
	},
	{
		path: "internal/hearing",
		pure: true,
		why:  "how long a person may take depends on nothing but people",
	},
	{
		path:   "internal/spoken",
		pure:   true,
		others: []string{"golang.org/x/text"},
		why:    "how long a text takes to be heard follows from the text, the pace and the voice's languages alone",
	},
	{
		path:   "internal/phrase",
		pure:   true,
		arrows: []string{".", "internal/words"},
		others: []string{"golang.org/x/text"},
		why:    "a sentence follows from the language alone, and whoever mends one needs to know nothing else",
	},
	{
		path:   "conformance/check",
		arrows: []string{".", "schemas", "internal/lifecycle"},
		why:    "it judges messages that were written down, whoever sent them and over whatever link",
	},
	{
		path:   "conformance",
		arrows: []string{".", "conformance/check", "internal/requirements", "internal/secrets", "internal/spoken", "internal/violation", "manifest", "transports"},
		others: []string{"github.com/go-json-experiment/json", "golang.org/x/text"},
		why:    "it judges what was on the wire, and must not know the insides of what it judges",
	},
	{
		path:   "conformance/endpoint",
		arrows: []string{".", "internal/httpguard", "internal/violation", "transports", "transports/ipc", "transports/sse", "transports/stdio", "transports/websocket"},
		why:    "it is where targets come to, over whatever transport, and judges nothing",
	},
	{
		path:   "conformance/aaeptest",
		arrows: []string{".", "conformance", "internal/replies", "manifest", "producer", "subscriber", "subscriber/announce", "subscriber/present", "transports"},
		why:    "it runs the suite in tests, and is where the halves meet",
	},
	{
		path:   "conformance/hook",
		arrows: []string{".", "subscriber", "subscriber/announce", "subscriber/present"},
		why:    "it is part of the program that is judged, and must not know who judges it",
	},
	{
		path: "internal/violation",
		why:  "a transport says what it notices, and must not know who judges it",
	},
	{
		path: "internal/requirements",
		why:  "what is demanded does not depend on who keeps it",
	},
	{
		path:   "internal/coverage",
		arrows: []string{"internal/requirements"},
		why:    "it reads the sources as text and must not depend on what it counts",
	},
	{
		path:   "internal/httpguard",
		arrows: []string{"internal/shield"},
		why:    "it judges HTTP requests before anyone has read a message in them",
	},
	{
		path: "internal/writer",
		why:  "it takes turns at writing bytes, and must not know what they are",
	},
	{
		path: "internal/idle",
		why:  "it waits for bytes, and must not know whose they are or what they mean",
	},
	{
		path:   "transports",
		arrows: []string{"."},
		why:    "a link carries bytes and brings no dependency to those who write another one",
	},
	{
		path:   "transports/sse",
		arrows: []string{".", "internal/shield", "transports", "internal/credentials", "internal/errkind", "internal/httpguard", "internal/idle", "internal/violation", "internal/writer"},
		why:    "a transport carries messages and knows neither half, nor what a message means",
	},
	{
		path: "internal/lockfile",
		why:  "who may write a file does not depend on what is in it",
	},
	{
		path: "producer/log",
		why:  "a store keeps bytes, and must not know that they are events",
	},
	{
		path:   "internal/eventlog",
		arrows: []string{".", "producer/log"},
		why:    "the log keeps events and does not know who reads them",
	},
	{
		path:   "producer/log/logtest",
		arrows: []string{".", "internal/eventlog", "producer/log"},
		why:    "whoever writes a store tests it with nothing but the interface",
	},
	{
		path:   "producer/log/sqlite",
		arrows: []string{"internal/lockfile", "producer/log"},
		others: []string{"modernc.org/sqlite"},
		why:    "only those who keep a log on disk get the database: no other package but the command may import it",
	},
	{
		path:   "producer/log/jetstream",
		arrows: []string{"producer/log", "internal/credentials", "internal/errkind"},
		others: []string{"github.com/nats-io/nats.go"},
		why:    "only those who keep a log in NATS get its client: no other package but the command may import it",
	},
	{
		path: "internal/freeport",
		why:  "it finds ports for the tests of everything else",
	},
	{
		path:   "internal/natstest",
		arrows: []string{"internal/faultproxy", "internal/freeport"},
		why:    "it starts servers for tests and knows nothing of what they test",
	},
	{
		path:   "producer/audit",
		arrows: []string{".", "internal/closes", "internal/lockfile"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "the trail keeps what happened, and must be readable without anything that made it happen",
	},
	{
		path:   "internal/duplex",
		arrows: []string{"transports", "internal/idle", "internal/writer"},
		why:    "the promises of a link are kept once, over whatever carries whole messages",
	},
	{
		path:   "transports/websocket",
		arrows: []string{".", "transports", "internal/credentials", "internal/duplex", "internal/errkind", "internal/httpguard", "internal/violation", "internal/writer"},
		others: []string{"github.com/gorilla/websocket"},
		why:    "a transport carries messages and knows neither half, nor what a message means",
	},
	{
		path:   "transports/ipc",
		arrows: []string{"internal/shield", "transports", "internal/duplex", "internal/errkind", "internal/violation", "internal/writer"},
		others: []string{"github.com/Microsoft/go-winio", "golang.org/x/sys"},
		why:    "a transport carries messages and knows neither half, nor what a message means",
	},
	{
		path:   "internal/credentials",
		arrows: []string{".", "internal/shield"},
		why:    "what authenticators and listeners share knows nothing of who asks, nor over which transport",
	},
	{
		path:   "transports/auth",
		arrows: []string{".", "internal/credentials"},
		why:    "who is there does not depend on the transport that asks",
	},
	{
		path:   "transports/auth/oidc",
		arrows: []string{".", "internal/shield", "transports/auth", "internal/credentials", "internal/httpguard", "internal/nesting"},
		others: []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4", "github.com/go-json-experiment/json"},
		why:    "only those who import it get what it takes to verify signed tokens",
	},
	{
		path:   "transports/stdio",
		arrows: []string{".", "internal/shield", "transports", "internal/duplex", "internal/violation"},
		others: []string{"github.com/go-json-experiment/json", "github.com/sourcegraph/jsonrpc2", "golang.org/x/sys"},
		why:    "a transport carries messages and knows neither half, nor what a message means",
	},
	{
		path:   "transports/transporttest",
		arrows: []string{"transports"},
		why:    "whoever writes a transport tests it with nothing but the interface",
	},
	{
		path:   "manifest",
		arrows: []string{".", "schemas", "internal/credentials", "internal/errkind", "internal/httpguard", "internal/lockfile", "internal/lookalike", "internal/nesting"},
		others: []string{"github.com/go-jose/go-jose/v4", "github.com/go-json-experiment/json"},
		why:    "what a producer says of itself is read by those who know no producer, and before there is a link",
	},
	{
		path: "internal/nesting",
		why:  "how deep a text nests is known before anything reads it",
	},
	{
		path:   "internal/lookalike",
		others: []string{"golang.org/x/text"},
		why:    "what looks like what does not depend on whose text it is",
	},
	{
		path: "internal/secrets",
		pure: true,
		why:  "whether a text holds a secret follows from the text alone",
	},
	{
		path: "internal/questions",
		arrows: []string{".", "internal/closes", "internal/ledger", "internal/negotiation", "internal/replica", "internal/shaper",
			"producer/audit", "producer/log"},
		others: []string{"golang.org/x/sys"},
		why:    "who is asked, who may answer and what settles it must not depend on sessions, or on how a stream is sent",
	},
	{
		path: "internal/faultproxy",
		why:  "it hurts bytes and must not know which of them mean something",
	},
	{
		path: "internal/memnet",
		why:  "it carries the bytes of tests and must not know what they mean",
	},
	{
		path:   "internal/replica",
		arrows: []string{".", "internal/ledger", "producer/audit", "producer/log"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "who is there, and what the first claim makes of a question, must not depend on sessions or subscriptions",
	},
	{
		path: "internal/shield",
		why:  "it calls code of other authors, and must not know what for",
	},
	{
		path:   "internal/delivery",
		arrows: []string{".", "handshake/extensions", "internal/closes", "internal/eventlog", "internal/negotiation", "internal/shaper", "internal/shield", "internal/writer", "transports"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "what leaves when must not depend on sessions, on who may answer, or on a transport but the interface",
	},
	{
		path:   "producer",
		arrows: []string{".", "manifest", "schemas", "handshake", "handshake/extensions", "internal/budget", "internal/closes", "internal/delivery", "internal/eventlog", "internal/lifecycle", "internal/ledger", "internal/lookalike", "internal/negotiation", "internal/phrase", "internal/questions", "internal/replica", "internal/safetext", "internal/secrets", "internal/shaper", "internal/shield", "internal/spoken", "transports", "producer/audit", "producer/log"},
		others: []string{"github.com/clipperhouse/uax29", "github.com/go-json-experiment/json", "golang.org/x/sys", "golang.org/x/text"},
		why:    "an agent is told nothing of how users hear it: no subscriber, and no transport but the interface",
	},
	{
		path:   "producer/llm",
		arrows: []string{".", "internal/phrase", "internal/toolwords", "producer"},
		others: []string{"github.com/go-json-experiment/json", "golang.org/x/text"},
		why:    "it follows any provider's wire format and makes nobody depend on a provider's SDK",
	},
	{
		path:   "internal/form",
		arrows: []string{".", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "a form is asked alike, whichever protocol it came by",
	},
	{
		path:   "internal/toolwords",
		arrows: []string{".", "internal/phrase", "internal/safetext", "internal/words"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "what a tool does is told alike, whichever way the agent reports it",
	},
	{
		path:   "internal/bridge",
		arrows: []string{".", "internal/lockfile", "internal/nesting", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "what a peer sends is made safe and put in words alike, whichever protocol it came by",
	},
	{
		path:   "internal/bridge/toolcall",
		arrows: []string{".", "internal/bridge", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "a call is held, told and asked about alike, whichever protocol brings it",
	},
	{
		path:   "internal/consenttest",
		arrows: []string{".", "internal/bridge/bridgetest", "internal/fakemodel", "internal/replies", "producer", "producer/llm"},
		why:    "the guard of every framework passes the same tests, which know none of them",
	},
	{
		path:   "internal/bridge/ownagent",
		arrows: []string{".", "producer", "subscriber", "transports"},
		why:    "it follows an agent of this process by what any listener has",
	},
	{
		path:   "internal/bridge/bridgetest",
		arrows: []string{".", "internal/bridge/ownagent", "producer", "subscriber"},
		why:    "a listener of a test has what any listener has",
	},
	{
		path: "internal/realtest",
		why:  "every package's tests may need a real program",
	},
	{
		path:   "internal/npmtest",
		arrows: []string{"internal/lockfile", "internal/realtest"},
		why:    "it fetches the same for every package's tests",
	},
	{
		path:   "bridges/mcp",
		arrows: []string{".", "internal/bridge", "internal/bridge/toolcall", "internal/shield", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it stands between an agent's program and its tools, and knows neither",
	},
	{
		path:   "bridges/rap",
		arrows: []string{".", "handshake/extensions", "internal/bridge", "internal/bridge/ownagent", "internal/bridge/toolcall", "internal/httpguard", "internal/shield", "internal/toolwords", "internal/words", "producer", "subscriber"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it stands between an agent and its tools, and knows neither",
	},
	{
		path:   "bridges/wake",
		arrows: []string{".", "internal/bridge", "internal/credentials", "internal/shield", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it makes news of what wakes a swarm, and knows nobody who listens",
	},
	{
		path:   "bridges/akashik",
		arrows: []string{".", "internal/bridge", "internal/httpguard", "internal/shield", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json", "github.com/gorilla/websocket"},
		why:    "it makes news of what agents share, and knows neither them nor who listens",
	},
	{
		path:   "bridges/a2a",
		arrows: []string{".", "internal/bridge", "internal/bridge/ownagent", "internal/httpguard", "internal/shield", "internal/toolwords", "internal/words", "producer", "subscriber"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it makes sessions of the tasks of a remote agent, and tasks of the sessions of one's own, which it follows as any listener does",
	},
	{
		path:   "bridges/agui",
		arrows: []string{".", "internal/bridge", "internal/form", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it makes sessions of what an agent says to a web app, and knows nobody who listens",
	},
	{
		path:   "bridges/acp",
		arrows: []string{".", "internal/bridge", "internal/form", "internal/httpguard", "internal/shield", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json", "github.com/sourcegraph/jsonrpc2"},
		why:    "it makes sessions of what an agent of another protocol says, and knows nobody who listens",
	},
	{
		path:   "bridges/hook",
		arrows: []string{".", "internal/bridge", "internal/form", "internal/toolwords", "internal/words", "producer"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it makes sessions of what an agent's hooks report, and knows neither who listens nor how the hooks are run",
	},
	{
		path: "internal/fakemodel",
		why:  "a double that shared code with those who read its formats would share their mistakes",
	},
	{
		path:   "producer/serve",
		arrows: []string{".", "internal/shield", "manifest", "producer", "transports", "transports/sse", "transports/websocket", "schemas", "internal/httpguard"},
		why:    "it wires the usual listeners, and is the only part of the producer to know one by name",
	},
	{
		path:   "subscriber",
		arrows: []string{".", "internal/closes", "internal/credentials", "internal/hearing", "internal/negotiation", "internal/phrase", "handshake", "handshake/extensions", "internal/shield", "manifest", "transports"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "assistive technology knows nothing of agents and tools: no producer, and no transport but the interface",
	},
	{
		path:   "subscriber/announce",
		arrows: []string{".", "coalesce", "internal/answers", "internal/closes", "internal/hearing", "internal/lookalike", "internal/phrase", "internal/spoken", "internal/words"},
		others: []string{"golang.org/x/text"},
		pure:   true,
		why:    "what a person is told, and when, follows from events, keys and the time alone, whatever tells it",
	},
	{
		path:   "subscriber/present",
		arrows: []string{".", "internal/replies", "internal/shield", "subscriber", "subscriber/announce"},
		why:    "it follows any agent and drives any output there is, and knows none of them by name",
	},
	{
		path:   "subscriber/terminal",
		arrows: []string{".", "internal/phrase", "internal/plaintext", "subscriber/announce"},
		others: []string{"golang.org/x/sys", "golang.org/x/term"},
		why:    "a terminal prints what it is given and hands on keys: whether they answer a question is decided elsewhere",
	},
	{
		path: "internal/plaintext",
		why:  "which bytes are text depends on no event and on no terminal",
	},
	{
		path:   "subscriber/speech",
		arrows: []string{".", "internal/sessionbus", "subscriber/announce"},
		others: []string{"github.com/godbus/dbus/v5", "golang.org/x/text"},
		why:    "an output presents what it is given, and does not know why it is said",
	},
	{
		path: "internal/speechtest",
		why:  "a double that shared code with the client would share its mistakes",
	},
	{
		path:   "subscriber/braille",
		arrows: []string{".", "internal/hearing", "subscriber/announce"},
		others: []string{"github.com/clipperhouse/uax29", "golang.org/x/text"},
		why:    "a display is given utterances: it knows neither agents nor who decided what is said",
	},
	{
		path: "internal/brailletest",
		why:  "it stands in for BRLTTY, so it knows nothing of who talks to it",
	},
	{
		path:   "subscriber/discover",
		arrows: []string{"internal/shield", "manifest", "transports", "transports/ipc", "transports/sse", "transports/websocket", "internal/errkind", "internal/httpguard"},
		why:    "it knows the usual transports by name, and is the only part of the subscriber to do so",
	},
	{
		path:   "internal/sessionbus",
		others: []string{"github.com/godbus/dbus/v5"},
		why:    "how the user's desktop is reached depends on nothing that is said there",
	},
	{
		path: "internal/speechd",
		why:  "it starts programs for tests and knows nothing of what they test",
	},
	{
		path:   "internal/orcadesktop",
		arrows: []string{"internal/sessionbus/bustest", "internal/speechd"},
		why:    "it starts programs for tests and knows nothing of what they test",
	},
	{
		path:   "internal/sessionbus/bustest",
		arrows: []string{"internal/realtest"},
		why:    "it starts programs for tests and knows nothing of what they test",
	},
	{
		path:   "subscriber/orca",
		arrows: []string{"internal/sessionbus", "internal/spoken", "subscriber/announce"},
		others: []string{"github.com/godbus/dbus/v5"},
		why:    "an output presents what it is given, and knows neither who planned it nor the other outputs",
	},
	{
		path:   "internal/orcatest",
		arrows: []string{"internal/sessionbus"},
		others: []string{"github.com/godbus/dbus/v5"},
		why:    "a double of Orca must not know the client that is tested with it",
	},
	{
		path:   "subscriber/nvda",
		arrows: []string{"subscriber/announce"},
		others: []string{"golang.org/x/sys"},
		why:    "an output presents what it is given, and knows neither who planned it nor the other outputs",
	},
	{
		path:   "subscriber/cue",
		arrows: []string{".", "handshake/extensions", "internal/hearing", "subscriber/announce"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "an output presents what it is given, and knows neither who planned it nor the other outputs",
	},
	{
		path:   "subscriber/haptic",
		arrows: []string{"handshake/extensions", "internal/sessionbus", "subscriber/announce", "subscriber/cue"},
		others: []string{"github.com/godbus/dbus/v5"},
		why:    "it plays patterns, and what means what is decided once for what is felt and what is heard",
	},
	{
		path:   "subscriber/sound",
		arrows: []string{"handshake/extensions", "subscriber/cue"},
		why:    "it plays sounds, and what means what is decided once for what is felt and what is heard",
	},
	{
		path:   "internal/haptictest",
		arrows: []string{"handshake/extensions", "subscriber/cue"},
		why:    "a device of a user's own is made of the same interface, and of nothing else",
	},
	{
		path:   "subscriber/web",
		arrows: []string{"internal/hearing", "internal/safetext"},
		why:    "the page is the subscriber, and speaks to whatever producer it is served beside",
	},
	{
		path:   "subscriber/web/relay",
		arrows: []string{".", "handshake/extensions", "internal/httpguard", "internal/lookalike", "internal/replies", "internal/shield", "subscriber", "subscriber/web", "transports", "transports/sse"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "it follows agents over any link there is, and speaks to its page over the one that browsers know",
	},
	{
		path:   "internal/segmentio",
		arrows: []string{".", "coalesce"},
		why:    "it shows what coalesce makes of a text, and can do nothing that coalesce cannot",
	},
	{
		path:   "internal/bench",
		arrows: []string{".", "producer", "producer/log/sqlite", "producer/serve", "transports", "transports/ipc", "transports/websocket"},
		others: []string{"github.com/gorilla/websocket"},
		why:    "it measures what every user of the module can serve, beside servers that do not use it",
	},
	{
		path:   "internal/metrics",
		arrows: []string{".", "internal/httpguard", "producer", "transports/auth"},
		why:    "what operators watch does not depend on which program serves",
	},
	{
		path:   "internal/cli/acp",
		arrows: []string{"bridges/acp", "internal/phrase", "internal/words", "producer"},
		why:    "what a person types to an agent does not depend on how they hear it",
	},
	{
		path:   "internal/cli/control",
		arrows: []string{"internal/hearing", "internal/lockfile", "transports", "transports/ipc"},
		others: []string{"golang.org/x/sys"},
		why:    "who asks a listener for what from another window does not depend on what the listener makes of it",
	},
	{
		path:   "internal/cli/hook/call",
		arrows: []string{".", "transports", "transports/ipc"},
		why:    "it runs at every tool call of an agent, so each import is waited for",
	},
	{
		path:   "internal/cli/hook/early",
		arrows: []string{"internal/cli/hook/call"},
		why:    "it runs before what it does not import is initialised",
	},
	{
		path:   "internal/cli/hook",
		arrows: []string{"bridges/hook", "internal/cli/hook/call", "internal/httpguard", "internal/lockfile", "transports", "transports/ipc"},
		others: []string{"github.com/go-json-experiment/json"},
		why:    "how a hook reaches the server, and how it gets into an agent's settings, depends on no event",
	},
	{
		path:   "internal/cli/exits",
		arrows: []string{".", "internal/phrase", "internal/words", "producer/log/sqlite", "subscriber", "transports"},
		others: []string{"github.com/spf13/cobra"},
		why:    "every command ends in the same way, whatever it did",
	},
	{
		path:   "internal/cli/lineio",
		arrows: []string{".", "internal/cli/exits"},
		why:    "what is printed is safe for a terminal, from wherever it came",
	},
	{
		path:   "internal/cli/uilang",
		arrows: []string{".", "internal/answers", "internal/cli/exits", "internal/phrase", "internal/words", "subscriber/announce"},
		why:    "the command speaks one language to a person, in all that it says",
	},
	{
		path:   "internal/cli/terms",
		arrows: []string{".", "handshake/extensions", "internal/cli/exits", "internal/cli/uilang", "internal/negotiation", "internal/phrase", "internal/words", "subscriber"},
		others: []string{"github.com/spf13/cobra"},
		why:    "what a person asks for does not depend on which agent they ask",
	},
	{
		path:   "internal/cli/reach",
		arrows: []string{".", "internal/cli/exits", "internal/cli/uilang", "internal/errkind", "internal/httpguard", "internal/negotiation", "internal/phrase", "internal/words", "manifest", "producer/serve", "subscriber/discover", "transports/auth"},
		others: []string{"github.com/spf13/cobra"},
		why:    "how an agent is reached, and why it is not, is told alike by all commands",
	},
	{
		path:   "internal/cli/buildinfo",
		arrows: []string{"."},
		why:    "which build this is depends on nothing in it",
	},
	{
		path:   "internal/cli/subprocess",
		arrows: []string{"internal/cli/exits"},
		why:    "how programs are named and how they ended is told alike by all commands",
	},
	{
		path:   "internal/cli/input",
		arrows: []string{"manifest"},
		why:    "what is read is opened alike by all commands, whatever is in it",
	},
	{
		path:   "internal/cli/serving",
		arrows: []string{public, "internal/cli/buildinfo", "internal/cli/exits", "internal/cli/lineio", "internal/cli/reach", "internal/errkind", "internal/httpguard", "internal/metrics", "internal/words"},
		others: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		why:    "who may come and answer is settled alike by all commands that serve",
	},
	{
		path:   "internal/cli/clitest",
		arrows: []string{".", "producer", "transports"},
		why:    "the tests of the command share their agents, and no command",
	},
	{
		path:   "internal/cli/listen",
		arrows: []string{public, "internal/answers", "internal/cli/answer", "internal/cli/control", "internal/cli/exits", "internal/cli/hook/call", "internal/cli/lineio", "internal/cli/reach", "internal/cli/subprocess", "internal/cli/terms", "internal/cli/uilang", "internal/closes", "internal/hearing", "internal/lookalike", "internal/phrase", "internal/words"},
		others: []string{"github.com/spf13/cobra"},
		why:    "a listener knows no agent from the inside: it could run on another machine",
	},
	{
		path:   "internal/cli/answer",
		arrows: []string{".", "internal/cli/control", "internal/cli/exits", "internal/cli/lineio", "internal/cli/subprocess", "internal/sessionbus", "internal/words"},
		others: []string{"github.com/godbus/dbus/v5", "github.com/spf13/cobra"},
		why:    "who answers from another window does not depend on what a listener makes of it",
	},
	{
		path:   "internal/cli/agent",
		arrows: []string{public, "internal/cli/exits", "internal/cli/input", "internal/cli/lineio", "internal/cli/serving", "internal/cli/subprocess", "internal/phrase", "internal/plaintext", "internal/words"},
		others: []string{"github.com/spf13/cobra", "golang.org/x/term"},
		why:    "what serves an agent knows no listener from the inside",
	},
	{
		path:   "internal/cli/trust",
		arrows: []string{public, "internal/cli/exits", "internal/cli/input", "internal/cli/lineio", "internal/cli/reach", "internal/words"},
		others: []string{"github.com/spf13/cobra"},
		why:    "what people check of each other is checked without an agent or a listener",
	},
	{
		path:   "internal/cli/proof",
		arrows: []string{public, "internal/cli/exits", "internal/cli/input", "internal/cli/lineio", "internal/cli/reach", "internal/cli/subprocess", "internal/errkind", "internal/phrase", "internal/words"},
		others: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
		why:    "a proof watches from outside, as any other implementation could",
	},
	{
		path:   "internal/cli/measure",
		arrows: []string{"coalesce", "internal/bench", "internal/cli/exits", "internal/cli/reach", "internal/segmentio", "internal/words"},
		others: []string{"github.com/spf13/cobra"},
		why:    "what is measured is what every user of the module has",
	},
	{
		path:   "internal/cli/demo/planner",
		arrows: []string{".", "handshake/extensions", "internal/words", "producer"},
		why:    "the agent of the demo is what any author can write",
	},
	{
		path:   "internal/cli/demo",
		arrows: []string{public, "internal/cli/demo/planner", "internal/cli/exits", "internal/cli/lineio", "internal/cli/serving", "internal/cli/terms", "internal/cli/uilang", "internal/replies", "internal/words"},
		others: []string{"github.com/spf13/cobra", "golang.org/x/term"},
		why:    "the demo shows what every user of the module can do",
	},
	{
		path:   "internal/cli/bridge",
		arrows: []string{public, "internal/cli/acp", "internal/cli/exits", "internal/cli/hook", "internal/cli/hook/call", "internal/cli/lineio", "internal/cli/listen", "internal/cli/reach", "internal/cli/serving", "internal/cli/subprocess", "internal/httpguard", "internal/words"},
		others: []string{"github.com/spf13/cobra", "golang.org/x/term"},
		why:    "programs of others get in by the packages that every user of the module has",
	},
	{
		path:   "internal/cli",
		arrows: []string{".", "internal/cli/agent", "internal/cli/answer", "internal/cli/bridge", "internal/cli/buildinfo", "internal/cli/demo", "internal/cli/exits", "internal/cli/hook/call", "internal/cli/hook/early", "internal/cli/lineio", "internal/cli/listen", "internal/cli/measure", "internal/cli/proof", "internal/cli/terms", "internal/cli/trust"},
		others: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		why:    "the root knows which commands there are, and nothing of what they do",
	},
	{
		path:   "cmd/aaep",
		arrows: []string{"internal/cli"},
		why:    "main is a single call, so that all of the command can be tested",
	},
	{
		path: "internal/suite",
		why:  "it runs the tests of everything and must not depend on any of it",
	},
	{
		path: "internal/release",
		why:  "it builds the command with the go command, and is in no program itself",
	},
	{
		path:   "examples",
		arrows: []string{public},
		each:   true,
		why:    "an example shows what users of the module can do with it, so it has nothing that they have not",
	},
}
