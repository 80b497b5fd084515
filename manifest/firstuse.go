package manifest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/credentials"
)

// FirstUse is a file that remembers which key each agent signed with when it was first met, and at
// which addresses. It notices that an agent was replaced later, by one of its own id or of another,
// and not that it was an impostor from the start: see Identity.FirstMeeting. It may be used by many
// goroutines at once; programs that share a file should not write to it at the same moment.
type FirstUse struct {
	path string
	mu   sync.Mutex
	// first are the ids of agents that were met for the first time since the file was opened.
	first map[string]bool
}

// maxAddresses is how many addresses are remembered of an agent, the newest: one that is started at
// a port of its own each time must not soon make those forgotten that stay.
const maxAddresses = 256

// maxNames is how many bytes of id and name are remembered of an agent.
const maxNames = 4096

// A knownAgent is an agent that was met before, in the order of meeting.
type knownAgent struct {
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name,omitzero"`
	Key       string    `json:"key"`
	Since     time.Time `json:"since"`
	Addresses []string  `json:"addresses,omitzero"` // files of older versions have none
}

// KeyChangedError is an agent that signs with another key than before, or another agent, of another
// key, at the address of one that was met there. It is ErrKeyChanged, for errors.Is.
type KeyChangedError struct {
	// AgentID is the agent that is known. Accept takes it, in both cases.
	AgentID string
	// Now is the id of the other agent at Address; or both are empty.
	Now, Address string
	// Known is the thumbprint of the key that it is known by since Since, Presented that of the one
	// it has now.
	Known, Presented string
	Since            time.Time
	// File is what remembers the known key, as it was given to OpenFirstUse.
	File string
}

func (e *KeyChangedError) Error() string {
	if e.Now != "" {
		return fmt.Sprintf(
			"%v: at %s %q is known since %s by the key %s, and now %q is there, and signs with %s. Either the agent "+
				"was given a new name and a new key, or somebody else has taken its place. Those who run it know",
			ErrKeyChanged, credentials.OneLine(e.Address), credentials.OneLine(e.AgentID),
			e.Since.UTC().Format("2 January 2006"), e.Known, credentials.OneLine(e.Now), e.Presented)
	}
	return fmt.Sprintf(
		"%v: %q is known since %s by the key %s, and now signs with %s. Either it was given a new key, or somebody "+
			"else has taken its place. Those who run it know",
		ErrKeyChanged, credentials.OneLine(e.AgentID), e.Since.UTC().Format("2 January 2006"), e.Known, e.Presented)
}

// Is reports whether target is ErrKeyChanged.
func (e *KeyChangedError) Is(target error) bool { return target == ErrKeyChanged }

// OpenFirstUse uses a file, which is made when the first agent is met, for its owner only.
func OpenFirstUse(path string) (*FirstUse, error) {
	f := &FirstUse{path: path}
	_, err := f.readFile()
	return f, err
}

// Accept lets a known agent have another key from now on, and no third one: that which a
// KeyChangedError presented, after a person has heard from those who run the agent that it is
// theirs.
func (f *FirstUse) Accept(agentID, thumbprint string) error {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(thumbprint)
	if err != nil || len(sum) != sha256.Size || len(thumbprint) != base64.RawURLEncoding.EncodedLen(len(sum)) {
		// newlines are skipped
		return fmt.Errorf("manifest: %q is not the thumbprint of a key", credentials.OneLine(thumbprint))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.readFile()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(a knownAgent) bool { return a.AgentID == agentID })
	if i < 0 {
		return fmt.Errorf("manifest: %q was never met", credentials.OneLine(agentID))
	}
	all[i].Key, all[i].Since = thumbprint, time.Now().UTC()
	delete(f.first, agentID)
	return f.writeFile(all)
}

