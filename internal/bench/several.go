package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep/producer"
)

const agents = 50 // in several

// several are agents of one process, with listeners of their own.
type several []*producing

func startMany(wireName, dir string, listeners int) (target, string, error) {
	var all several
	var addrs []string
	for i := range agents {
		own := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, "", err
		}
		t, addr, err := start(ours, wireName, own, listeners)
		if err != nil {
			return nil, "", err
		}
		all, addrs = append(all, t.(*producing)), append(addrs, addr)
	}
	return all, strings.Join(addrs, " "), nil
}

func (all several) emit(int) error { return nil }
func (all several) alarm() error   { return nil }

func (all several) here() (n int) {
	for _, p := range all {
		n += p.here()
	}
	return n
}

// held is how many events wait.
func (all several) held() (n int) {
	for _, p := range all {
		n += p.Stats().Held
	}
	return n
}

// stream has each agent say so many tokens a second for a while.
func (all several) stream(tokens int, d time.Duration) error {
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
