package serve_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
)

// outcomeCount counts what was seen, so that a test that saw nothing is noticed.
type outcomeCount struct {
	Records, Asked, Accepted, Rejected, TimedOut, OpenAtDeath, Invoked, Ran, RanAtDeath, Stale, Torn int
}

// isWhole reports whether each kind of outcome came that thirty kills always bring about.
func (n *outcomeCount) isWhole() bool {
	return n.Ran > 0 && n.Rejected > 0 && n.OpenAtDeath > 0 && n.Stale > 0 && n.Torn > 0
}

// add adds the counts of m.
func (n *outcomeCount) add(m outcomeCount) {
	n.Records += m.Records
	n.Asked += m.Asked
	n.Accepted += m.Accepted
	n.Rejected += m.Rejected
	n.TimedOut += m.TimedOut
	n.OpenAtDeath += m.OpenAtDeath
	n.Invoked += m.Invoked
	n.Ran += m.Ran
	n.RanAtDeath += m.RanAtDeath
	n.Stale += m.Stale
	n.Torn += m.Torn
}

// toolRecord is all that is known of one tool: its name is used for one call only.
type toolRecord struct {
	call, question                               string
	asked, replied, settled, invoked, ended, ran []placedRecord
	undone                                       []placedRecord
}

// placedRecord is a record, in which life of the producer it was written, and where it ends in the
// file.
type placedRecord struct {
	audit.Entry
	life int
	end  int64
}

// examineFiles looks at what was left behind: the audit log, which must still have the head before,
// what ran, and which questions the listener had.
func examineFiles(dir, before string) (n outcomeCount, head string, err error) {
	data, err := os.ReadFile(auditPath(dir))
	if errors.Is(err, os.ErrNotExist) { // killed before its first step
		return n, before, nil
	}
	if err != nil {
		return n, "", err
	}
	rep, err := audit.Verify(bytes.NewReader(data), before)
	var fault *audit.Fault
	if errors.As(err, &fault) && fault.How == audit.TornEnd {
		err = nil
	}
	if err == nil && before != "" && rep.Anchored == 0 {
		err = errors.New("the trail is not the one that it was")
	}
	if err != nil {
		return n, "", err
	}
	n.Records, n.Torn = int(rep.Records), rep.Torn

	actions, byQuestion := map[string]*toolRecord{}, map[string]*toolRecord{}
	life, end := 0, int64(0)
	var lives []int64 // where they begin
	for line := range bytes.Lines(data) {
		end += int64(len(line))
		r := placedRecord{life: life, end: end}
		if json.Unmarshal(line, &r.Entry) != nil { // torn: Verify has seen that
			continue
		}
		if r.Kind == audit.Opened {
			life++
			lives = append(lives, end)
			continue
		}
		d := byQuestion[r.QuestionID]
		switch {
		case r.Kind == audit.Asked && r.Tool != "":
			if actions[r.Tool] != nil {
				return n, "", fmt.Errorf("%s is asked about twice", r.Tool)
			}
			n.Asked++
			d = &toolRecord{call: r.ToolCallID, question: r.QuestionID, asked: []placedRecord{r}}
			actions[r.Tool], byQuestion[r.QuestionID] = d, d
		case r.Kind == audit.Replied && !r.Counted:
			if d != nil && d.asked[0].life < life {
				n.Stale++
			}
		case r.Kind == audit.Replied && d != nil:
			d.replied = append(d.replied, r)
		case r.Kind == audit.Settled && d != nil:
			d.settled = append(d.settled, r)
		case r.Kind == audit.Settled && r.Cause == "unreachable": // and never asked: no subscriber was there
			if r.Decision == aaep.Accept {
				return n, "", fmt.Errorf("record %d accepts what was never asked", r.Seq)
			}
		case r.Kind == audit.Invoked && actions[r.Tool] != nil:
			actions[r.Tool].invoked = append(actions[r.Tool].invoked, r)
		case r.Kind == audit.NotDone && actions[r.Tool] != nil:
			actions[r.Tool].undone = append(actions[r.Tool].undone, r)
		case r.Kind == audit.Completed && actions[r.Tool] != nil:
			actions[r.Tool].ended = append(actions[r.Tool].ended, r)
		case r.Kind == audit.Asked && d != nil: // of one who came later
		default:
			return n, "", fmt.Errorf("record %d, %q of %s, belongs to nothing", r.Seq, r.Kind,
				cmp.Or(r.Tool, r.QuestionID))
		}
	}

	effects, err := readNotes(effectsPath(dir))
	if err != nil {
		return n, "", err
	}
	for _, e := range effects {
		d := actions[e[0]]
		if d == nil {
			return n, "", fmt.Errorf("%s ran and was not asked about", e[0])
		}
		var size int64
		fmt.Sscan(e[1], &size)
		then := 0 // the life in which it ran
		for then < len(lives) && lives[then] <= size {
			then++
		}
		d.ran = append(d.ran, placedRecord{audit.Entry{Record: audit.Record{Kind: "ran"}}, then, size})
	}
	begun := 0 // the newest life that asked something, and so had settled what was open before
	for _, d := range actions {
		begun = max(begun, d.asked[0].life)
	}
	for name, d := range actions {
		if err := d.checkLife(name, begun, &n); err != nil {
			return n, "", fmt.Errorf("%s, call %s, question %s: %w", name, d.call, d.question, err)
		}
	}
	tokens, err := readNotes(tokensPath(dir))
	if err != nil {
		return n, "", err
	}
	for _, was := range tokens { // each subscription that was asked is on record
		if d := actions[was[2]]; d == nil || d.question != audit.QuestionID(aaep.ReplyToken(was[0])) {
			return n, "", fmt.Errorf("the listener was asked about %s, and that is not on record", was[2])
		}
	}
	return n, rep.Head, nil
}

