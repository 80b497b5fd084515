// Package natstest starts real NATS servers for tests, so that what kills them is real. The server
// is built from the module that tools/go.mod names.
//
// Starting and ending servers are in natstest.go, their certificates in certificates.go, and
// stopping one for a while is in the files pause_*.go.
package natstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/faultproxy"
	"github.com/aaep-go/aaep/internal/freeport"
)

// Cluster is some servers that are one cluster, or one server alone.
type Cluster struct {
	Servers []*Server

	routes map[[2]int]*faultproxy.Proxy // from one server to another
}

// Server is one of them.
type Server struct {
	// URL is where clients reach it.
	URL string

	// Files is the folder of what it keeps.
	Files string

	t       testing.TB
	name    string
	args    []string
	monitor string
	cmd     *exec.Cmd
	log     bytes.Buffer
}

// binary builds the server, which takes a while when Go's build cache has nothing of it yet, and
// returns where it is.
var binary = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "tool", "-n", "-modfile=tools/go.mod", "nats-server")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(root)))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	var problem strings.Builder
	cmd.Stderr = &problem
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, problem.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// Start starts count servers and waits until they are ready: 1, or a cluster of 3 or more. More is
// added to what they are configured with.
func Start(t testing.TB, count int, more ...string) *Cluster {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("the NATS server cannot be built: %v", err)
	}
	c, dir := &Cluster{routes: map[[2]int]*faultproxy.Proxy{}}, t.TempDir()
	ports := free(3 * count)
	for i := range count {
		s := &Server{t: t, name: fmt.Sprintf("n%d", i+1), URL: fmt.Sprintf("nats://127.0.0.1:%d", ports[3*i]), monitor: fmt.Sprintf("http://127.0.0.1:%d", ports[3*i+2])}
		s.Files = filepath.Join(dir, s.name)
		conf := fmt.Sprintf("server_name: %s\nlisten: \"127.0.0.1:%d\"\nhttp: \"127.0.0.1:%d\"\nmax_payload: 8MB\njetstream {\n store_dir: %q\n}\n",
			s.name, ports[3*i], ports[3*i+2], s.Files)
		if count > 1 {
			conf = strings.Replace(conf, "store_dir", "sync_interval: always\n store_dir", 1)
			// They know each other by the proxies between them alone: none advertises another
			// route.
			var routes []string
			for j := range count {
				if j != i {
					routes = append(routes, "nats://"+c.between(t, i, j, ports[3*j+1]))
				}
			}
			conf += fmt.Sprintf("cluster {\n name: test\n listen: \"127.0.0.1:%d\"\n advertise: \"127.0.0.1:1\"\n no_advertise: true\n routes: [\"%s\"]\n}\n",
				ports[3*i+1], strings.Join(routes, `","`))
		}
		conf += strings.Join(more, "\n")
		file := filepath.Join(dir, s.name+".conf")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		s.args = []string{path, "-c", file}
		c.Servers = append(c.Servers, s)
		s.Start()
		t.Cleanup(s.Kill)
	}
	c.Ready()
	return c
}

// between makes the way from one server to another's port.
func (c *Cluster) between(t testing.TB, from, to, port int) string {
	c.routes[[2]int{from, to}] = proxy(t, fmt.Sprintf("127.0.0.1:%d", port))
	return c.routes[[2]int{from, to}].Addr().String()
}

// proxy starts a proxy on a free port that passes connections on to target, until the test ends.
func proxy(t testing.TB, target string) *faultproxy.Proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asIs := func(int) (up, down faultproxy.Line) { return }
	p := faultproxy.New(ln, func() (net.Conn, error) { return net.Dial("tcp", target) }, asIs)
	t.Cleanup(func() { p.Close() })
	return p
}

// Tear tears the network between a server and the others, for what it sends, for what they send, or
// for both. With false for both it is whole again.
func (c *Cluster) Tear(s *Server, sends, hears bool) {
	i := slices.Index(c.Servers, s)
	for j := range c.Servers {
		if j != i {
			c.routes[[2]int{i, j}].Hold(sends, hears)
			c.routes[[2]int{j, i}].Hold(hears, sends)
		}
	}
}

