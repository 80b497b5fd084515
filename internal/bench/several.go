package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep/producer"
)

const agentCount = 50 // in several

// agentGroup are agents of one process, with listeners of their own.
type agentGroup []*ourServer

// startMany starts agentCount agents in one process, each with an address of its own, and returns
// the addresses with blanks between.
func startMany(wireName, dir string, listeners int) (target, string, error) {
	var all agentGroup
	var addrs []string
	for i := range agentCount {
		agentDir := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(agentDir, 0o700); err != nil {
			return nil, "", err
		}
		t, addr, err := startServer(ours, wireName, agentDir, listeners)
		if err != nil {
			return nil, "", err
		}
		all, addrs = append(all, t.(*ourServer)), append(addrs, addr)
	}
	return all, strings.Join(addrs, " "), nil
}

func (all agentGroup) emitEvents(int) error { return nil }
func (all agentGroup) emitCritical() error  { return nil }

// countListeners returns how many listeners all agents have.
func (all agentGroup) countListeners() (n int) {
	for _, p := range all {
		n += p.countListeners()
	}
	return n
}

// countHeld returns how many events wait.
func (all agentGroup) countHeld() (n int) {
	for _, p := range all {
		n += p.Stats().Held
	}
	return n
}

// streamTokens has each agent write so many tokens a second for the time d, in sentences of twelve,
// and returns at the end.
func (all agentGroup) streamTokens(tokens int, d time.Duration) error {
	var outs []*producer.Output
	for _, p := range all {
		outs = append(outs, p.s.Output())
	}
	every := time.NewTicker(time.Second / time.Duration(tokens))
	defer every.Stop()
	for n, end := 1, time.Now().Add(d); time.Now().Before(end); n++ {
		token := "word "
		if n%12 == 0 {
			token = "end. "
		}
		for _, out := range outs {
			if _, err := out.WriteString(token); err != nil {
				return err
			}
		}
		<-every.C
	}
	for _, out := range outs {
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}