// checkLife returns what is wrong with the records of one question and its tool, and counts its
// outcome in n. begun is the newest life that asked something.
func (d *toolRecord) checkLife(name string, begun int, n *outcomeCount) error {
	first := d.asked[0]
	inOrder := func(before, after []placedRecord) bool {
		return len(after) == 0 || len(before) == 1 && before[0].end < after[0].end && before[0].life == after[0].life
	}
	for _, all := range [][]placedRecord{d.asked, d.replied, d.settled, d.invoked, d.ended, d.ran} {
		if len(all) > 1 {
			return fmt.Errorf("%q happened %d times", all[0].Kind, len(all))
		}
		for _, r := range all {
			// What a crash left open is withdrawn by the life that goes on.
			left := r.Kind == audit.Settled && r.Cause == "withdrawn" && r.Decision == aaep.Reject && r.life > first.life
			switch {
			case r.life != first.life && !left:
				return fmt.Errorf("%q happened in life %d, and it was asked in life %d", r.Kind, r.life, first.life)
			case r.ToolCallID != d.call && r.ToolCallID != "":
				return fmt.Errorf("record %d is of the call %s", r.Seq, r.ToolCallID)
			}
		}
	}
	if len(d.undone) > 1 || len(d.undone) == 1 && (len(d.settled) != 1 || len(d.invoked)+len(d.ran) > 0) {
		return fmt.Errorf("it is on record %d times as not done, and was invoked %d times", len(d.undone),
			len(d.invoked))
	}
	said := answerTo(name)
	accepted := len(d.settled) == 1 && d.settled[0].Decision == aaep.Accept
	switch {
	case !inOrder(d.asked, d.settled) && d.settled[0].life == first.life || !inOrder(d.settled, d.invoked) || !inOrder(d.invoked, d.ended):
		return errors.New("the records are not in order, or one is missing")
	case len(d.replied) == 1 && d.replied[0].Claims.Decision != said:
		return fmt.Errorf("the listener says %q, and %q was counted", said, d.replied[0].Claims.Decision)
	case accepted && (d.settled[0].Cause != "replied" || said != aaep.Accept || !inOrder(d.replied, d.settled)):
		return fmt.Errorf("it was accepted because it was %s; the listener says %q", d.settled[0].Cause, said)
	case accepted && len(d.invoked)+len(d.undone) == 0 && d.settled[0].life < begun:
		return errors.New("it was accepted in a life that is over, and nothing says what came of it")
	case len(d.settled) == 0 && first.life < begun:
		return errors.New("it was asked in a life that is over, and has no outcome")
	case len(d.invoked) == 1 && !accepted:
		return errors.New("it was invoked, and not accepted")
	case len(d.ran) == 1 && len(d.invoked) == 0:
		return errors.New("it ran, and that it would is not on record")
	case len(d.ran) == 1 && d.invoked[0].end > d.ran[0].end:
		return errors.New("it ran before it was on record that it would")
	case len(d.ended) == 1 && d.ended[0].Status == aaep.ToolSuccess && len(d.ran) == 0:
		return errors.New("it was done, and did not run")
	}
	n.Invoked += len(d.invoked)
	n.Ran += len(d.ran)
	switch {
	case len(d.settled) == 0 || d.settled[0].life > first.life:
		n.OpenAtDeath++
	case accepted:
		n.Accepted++
	case d.settled[0].Cause == "timed_out":
		n.TimedOut++
	default:
		n.Rejected++
	}
	if len(d.ran) == 1 && len(d.ended) == 0 {
		n.RanAtDeath++
	}
	return nil
}