// Behind returns a proxy in front of a server, for one client, and where that reaches it.
func (s *Server) Behind() (p *faultproxy.Proxy, url string) {
	p = proxy(s.t, strings.TrimPrefix(s.URL, "nats://"))
	return p, "nats://" + p.Addr().String()
}

// free finds TCP ports that are not in use, and that the system gives to no program while a server
// is dead.
func free(count int) (ports []int) {
	for len(ports) < count {
		_, text, _ := net.SplitHostPort(freeport.Addr())
		if port, err := strconv.Atoi(text); err == nil && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// URLs returns where clients reach the servers, separated by commas.
func (c *Cluster) URLs() string {
	var all []string
	for _, s := range c.Servers {
		all = append(all, s.URL)
	}
	return strings.Join(all, ",")
}

// Ready waits until every server that runs says that it is healthy, and the one that leads hears
// all of them. The test fails where that takes longer than leads.
func (c *Cluster) Ready() {
	running := 0
	for _, s := range c.Servers {
		for deadline := time.Now().Add(leads); s.cmd != nil && !s.get("/healthz", nil); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				s.t.Fatalf("server %s is not ready:\n%s", s.name, &s.log)
			}
		}
		if s.cmd != nil {
			running++
		}
	}
	for deadline := time.Now().Add(leads); running > 1 && c.countTogether() < running; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Servers[0].t.Fatalf("nobody leads %d servers", running)
		}
	}
}

// countTogether returns the number of servers that the leader of the cluster hears, counting
// itself; 0 while there is no leader.
func (c *Cluster) countTogether() int {
	for _, s := range c.Servers {
		var all struct {
			Meta struct {
				Leader   string
				Replicas []struct{ Offline bool }
			} `json:"meta_cluster"`
		}
		if s.cmd == nil || !s.get("/jsz", &all) || all.Meta.Leader != s.name {
			continue
		}
		n := 1
		for _, other := range all.Meta.Replicas {
			if !other.Offline {
				n++
			}
		}
		return n
	}
	return 0
}

// leads is longer than it takes until a stream has a leader. A server that hears no other
// checks every ten seconds whether that has lasted ten seconds, which makes twenty at most. The
// others wait nine more. Then it opposes each leader that they elect, perhaps a few times, for NATS
// has no vote before the vote.
const leads = 2 * time.Minute

// Leader waits until a stream has a leader, other than those given, and returns that. The test
// fails where there is none in time.
func (c *Cluster) Leader(stream string, others ...*Server) *Server {
	for deadline := time.Now().Add(leads); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, s := range c.Servers {
			var all struct {
				Accounts []struct {
					Streams []struct {
						Name    string
						Cluster struct{ Leader string }
					} `json:"stream_detail"`
				} `json:"account_details"`
			}
			if s.cmd == nil || slices.Contains(others, s) || !s.get("/jsz?streams=true", &all) {
				continue
			}
			for _, a := range all.Accounts {
				for _, st := range a.Streams {
					if st.Name == stream && st.Cluster.Leader == s.name {
						return s
					}
				}
			}
		}
	}
	c.Servers[0].t.Fatalf("the stream %s has no leader", stream)
	return nil
}

// Of returns the server that a client of that name is connected to. The test fails where there is
// none.
func (c *Cluster) Of(client string) *Server {
	for _, s := range c.Servers {
		var all struct {
			Connections []struct{ Name string }
		}
		if s.cmd == nil || !s.get("/connz", &all) {
			continue
		}
		for _, one := range all.Connections {
			if one.Name == client {
				return s
			}
		}
	}
	c.Servers[0].t.Fatalf("%s is connected to no server", client)
	return nil
}

// get asks the server's monitoring port for a path, decodes its JSON answer into into, unless that
// is nil, and reports whether the server answered.
func (s *Server) get(path string, into any) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.monitor+path, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false
	}
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	return err == nil
}

// Start starts a server that does not run, with the files that it had.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// Kill kills a server at once, as kill -9 does, and waits for its end; one that is dead stays so.
func (s *Server) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}
