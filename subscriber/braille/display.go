// Package braille presents utterances on a braille display through BRLTTY, by the BrlAPI protocol
// and without C.
//
//	d, err := braille.Open(ctx, braille.Options{})
//	…
//	err = d.Present(ctx, utterance)
//
// A text is cut into pages between words, and stays for as long as it takes to read. Two cells at
// the right end say what else there is: ⠒ in the last one for a text that goes on, ⠿ for one that
// stays until the person pans on, ⠶ in the one before it while something else waits. A display of
// less than eight cells has no room for them.
//
// The keys are those that pan everywhere else: forward and back by one page; past the end, to
// dismiss what is there, or to acknowledge it if it is critical; back before the beginning, to read
// the last fifty texts again; line down to skip, line up to begin again, home for the newest text.
// They act at once. What no key asked for changes the display at most once a second, and waits
// while the person reads back, unless it is critical. All other keys keep doing what they do in
// BRLTTY, and the display goes back to the program that had it when a text is over or dismissed.
//
// What the display shows when, the marks and what a key does are in reader.go; pager.go cuts texts
// into pages, louis.go translates them, and packet.go has BrlAPI's messages and codes of keys.
//
// Opening the display and giving it back are in display.go, BRLTTY's connection in client.go, and
// the tables of languages in language.go.
package braille

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// ErrNoDisplay says that no display is connected to BRLTTY. When one is plugged in, Present works
// again. Besides it, Present returns nil, announce.ErrCut where the person skipped the rest,
// announce.ErrClosed, and the context's error; any other says that the connection is gone.
var ErrNoDisplay = errors.New("braille: no display is connected")

// Options say which display, and how it is read. The zero Options are the display of this machine,
// at the usual pace.
type Options struct {
	// Host is where BRLTTY is, as in BRLAPI_HOST, which counts if it is empty: ":0", "localhost:0".
	Host string
	// Dial connects to BRLTTY some other way, if it is not nil.
	Dial func(context.Context) (net.Conn, error)
	// Page is how long 40 cells take to read; 0 is five seconds.
	Page time.Duration
	// Manual says that a text stays until the person pans on, however long that takes.
	Manual bool
	// Tables, if it is not nil, translates with liblouis: from language tag to table, such as "en"
	// to "en-ueb-g2.ctb". A tag without a region or script serves all of them. DefaultTables is the
	// usual choice. Open fails where lou_translate is not installed; text in other languages, and
	// what a table that is not there should translate, BRLTTY does.
	Tables map[string]string
}

// Display is an open display. Present is for one goroutine at a time; all other methods are for
// any.
type Display struct {
	client         *client
	louis          *translator // nil if BRLTTY translates
	orders         chan func()
	waitingChanged chan struct{} // waiting has changed
	stop           chan struct{}
	once           sync.Once
	gone           chan struct{} // closed when the goroutine below has ended
	err            error         // why

	// Of one goroutine, which carries out the orders and is the only one to ask client.
	reader reader
	drawn  []rune // what was written last; nil while the display is not ours
	failed error  // of a question to BRLTTY in an order

	mu      sync.Mutex
	cells   int
	waiting int
	speaks  map[string]bool
}

// Open connects to BRLTTY and asks for the size of the display; that there is none now is no error.
// Nothing is shown before the first Present.
func Open(ctx context.Context, options Options) (*Display, error) {
	d, err := openDisplay(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("braille: %w", err)
	}
	return d, nil
}

// openDisplay does the work of Open; its errors lack the package's name. ctx bounds the opening
// alone: one that ends first closes what was opened.
func openDisplay(ctx context.Context, options Options) (*Display, error) {
	if options.Tables != nil {
		if err := checkPrograms(); err != nil {
			return nil, err
		}
	}
	connectTo := options.Dial
	if connectTo == nil {
		host := cmp.Or(options.Host, os.Getenv("BRLAPI_HOST"))
		connectTo = func(ctx context.Context) (net.Conn, error) { return dialHost(ctx, host) }
	}
	conn, err := connectTo(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	d, err := startDisplay(conn, options)
	if !stop() {
		if err == nil {
			d.Close()
		}
		return nil, ctx.Err()
	}
	return d, err
}

// startDisplay opens a display on a connection to BRLTTY, and starts the goroutine that owns it; on
// an error it closes the connection. Open calls it.
func startDisplay(conn net.Conn, options Options) (*Display, error) {
	c, err := newClient(conn, cmp.Or(keyFile(os.Getenv("BRLAPI_AUTH")), "/etc/brlapi.key"))
	if err != nil {
		return nil, err
	}
	d := &Display{
		client: c, reader: reader{perPage: options.Page, manual: options.Manual, unpluggedAt: time.Now()},
		orders:         make(chan func()),
		waitingChanged: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}),
		speaks: map[string]bool{},
	}
	if d.reader.perPage <= 0 {
		d.reader.perPage = 5 * time.Second
	}
	if options.Tables != nil {
		d.louis = newTranslator(options.Tables)
	}
	if err = c.subscribeToChanges(); err == nil {
		err = d.measureDisplay()
	}
	if err != nil {
		conn.Close()
		<-c.done
		return nil, err
	}
	go d.carryOutOrders()
	return d, nil
}

// Cells returns how many cells the display has now; 0 if there is none.
func (d *Display) Cells() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cells
}

