package manifest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/lockfile"
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

// Error says both keys, since when the first was known, and what may have happened, for the person.
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
// theirs. An agent that was never met, and what is no thumbprint, are errors.
func (f *FirstUse) Accept(agentID, thumbprint string) error {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(thumbprint)
	// The decoder skips newlines, so the length is compared too.
	if err != nil || len(sum) != sha256.Size || len(thumbprint) != base64.RawURLEncoding.EncodedLen(len(sum)) {
		return fmt.Errorf("manifest: %q is not the thumbprint of a key", credentials.OneLine(thumbprint))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	agents, err := f.readFile()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(agents, func(a knownAgent) bool { return a.AgentID == agentID })
	if i < 0 {
		return fmt.Errorf("manifest: %q was never met", credentials.OneLine(agentID))
	}
	agents[i].Key, agents[i].Since = thumbprint, time.Now().UTC()
	delete(f.first, agentID)
	return f.writeFile(agents)
}

// meetAgent remembers the agent of a verified manifest, or compares key, the thumbprint of its key,
// with the one that it, or the agent at its address, is known by. address is canonical, or "". A
// settled key, which does not come from the agent itself, is right in any case and takes the place
// of the known one. It returns the id of an agent met before whose name or id looks the same, or
// "", and whether this is still the first meeting. The error is a *KeyChangedError, or says what is
// wrong with the file.
func (f *FirstUse) meetAgent(m *Manifest, key, address string, settled bool, now time.Time) (looksLike string,
	first bool, err error) {
	if len(m.AgentID)+len(m.AgentName)+len(address) > maxNames {
		return "", false, fmt.Errorf("%w: its id, name and address are too long to remember", errPayload)
	}
	f.mu.Lock()
	defer f.mu.Unlock()

	agents, err := f.readFile()
	if err != nil {
		return "", false, err
	}
	index := slices.IndexFunc(agents, func(a knownAgent) bool { return a.AgentID == m.AgentID })
	looksLike = findLookalike(agents, index, m)
	known := index >= 0
	if !settled {
		renamed, err := f.checkKeyChange(agents, index, m, key, address)
		if err != nil {
			return "", false, err
		}
		known = known || renamed
	}

	if agents, changed := recordAgent(agents, index, m, key, address, now); changed {
		if err := f.writeFile(agents); err != nil {
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

// checkUnsigned is Trust.CheckUnsigned for an address that is canonical, or "".
func (f *FirstUse) checkUnsigned(address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	agents, err := f.readFile()
	if err != nil {
		return err
	}
	for _, a := range slices.Backward(agents) {
		if a.wasMetAt(address) {
			return fmt.Errorf("%w: at %s %q is known since %s, and what is there now proves nothing. Either it was started "+
				"in another way, or somebody else has taken its place. Those who run it know",
				ErrProvedBefore, credentials.OneLine(address), credentials.OneLine(a.AgentID), a.Since.UTC().Format("2 January 2006"))
		}
	}
	return ErrUnsigned
}

// checkKeyChange refuses, with a *KeyChangedError, a key that is another one than the agent of m is
// known by, or, where that agent was never met at address, than any agent that was. It reports
// whether an agent known from before this file was opened has that key at that address: it is then
// the same one under a new id. index is that of m's agent in agents, or -1. f.mu is held.
func (f *FirstUse) checkKeyChange(agents []knownAgent, index int, m *Manifest, key, address string) (renamed bool,
	err error) {
	if index >= 0 && agents[index].Key != key {
		return false, &KeyChangedError{AgentID: m.AgentID, Known: agents[index].Key, Presented: key,
			Since: agents[index].Since, File: f.path}
	}
	if index >= 0 && agents[index].wasMetAt(address) {
		return false, nil
	}
	for _, a := range slices.Backward(agents) {
		switch {
		case !a.wasMetAt(address):
		case a.Key != key:
			return false, &KeyChangedError{AgentID: a.AgentID, Now: m.AgentID, Address: address, Known: a.Key,
				Presented: key, Since: a.Since, File: f.path}
		case !f.first[a.AgentID]:
			renamed = true
		}
	}
	return renamed, nil
}

// recordAgent returns agents with the agent of m, its key and its address in them, and whether that
// changed them, so that the file must be written. index is that of m's agent, or -1. Of the
// addresses the newest maxAddresses stay.
func recordAgent(agents []knownAgent, index int, m *Manifest, key, address string, now time.Time) (_ []knownAgent,
	changed bool) {
	if index < 0 {
		index, changed = len(agents), true
		agents = append(agents, knownAgent{AgentID: m.AgentID, AgentName: m.AgentName, Key: key, Since: now.UTC()})
	}
	a := &agents[index]
	if a.Key != key {
		a.Key, a.Since, changed = key, now.UTC(), true
	}
	if address != "" && !a.wasMetAt(address) {
		a.Addresses, changed = append(a.Addresses, address), true
		a.Addresses = a.Addresses[max(0, len(a.Addresses)-maxAddresses):]
	}
	return agents, changed
}

// wasMetAt reports whether the agent was met at an address, which is canonical; "" is none.
func (a *knownAgent) wasMetAt(address string) bool {
	return address != "" && slices.Contains(a.Addresses, address)
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

// findLookalike returns the agent_id of the first other agent that the one of m could be taken for,
// or "". index is that of m's agent in agents, or -1 where it was never met. Only agents that were
// met before m's are looked at, for an agent is no lookalike of those that came after it; but all
// are compared with a name that m's agent has taken since.
func findLookalike(agents []knownAgent, index int, m *Manifest) string {
	renamed := index >= 0 && agents[index].AgentName != m.AgentName
	for i, a := range agents {
		if i == index {
			continue
		}
		metBefore := index < 0 || i < index
		sameName := a.AgentName != "" && (a.AgentName == m.AgentName || looksAlike(a.AgentName, m.AgentName))
		hasLikeID := metBefore && looksAlike(a.AgentID, m.AgentID)
		hasLikeName := (metBefore || renamed) && sameName
		if hasLikeID || hasLikeName {
			return a.AgentID
		}
	}
	return ""
}

// readFile returns the agents in the file, in the order of meeting; none where there is no file. A
// file that others can open, or that has another form, is an error.
func (f *FirstUse) readFile() ([]knownAgent, error) {
	text, err := credentials.ReadOwn(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var agents []knownAgent
	if err == nil {
		err = jsonv2.Unmarshal(text, &agents, jsonv2.RejectUnknownMembers(true))
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: the agents that were met cannot be read: %w", err)
	}
	return agents, nil
}

// writeFile puts a new file with these agents in the place of the old one; f.mu is held. If it
// fails, the old file stays as it is. A list too long to be read again is an error.
func (f *FirstUse) writeFile(agents []knownAgent) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("manifest: the agents that were met cannot be kept: %w", err)
		}
	}()
	text, err := jsonv2.Marshal(agents, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if len(text) >= credentials.MaxFile { // or it could not be read any more
		return errors.New("there is no room for another; take those that are gone out of the file")
	}
	return lockfile.WriteWhole(f.path, append(text, '\n'), 0o600)
}