// meetAgent remembers an agent, or compares its key with the one that it, or its address, is known
// by; a key that is settled is right in any case. It returns the agent met before this one whose
// name or id looks the same, and whether this is still the first meeting.
func (f *FirstUse) meetAgent(m *Manifest, key, address string, settled bool, now time.Time) (looksLike string,
	first bool,
	err error) {
	if len(m.AgentID)+len(m.AgentName)+len(address) > maxNames {
		return "", false, fmt.Errorf("%w: its id, name and address are too long to remember", errPayload)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.readFile()
	if err != nil {
		return "", false, err
	}
	own := slices.IndexFunc(all, func(a knownAgent) bool { return a.AgentID == m.AgentID })
	looksLike = lookingLike(all, own, m)
	if own >= 0 && all[own].Key != key && !settled {
		return "", false,
			&KeyChangedError{AgentID: m.AgentID, Known: all[own].Key, Presented: key, Since: all[own].Since,
				File: f.path}
	}
	here := func(a knownAgent) bool { return address != "" && slices.Contains(a.Addresses, address) }
	known := own >= 0
	if !settled && (own < 0 || !here(all[own])) {
		for _, a := range slices.Backward(all) {
			switch {
			case !here(a):
			case a.Key != key:
				return "", false, &KeyChangedError{AgentID: a.AgentID, Now: m.AgentID, Address: address, Known: a.Key,
					Presented: key, Since: a.Since, File: f.path}
			default:
				known = known || !f.first[a.AgentID] // the same key at the same address, under a new name
			}
		}
	}
	changed := own < 0
	if changed {
		own, all = len(all),
			append(all, knownAgent{AgentID: m.AgentID, AgentName: m.AgentName, Key: key, Since: now.UTC()})
	}
	if all[own].Key != key {
		all[own].Key, all[own].Since, changed = key, now.UTC(), true
	}
	if address != "" && !here(all[own]) {
		all[own].Addresses, changed = append(all[own].Addresses, address), true
		all[own].Addresses = all[own].Addresses[max(0, len(all[own].Addresses)-maxAddresses):]
	}
	if changed {
		if err := f.writeFile(all); err != nil {
			return "", false, err
		}
	}
	switch {
	case settled:
		delete(f.first, m.AgentID)
	case !known:
		if f.first == nil {
			f.first = map[string]bool{}
		}
		f.first[m.AgentID] = true
	}
	return looksLike, f.first[m.AgentID], nil
}

// canonicalAddress returns an address as it is compared: with a host in lower case, and without its
// scheme's own port.
func canonicalAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + strings.TrimSuffix(host, ".") + strings.TrimSuffix(u.EscapedPath(), "/")
}

// lookingLike is the agent_id of the first agent that the one of m, which is at own or was never
// met, passes for: one that was met before it, or that has the name it has taken since. Who was
// there first is not like those who came after.
func lookingLike(all []knownAgent, own int, m *Manifest) string {
	renamed := own >= 0 && all[own].AgentName != m.AgentName
	for i, a := range all {
		before := own < 0 || i < own
		names := a.AgentName != "" && (a.AgentName == m.AgentName || looksAlike(a.AgentName, m.AgentName))
		if i != own && (before && looksAlike(a.AgentID, m.AgentID) || (before || renamed) && names) {
			return a.AgentID
		}
	}
	return ""
}

// readFile returns the agents in the file; none where there is no file.
func (f *FirstUse) readFile() ([]knownAgent, error) {
	text, err := credentials.ReadOwn(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []knownAgent
	if err == nil {
		err = jsonv2.Unmarshal(text, &all, jsonv2.RejectUnknownMembers(true))
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: the agents that were met cannot be read: %w", err)
	}
	return all, nil
}

// writeFile puts a new file in the place of the old one.
func (f *FirstUse) writeFile(all []knownAgent) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("manifest: the agents that were met cannot be kept: %w", err)
		}
	}()
	text, err := jsonv2.Marshal(all, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if len(text) >= credentials.MaxFile { // or it could not be read any more
		return errors.New("there is no room for another; take those that are gone out of the file")
	}
	next, err := os.CreateTemp(filepath.Dir(f.path), ".aaep-met-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(next.Name())
	_, err = next.Write(append(text, '\n'))
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), f.path)
}
