package producer

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/safetext"
)

// maxWrite is the most text in one event of the log, in bytes.
const maxWrite = 8192

// Output is one streamed answer: an io.WriteCloser that takes tokens as the model makes them. Each
// subscriber gets them cut at the boundaries it asked for. Close it to say that the answer is
// whole.
//
// Text is told in Unicode normal form C, with every line end as a line feed, and with characters
// that could deceive made visible (see aaep.SafeText), and fillers kept. All methods may be called
// at once. After its Close they return an error that is os.ErrClosed, and after the session's end
// ErrSessionOver.
type Output struct {
	// All fields but s and id are guarded by the Session's mu.
	s             *Session
	id            string
	position      int64       // where the next chunk starts, in code points
	language      string      // the tag of the language of the text that is written next
	contentType   string      // the media type of that; empty where the protocol has no form for it
	extensionData aaep.Text   // the data of extensions that goes with that
	held          string      // the end of the text so far, until what follows shows how to write it
	listed        bool        // it is among the Session's outputs, which the end of the session closes
	gathering     bool        // a subscription is far behind: text is gathered
	gathered      string      // text in its final form that is yet to be emitted
	gatherTimer   *time.Timer // emits gathered; nil: nothing is gathered
	emitted       uint64      // how many chunks were emitted
	separated     bool        // an event followed the last text: what comes must not combine with it
	begun         bool        // its first chunk is about to be emitted, or has been
	closed        bool
}

// Output begins a new streamed answer. Nothing is announced before the first text.
func (s *Session) Output() *Output {
	if s == nil || s.p == nil { // its methods return ErrNoSession
		return &Output{s: &Session{}}
	}
	return &Output{s: s, id: newID("out_"), language: s.p.cfg.Language, contentType: "text/plain"}
}

// SetLanguage says in which language the text is that is written from now on, as a tag such as
// yo-NG; it chooses the voice and the braille table (§11.5.3). Until then it is Config.Language.
func (o *Output) SetLanguage(tag string) error {
	if !isLanguage(tag) {
		return fmt.Errorf("producer: SetLanguage: %w", invalidMember("output", "EVT-065", "/language",
			"must be the tag of a language, such as en-US"))
	}
	return o.changeAttribute(func() { o.language = tag })
}

// SetContentType says what the text is that is written from now on, such as text/markdown.
// Parameters are left out. Until then it is text/plain.
func (o *Output) SetContentType(media string) error {
	media, _, _ = strings.Cut(media, ";")
	if o == nil || o.s == nil {
		return ErrNoSession
	}
	return tryAttribute(o, &o.contentType, strings.TrimSpace(media))
}

// With puts data of an extension, as Text.With, on the text that is written from now on: the place
// of a caption, for example. Of one extension the newest counts; nil data puts none there any more.
// What Text.With takes and refuses holds here too, at once.
func (o *Output) With(v aaep.Vocabulary, data any) error {
	if o == nil || o.s == nil {
		return ErrNoSession
	}
	o.s.mu.Lock()
	changed, err := o.extensionData.Without(v), o.checkWritable()
	o.s.mu.Unlock()
	if err != nil {
		return err
	}
	if data != nil {
		changed = changed.With(v, data)
	}
	check := o.s.p.checkData(changed)
	if check != nil && check.violation != nil {
		return &aaep.InvalidError{Message: string(aaep.TypeOutputStreaming), Violations: []aaep.Violation{*check.violation}}
	}
	return tryAttribute(o, &o.extensionData, changed)
}

// tryAttribute sets one field of o, such as its content type, for the text that follows, with
// changeAttribute. If no event could have the new value, the field stays as it was, and the error
// says why. It takes the Session's mu.
func tryAttribute[T any](o *Output, field *T, value T) error {
	var refused error
	err := o.changeAttribute(func() {
		before := *field
		*field = value
		if _, refused = o.s.buildEvent(o.silentSpeech(), o.chunkEvent("x", false)); refused != nil {
			*field = before
		}
	})
	return cmp.Or(err, refused)
}

