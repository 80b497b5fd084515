package sse

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

type frameCase struct {
	ID, Target, Transport, Base64, Status, Reason string
	Delivers                                      int
	Parts                                         []struct {
		Base64 string
		Times  int
	}
}

// rawBytes returns the bytes of the case, of which parts may come many times.
func (c frameCase) rawBytes(t *testing.T) []byte {
	t.Helper()
	var all []byte
	add := func(text string, times int) {
		raw, err := base64.StdEncoding.DecodeString(text)
		requireNoError(t, err)
		all = append(all, bytes.Repeat(raw, times)...)
	}
	add(c.Base64, 1)
	for _, p := range c.Parts {
		add(p.Base64, p.Times)
	}
	return all
}

// readFrameCases returns the corpus cases of raw bytes on one transport.
func readFrameCases(t *testing.T, transport string) []frameCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the hostile-input corpus is not beside the repository: ", err)
	}
	var corpus struct{ Cases []frameCase }
	requireNoError(t, json.Unmarshal(data, &corpus))
	var cases []frameCase
	for _, c := range corpus.Cases {
		if c.Target == "frame" && c.Transport == transport {
			cases = append(cases, c)
		}
	}
	if len(cases) < 20 {
		t.Errorf("only %d cases", len(cases))
	}
	return cases
}

// Whatever a stream brings, as many events come out of it as there are, and the next stream is read
// all the same. INV-32, TR-003
func TestCorpusStreams(t *testing.T) {
	for _, c := range readFrameCases(t, "sse") {
		t.Run(c.ID, func(t *testing.T) {
			raw, opened := c.rawBytes(t), 0
			sub, _ := producer{events: func(w http.ResponseWriter, r *http.Request) {
				if opened++; opened == 1 {
					beginStream(w, string(raw))
					return
				}
				beginStream(w, "data: "+string(numberedData(1))+"\n\n")
				<-r.Context().Done()
			}}.dialAccepted(t, nil)
			events := 0
			for {
				msg, err := sub.Receive(t.Context())
				if errors.Is(err, transports.ErrInterrupted) {
					break
				}
				requireNoError(t, err)
				if m, err := aaep.Decode(msg); err == nil && strings.HasPrefix(m.MessageType(), "aaep:") {
					events++
				}
			}
			if events != c.Delivers {
				t.Errorf("%d events, want %d: %s", events, c.Delivers, c.Reason)
			}
			requireNoError(t, sub.Reopen(t.Context()))
			wantMessage(t, sub, string(numberedData(1)))
		})
	}
}

// bySecret knows two principals by what they send.
func bySecret(r *http.Request) (string, error) {
	name, ok := map[string]string{"Bearer secret": "alice", "Bearer bob": "bob"}[r.Header.Get("Authorization")]
	if !ok {
		return "", errors.New("unknown credentials")
	}
	return name, nil
}

// Whatever a listener is sent, it answers with the status of its kind, nothing but good replies
// goes further, and the others do not notice. Upgrades are for another package; here they are only
// refused. INV-44, INV-45, INV-43
func TestCorpusRequests(t *testing.T) {
	for _, c := range readFrameCases(t, "http") {
		t.Run(c.ID, func(t *testing.T) {
			s, url := serveLoopback(t, ServerOptions{Authenticate: bySecret})
			s.bodyTime = 200 * time.Millisecond
			mine, _, _ := openPair(t, s, Dialer{URL: url, Header: http.Header{"Authorization": {"Bearer secret"}}},
				"sub_mine")
			_, theirs, st := openPair(t, s, Dialer{URL: url, Header: http.Header{"Authorization": {"Bearer bob"}}},
				"sub_theirs")
			host := strings.TrimPrefix(url, "http://")
			raw := strings.NewReplacer("@HOST@", host, "@TOKEN@", "secret", "@SUB@", "sub_mine", "@OTHER@",
				"sub_theirs").Replace(string(c.rawBytes(t)))
			_, body, _ := strings.Cut(raw, "\r\n\r\n")
			raw = strings.Replace(raw, "@LEN@", strconv.Itoa(len(body)), 1)

			var d net.Dialer
			conn, err := d.DialContext(t.Context(), "tcp", host)
			requireNoError(t, err)
			defer conn.Close()
			requireNoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			_, err = io.WriteString(conn, raw)
			requireNoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			requireNoError(t, err)
			resp.Body.Close()
			want := c.Status
			if strings.Contains(raw, "/aaep/v1/ws ") {
				want = "4xx"
			}
			ok := false
			for w := range strings.SplitSeq(want, "|") {
				ok = ok || strings.TrimRight(w, "x") == fmt.Sprint(resp.StatusCode)[:len(strings.TrimRight(w, "x"))]
			}
			if !ok {
				t.Errorf("%s, want %s: %s", resp.Status, want, c.Reason)
			}
			if want == "2xx" {
				wantMessage(t, mine, body)
			}
			select {
			case msg := <-mine.(*prompt).got:
				t.Errorf("the producer got %s", msg)
			default:
			}
			requireNoError(t, st.SendEvents(withinAMinute(t), []transports.Event{{Message: numberedData(1), ID: "e1"}}))
			wantMessage(t, theirs, string(numberedData(1)))
		})
	}
}