// Present shows an utterance, and returns nil when it stood for its reading time or the person
// panned through it; a critical one stays until the person pans past its end. When ctx ends first,
// its text stays on the display until something else comes. Without a display it waits up to
// fifteen seconds for one, and returns ErrNoDisplay.
func (d *Display) Present(ctx context.Context, u announce.Utterance) error {
	words := d.wordsOf(ctx, u)
	if err := ctx.Err(); err != nil || len(words) == 0 {
		return err
	}
	ended := make(chan error, 1)
	t := &text{words: words, critical: u.Critical, over: func(err error) { ended <- err }}
	if err := d.runOrder(ctx, func() { d.reader.addText(t) }); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-d.gone:
		return d.err
	case <-ctx.Done():
		select {
		case err := <-ended:
			return err
		default:
		}
		// In the background, because BRLTTY may take its time. It does not matter if the next text
		// comes first.
		go d.runOrder(context.Background(), func() { d.reader.cancelText(t) })
		return ctx.Err()
	}
}

// Waiting says how many utterances the caller holds back. While there are any, a cell of the
// display says so.
func (d *Display) Waiting(n int) {
	d.mu.Lock()
	d.waiting = n
	d.mu.Unlock()
	select {
	case d.waitingChanged <- struct{}{}:
	default:
	}
}

// Close gives the display back and ends the connection. A Present that is under way returns
// announce.ErrClosed.
func (d *Display) Close() error {
	d.once.Do(func() {
		close(d.stop)
		// Whatever the goroutine waits for, it does not wait longer than this.
		t := time.AfterFunc(time.Second, func() { d.client.conn.Close() })
		<-d.gone
		t.Stop()
	})
	<-d.gone
	return nil
}

// runOrder has the goroutine that owns the reader call f, and waits for that. The error is why the
// display is gone, or that of ctx; f was not called then.
func (d *Display) runOrder(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case d.orders <- func() { f(); close(done) }:
		<-done
		return nil
	case <-d.gone:
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// carryOutOrders is the goroutine that owns the reader, from startDisplay to the end of the
// connection.
func (d *Display) carryOutOrders() {
	defer close(d.gone)
	err := d.serveUntilError()
	d.client.conn.Close()
	<-d.client.done
	d.louis.endProcesses()
	if d.err = err; err != announce.ErrClosed {
		d.err = fmt.Errorf("braille: the connection to BRLTTY has ended: %w", err)
	}
}

// sizeCheck is how often a display that shows something is asked for its size, beside the notices
// of changes: one may be lost, or come before the new size counts.
const sizeCheck = 5 * time.Second

// serveUntilError carries out orders, keys and what is due, and has the display follow the reader
// after each, until the display is closed, which is announce.ErrClosed, or the connection fails. It
// asks for the size at each notice of a change, and every sizeCheck while something is shown. Only
// the goroutine that owns the reader calls it.
func (d *Display) serveUntilError() error {
	timer := time.NewTimer(math.MaxInt64) // set when something is due
	defer timer.Stop()
	check := time.NewTicker(sizeCheck)
	defer check.Stop()
	for {
		select {
		case f := <-d.orders:
			if f(); d.failed != nil {
				return d.failed
			}
		case <-d.waitingChanged:
			d.mu.Lock()
			d.reader.waiting = d.waiting
			d.mu.Unlock()
		case k := <-d.client.keys:
			d.reader.pressKey(k, time.Now())
		case <-d.client.changes:
			if err := d.measureDisplay(); err != nil {
				return err
			}
		case width := <-d.client.refusedWidths:
			if err := d.measureDisplay(); err != nil {
				return err
			}
			if width == d.reader.cells {
				return errors.New("BRLTTY refuses what is shown")
			}
		case <-check.C:
			if d.drawn == nil {
				continue
			}
			if err := d.measureDisplay(); err != nil {
				return err
			}
		case <-timer.C:
		case <-d.client.done:
			return d.client.err
		case <-d.stop:
			if d.drawn != nil {
				d.giveBack()
			}
			return announce.ErrClosed
		}
		if err := d.updateDisplay(timer); err != nil {
			return err
		}
	}
}

// updateDisplay makes the display follow the reader: it takes the display for a first text, writes
// a line that has changed, or gives the display back. It sets the timer to when the reader is due
// next, if ever.
func (d *Display) updateDisplay(timer *time.Timer) error {
	now := time.Now()
	next := d.reader.advance(now)
	switch line := d.reader.shown; {
	case line == nil && d.drawn != nil:
		if err := d.giveBack(); err != nil {
			return err
		}
	case len(line) > 0 && !slices.Equal(line, d.drawn):
		if d.drawn == nil {
			if err := d.client.enterDisplay(); err != nil {
				return err
			}
		}
		d.drawn = line
		if err := d.client.writePacket(writePacketFor(line)); err != nil {
			return err
		}
	}
	timer.Stop()
	if !next.IsZero() {
		timer.Reset(next.Sub(now))
	}
	return nil
}

// giveBack gives the display back to the program that had it. Our line is wiped first: BRLTTY
// leaves it where it is, if it believes that its own is there.
func (d *Display) giveBack() error {
	if n := d.reader.cells; n > 0 {
		if err := d.client.writePacket(writePacketFor(slices.Repeat([]rune{' '}, n))); err != nil {
			return err
		}
	}
	d.drawn = nil
	return d.client.leaveDisplay()
}

// measureDisplay asks how many cells there are, and lays out the texts anew if that has changed;
// what is shown is then written again. Zero cells stand for no display. Only the goroutine that
// owns the reader calls it.
func (d *Display) measureDisplay() error {
	cells, err := d.client.displaySize()
	if err != nil {
		return err
	}
	if d.reader.cells != cells && d.drawn != nil {
		d.drawn = []rune{} // what stands there is not what we wrote
	}
	d.reader.setCells(cells, time.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cells = cells
	return nil
}
