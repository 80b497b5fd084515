package conformance_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) {
	if beAReader() {
		return
	}
	goleak.VerifyTestMain(m)
}

// target is our own producer, which does what the scenarios say.
type target = aaeptest.Agent

func newTarget(t *testing.T) *target {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "target",
		AgentName: "The producer of aaep-go"}, ShortTimeouts: true, Languages: []string{"es"},
		Signers: func() []*manifest.Signer { return []*manifest.Signer{signer} }})
	if err != nil {
		t.Fatal(err)
	}
	p.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: "/aaep/v1/ws"})
	return &target{Producer: p}
}

// The target signs with a key that the suite is given. The others are of the same name, and not its
// own.
var (
	signer, keys = newKey("target-1")
	_, otherKeys = newKey("target-1")
)

func newKey(id string) (*manifest.Signer, *manifest.KeySet) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	s, err := manifest.NewSigner(private, manifest.SignerOptions{KeyID: id})
	if err != nil {
		panic(err)
	}
	text, err := manifest.PublicKeys(s)
	if err != nil {
		panic(err)
	}
	set, err := manifest.ParseKeys(text)
	if err != nil {
		panic(err)
	}
	return s, set
}

// shutDown ends a target.
func shutDown(g *target) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	g.Producer.Shutdown(ctx)
}

// checkExtraCases is all of the suite on a target within the process, reached by d.
func checkExtraCases(g *target, d transports.Dialer) conformance.ProducerRun {
	atOnce := conformance.DriverFunc(func(ctx context.Context, sc conformance.Scenario) error {
		if sc.Name == conformance.Shutdown {
			return g.Start(ctx, sc)
		}
		go g.Start(ctx, sc) // so that two questions can be open; what comes of it is in the session's events
		return nil
	})
	run := conformance.ProducerRun{Dialer: d, Driver: atOnce, Level: 3, Manifest: g.Manifest, Keys: keys,
		Unauthenticated: []transports.Dialer{refusing}, OtherPrincipal: d, StolenStream: streamless{d}}
	if d != nil {
		run.OtherWays = []transports.Dialer{d}
	}
	return run
}

// refusing is a door that wants credentials, and gets none.
var refusing = dialer(func(context.Context) (transports.Conn, error) {
	return nil, &aaep.Rejection{Code: aaep.AuthenticationRequired}
})

// streamless is a way on which requests are answered, and no events come.
type streamless struct{ transports.Dialer }

func (d streamless) Dial(ctx context.Context) (transports.Conn, error) {
	c, err := d.Dialer.Dial(ctx)
	return &answeredOnly{Conn: c}, err
}

type answeredOnly struct {
	transports.Conn
	answered bool
}

func (c *answeredOnly) Receive(ctx context.Context) ([]byte, error) {
	if c.answered {
		return nil, io.EOF
	}
	c.answered = true
	return c.Conn.Receive(ctx)
}

// inBubble runs the suite in virtual time.
func inBubble(t *testing.T, run func(*target) conformance.ProducerRun) (report *conformance.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newTarget(t)
		var err error
		if report, err = run(g).Prove(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g.Producer.Shutdown(ctx)
	})
	return report
}

// hasPassed reports whether a case passed. What is below the messages is not reported in memory, no
// stream breaks there, and a target may be reached in one way only.
func hasPassed(r conformance.Result) bool {
	return r.Verdict == conformance.Pass || r.Verdict == conformance.Skipped &&
		(strings.HasPrefix(r.Case.Name, "binding") || strings.HasPrefix(r.Seen, "the driver or the agent does one thing") || strings.HasPrefix(r.Seen, "its transport has no event stream") ||
			strings.HasPrefix(r.Seen, "no way was given to open an event stream") ||
			strings.HasPrefix(r.Seen, "the agent could be reached in one way"))
}

// LVL-041, LVL-042, LVL-043: our own producer passes every case, and none of them for want of
// evidence.
func TestOurProducer(t *testing.T) {
	report := inBubble(t, func(g *target) conformance.ProducerRun { return checkExtraCases(g, g) })
	if report == nil {
		t.FailNow()
	}
	for _, r := range report.Results {
		if !hasPassed(r) {
			t.Errorf("%s %s (%s): %s\n%v", r.Verdict, r.Case.Name, r.Play, r.Seen, r.Evidence)
		}
	}
	if report.Verdict != conformance.Pass {
		t.Errorf("the verdict is %s", report.Verdict)
	}
	t.Log(report.Summary())
}