// changeAttribute emits all text that was written before, and then calls apply, which changes what
// holds for the text that follows. It takes the Session's mu and calls apply with it held.
func (o *Output) changeAttribute(apply func()) error {
	if o == nil || o.s == nil {
		return ErrNoSession
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if err := o.checkWritable(); err != nil {
		return err
	}
	if err := o.flushHeld(); err != nil {
		return err
	}
	apply()
	return nil
}

// checkWritable returns why o takes no text any more, with the Session's mu held: ErrNoSession,
// ErrSessionOver or errOutputClosed; nil while it does.
func (o *Output) checkWritable() error {
	switch {
	case o.s.p == nil:
		return ErrNoSession
	case o.s.over:
		return ErrSessionOver
	case o.closed:
		return errOutputClosed
	}
	return nil
}

// errOutputClosed is returned by the methods of an Output after its Close, while its session goes
// on.
var errOutputClosed = fmt.Errorf("producer: this output is closed; Session.Output begins another: %w", os.ErrClosed)

// flushHeld emits all text that is held or gathered, with the Session's mu held, because something
// else follows. Half a character stays held.
func (o *Output) flushHeld() error {
	whole := firstInvalid(o.held)
	if err := o.emitText(normalizeText(o.held[:whole])); err != nil {
		return err
	}
	if err := o.appendText(o.takeGathered()); err != nil {
		return err
	}
	o.held, o.separated = o.held[whole:], o.begun
	return nil
}

// Write takes UTF-8 text; a character may come in two halves. Text that is not UTF-8 is refused
// with an *aaep.InvalidError, and what came before it in p has been taken: n says how much.
func (o *Output) Write(p []byte) (n int, err error) { return o.WriteString(string(p)) }

// WriteString appends text to the output, as Write does. The end of a text that later text may
// change, such as a part of a character, is held back until that comes. Text that is not UTF-8 is
// an *aaep.InvalidError, and n is how many bytes were taken before it.
func (o *Output) WriteString(text string) (n int, err error) {
	if o == nil || o.s == nil {
		return 0, ErrNoSession
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if err := o.checkWritable(); err != nil || text == "" {
		return 0, err
	}
	if !o.listed {
		o.listed = true
		o.s.outputs = append(o.s.outputs, o)
	}
	heldBefore := len(o.held)
	all := o.held + text
	valid := firstInvalid(all) // how many bytes of it are whole characters
	ready, rest := splitSettled(all[:valid])
	if err := o.emitText(ready); err != nil {
		return 0, err
	}
	if valid < len(all) && !isPartialRune(all[valid:]) {
		o.held = rest
		return max(valid-heldBefore, 0), invalidMember("output", "ENV-064", "/chunk", "is not UTF-8; decode it first")
	}
	o.held = rest + all[valid:]
	return len(text), nil
}

// Close emits what is held of the text, and says that the answer is whole. The last open output
// takes the session back to the state thinking. A second Close does nothing; the error is
// ErrNoSession, ErrSessionOver or that of the event.
func (o *Output) Close() error {
	if o == nil || o.s == nil {
		return ErrNoSession
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if o.s.p == nil {
		return ErrNoSession
	}
	if o.closed {
		return nil
	}
	if o.s.over {
		return ErrSessionOver
	}
	if err := o.completeStream(); err != nil {
		return err
	}
	if o.s.machine.State() == aaep.StateWritingOutput && len(o.s.machine.OpenOutputs()) == 0 {
		return o.s.enterState(aaep.StateThinking, aaep.Text{})
	}
	return nil
}

// completeStream emits the text that is held and the closing chunk, with the Session's mu held.
// Close and the end of the session call it. Half a character becomes a replacement character. An
// output without text emits nothing.
func (o *Output) completeStream() error {
	held := o.held
	o.held = ""
	if !utf8.ValidString(held) {
		held = strings.ToValidUTF8(held, "\uFFFD") // half a character whose other half never came
	}
	if err := o.emitText(normalizeText(held)); err != nil {
		return err
	}
	if err := o.appendText(o.takeGathered()); err != nil {
		return err
	}
	o.closed = true
	o.s.outputs = slices.DeleteFunc(o.s.outputs, func(x *Output) bool { return x == o })
	if !o.begun {
		return nil
	}
	_, err := o.s.emitEvent(o.silentSpeech(), o.chunkEvent("", true))
	return err
}

// emitText appends text that is in its final form to the log, or gathers it where a subscription is
// far behind, with the Session's mu held. WriteString, flushHeld and completeStream call it.
func (o *Output) emitText(text string) error {
	if text == "" {
		return nil
	}
	if o.separated && !norm.NFC.PropertiesString(text).BoundaryBefore() {
		text = joiner + text
	}
	o.separated = false
	if o.gathering && len(o.gathered)+len(text) < maxWrite {
		if o.gathered += text; o.gatherTimer == nil {
			o.gatherTimer = time.AfterFunc(gatherFor, o.emitGathered)
		}
		return nil
	}
	return o.appendText(o.takeGathered() + text)
}

// Where a subscription is more than farBehind events behind the end of the log, text is gathered
// for gatherFor, up to maxWrite bytes. A program that writes faster than it can be read then fills
// the log with text and not with the overhead of its pieces. How far the subscriptions are behind
// is looked at once in lookEvery pieces.
const (
	farBehind = 1024
	gatherFor = 20 * time.Millisecond
	lookEvery = 256
)

// takeGathered returns the gathered text and empties it, and stops its timer, with the Session's mu
// held. The caller emits the text.
func (o *Output) takeGathered() (text string) {
	if o.gatherTimer != nil {
		o.gatherTimer.Stop()
		o.gatherTimer = nil
	}
	text, o.gathered = o.gathered, ""
	return text
}

// emitGathered emits the gathered text when no more came in time. The timer soon calls it, on a
// goroutine of its own; it takes the Session's mu.
func (o *Output) emitGathered() {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if o.s.over || o.closed {
		return
	}
	if err := o.appendText(o.takeGathered()); err != nil {
		o.s.p.cfg.Logger.Error("text was not sent", "session_id", o.s.id, "error", err)
	}
}

// appendText emits text in chunks that fit into an event, and moves position on, with the Session's
// mu held. Before the first chunk it enters the state writing_output.
func (o *Output) appendText(text string) error {
	for text != "" {
		if !o.begun {
			if err := o.beginWriting(); err != nil {
				return err
			}
		}
		if o.emitted++; o.gathering || o.emitted%lookEvery == 0 {
			o.gathering = o.s.p.delivery.SlowestLag() > farBehind
		}
		piece := text[:fittingBytes(text)]
		if _, err := o.s.emitEvent(o.silentSpeech(), o.chunkEvent(piece, false)); err != nil {
			return err
		}
		o.position += int64(utf8.RuneCountInString(piece))
		text = text[len(piece):]
	}
	return nil
}

// joiner is put before an accent that would combine with a letter that was emitted before: if it
// did, positions in the text would no longer agree.
const joiner = "\u034f"

// beginWriting enters the state writing_output, with the Session's mu held, unless a tool runs or a
// question is open: those states say more.
func (o *Output) beginWriting() error {
	switch o.s.machine.State() {
	case aaep.StateCallingTool, aaep.StateAwaitingInput:
	default:
		if err := o.s.enterState(aaep.StateWritingOutput, aaep.Text{}); err != nil {
			return err
		}
	}
	o.begun = true
	return nil
}

// silentSpeech returns the speech of a chunk, which has no summary: the chunk itself is what is
// heard.
func (o *Output) silentSpeech() speech {
	sp := speech{wordings: []wording{{lang: o.language}}, extensionData: o.extensionData}
	if len(o.s.p.cfg.Extensions) > 0 { // With has checked the data
		sp.data = &checkedData
	}
	return sp
}

// chunkEvent returns the payload of an event with this text, at the present position. It changes
// nothing.
func (o *Output) chunkEvent(text string, complete bool) *aaep.OutputStreaming {
	return &aaep.OutputStreaming{Chunk: text, Position: o.position, Complete: complete, OutputID: o.id,
		ContentType: o.contentType, Language: o.language}
}

// fittingBytes returns how many bytes at the beginning of text go into one event, at most maxWrite,
// without splitting a grapheme cluster. appendText calls it for each event.
func fittingBytes(text string) int {
	if len(text) <= maxWrite {
		return len(text)
	}
	n := 0
	for g := graphemes.FromString(text[:maxWrite]); g.Next(); {
		if end := n + len(g.Value()); end < maxWrite {
			n = end
		}
	}
	if n == 0 { // a cluster of more than 8 KiB, which no writing has, is split
		for n = maxWrite; !utf8.RuneStart(text[n]); n-- {
		}
	}
	return n
}

// splitSettled splits text into what can be emitted now and the rest, which the caller keeps for
// the next write: a letter that an accent may join, a flag that is still being spelled, or a
// carriage return that may belong to a line feed. Both are normalized, but for that carriage
// return.
func splitSettled(text string) (ready, rest string) {
	if before, ok := strings.CutSuffix(text, "\r"); ok {
		return normalizeText(before), "\r"
	}
	text = normalizeText(text)
	const maxUnsettled = 512 // bytes; no end that may still change is as long
	from := max(len(text)-maxUnsettled, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	end := text[from:]
	cut := max(norm.NFC.LastBoundary([]byte(end)), 0)
	if flag := strings.LastIndex(end, blackFlag); flag >= 0 {
		tags := end[flag+len(blackFlag):]
		after := strings.TrimLeftFunc(tags, isTag)
		unfinished := after == "" && !strings.HasSuffix(tags, endOfTags)
		splitsFlag := cut > flag && cut < len(end)-len(after)
		if unfinished || splitsFlag {
			cut = flag
		}
	}
	return text[:from+cut], end[cut:]
}

// The flags of England, Scotland and Wales are spelled as a black flag, tags that name the place,
// and a tag that ends them.
const (
	blackFlag = "\U0001F3F4"
	endOfTags = "\U000E007F"
)

// isTag reports whether r is one of the characters that spell the place of a flag.
func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// normalizeText brings text into the form in which it is emitted. Characters that could deceive are
// made visible; the result may combine with what follows. Isolates are made visible too: a
// subscriber gets text in pieces, and a piece may hold only one of a pair. For the same reason
// fillers stay; they are left out where a user gets the text.
func normalizeText(text string) string {
	// All other characters that textCleaner replaces begin with the same byte.
	if strings.Contains(text, "\r") || strings.Contains(text, "\u2028"[:1]) {
		text = textCleaner.Replace(text)
	}
	normal := norm.NFC.String(text)
	if safe := safetext.Clean(normal, "", true); safe != normal {
		normal = norm.NFC.String(safe)
	}
	return normal
}

// textCleaner replaces every line end by a line feed, and makes isolates visible.
var textCleaner = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n",
	"\u2066", "<U+2066>", "\u2067", "<U+2067>", "\u2068", "<U+2068>", "\u2069", "<U+2069>")

// firstInvalid returns the index of the first byte that is not part of a whole UTF-8 character, or
// the length of s.
func firstInvalid(s string) int {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// isPartialRune reports whether s is the beginning of a character whose other bytes may still come.
func isPartialRune(s string) bool { return len(s) < utf8.UTFMax && !utf8.FullRuneInString(s) }
