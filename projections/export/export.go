package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver of the books

	"payledger/projections/deliveries"
)

// ErrBeyond means that the source has no event at a position.
var ErrBeyond = errors.New("export: no event has this position")

// Source reads the feed of events.
type Source interface {
	// Events calls handle with each event after a position, up to the newest one now, in order.
	// newest is the newest position, or 0 if the source does not know it. ErrBeyond: no event has
	// the position yet.
	Events(ctx context.Context, after uint64, handle func(e Event, newest uint64) error) error
}

// Config configures an export.
type Config struct {
	Source Source
	// Deliveries calls handle with the webhook deliveries as their records after a place have them,
	// in the order of places; nil: there are none.
	Deliveries func(ctx context.Context, after uint64, handle func(deliveries.Recorded) error) error
	Format     Format
	// Out is the folder of the files, or the file of the format SQLite. "" writes the events to
	// Stdout: CSV and JSON lines only.
	Out    string
	Stdout io.Writer
	// After is a position: only events after it are exported. nil exports all of them into a new
	// folder.
	After  *uint64
	Window Window
	// Once leaves no file beside the tables of a folder. No export can be appended to them.
	Once bool
	// EscapeFormulas writes texts that a spreadsheet could take for formulas with an apostrophe
	// before them: CSV only.
	EscapeFormulas bool
	// Progress is called with the position of each event, and with the newest one, 0 if it is
	// unknown; nil: with nothing.
	Progress func(position, newest uint64)
}

// Summary is the result of an export.
type Summary struct {
	First, Last uint64 // positions of the exported events; 0 if there are none
	Events      uint64
	Deliveries  uint64 // webhook deliveries that are new or changed
	Files       []string

	read uint64 // the last position that was read, exported or not
	hash string // of the event at it
}

func (s *Summary) add(position uint64) {
	if s.First == 0 {
		s.First = position
	}
	s.Last = position
	s.Events++
}

// Run exports the events. An error leaves the folder as it was before, unless it comes behind the
// commit: see folder.
func Run(ctx context.Context, c Config) (Summary, error) {
	if c.Progress == nil {
		c.Progress = func(uint64, uint64) {}
	}
	switch {
	case c.Out == "":
		return c.print(ctx)
	case c.Format == SQLite:
		return c.intoFile(ctx)
	default:
		return c.intoFolder(ctx)
	}
}

func (c Config) print(ctx context.Context) (s Summary, err error) {
	if c.Format != CSV && c.Format != JSONLines {
		return s, fmt.Errorf("the format %s needs --out", c.Format)
	}
	w, err := newWriter(c.form(), events, c.Stdout)
	if err != nil {
		return s, err
	}
	after := uint64(0)
	if c.After != nil {
		after = *c.After
	}
	err = c.read(ctx, after, &s, func(e Event) error {
		if c.Window.before(e.Time.Time) || c.Window.behind(e.Time.Time) {
			return nil
		}
		s.add(e.Position)
		return w.write([]EventRow{e.row()})
	})
	if err != nil && s.Events == 0 { // nothing is printed, not even a header
		return s, err
	}
	return s, errors.Join(err, w.close())
}

// intoFile exports into a SQLite file. A new file gets its name when it is complete.
func (c Config) intoFile(ctx context.Context) (Summary, error) {
	path := c.Out
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path += partSuffix
		if err := errors.Join(removeIfThere(path), removeIfThere(path+"-journal"), removeIfThere(c.Out+"-journal")); err != nil { // a crash left them
			return Summary{}, err
		}
	} else if err != nil {
		return Summary{}, fmt.Errorf("cannot make the file: %w; choose another --out", err)
	}
	s, err := c.intoBooks(ctx, path, nil)
	if err != nil || path == c.Out {
		if path != c.Out {
			err = errors.Join(err, removeIfThere(path))
		}
		return s, err
	}
	s.Files = []string{filepath.Base(c.Out)}
	return s, rename(path, c.Out)
}

// intoBooks folds the events into the SQLite file at path. files writes a folder's files; nil: the
// SQLite file has every table.
func (c Config) intoBooks(ctx context.Context, path string, files *folder) (s Summary, err error) {
	b, err := openBooks(ctx, path, files == nil)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if files != nil {
		if err := files.finish(ctx, b); err != nil {
			return s, err
		}
	}
	start, err := c.start(ctx, b)
	if err != nil {
		return s, err
	}
	b.marks = start != starting{} || c.Window != Window{} // else every row of the books belongs to the export
	if !c.Window.To.IsZero() {
		if err := b.keepFolded(ctx); err != nil {
			return s, err
		}
	}
	place, err := c.foldDeliveries(ctx, b, &s)
	if err != nil {
		return s, err
	}
	if files != nil {
		files.append, files.place, files.deliveries = start.again, place+1, s.Deliveries
	}
	if err := c.fold(ctx, b, start, files, &s); err != nil {
		return s, err
	}
	if files != nil {
		if s.Files, err = files.complete(ctx, b); err != nil {
			return s, err
		}
	}
	state := [][2]string{{"position", strconv.FormatUint(max(start.fold, s.read), 10)}, {"format", string(c.Format)}}
	if s.hash != "" {
		state = append(state, [2]string{stateHash, s.hash})
	}
	if c.Window != (Window{}) {
		state = append(state, [2]string{"window", "1"})
		if err := b.dropUnchanged(ctx); err != nil {
			return s, err
		}
	}
	for _, entry := range state {
		if err := b.setState(ctx, entry[0], entry[1]); err != nil {
			return s, err
		}
	}
	if err := b.commit(ctx); err != nil {
		return s, fmt.Errorf("export: %w", err)
	}
	if files == nil {
		return s, nil
	}
	files.done = true
	return s, files.rename(s.Files)
}

// starting says where an export begins: it folds the events after fold, and shows those after show.
// again: it continues a committed one.
type starting struct {
	fold, show uint64
	again      bool
}

// start returns where the export begins. The first one folds the whole log: the entries need each
// payment's former balances.
func (c Config) start(ctx context.Context, b *books) (starting, error) {
	done, err := b.number(ctx, "position")
	if err != nil {
		return starting{}, err
	}
	format, err := b.state(ctx, "format")
	var window string
	if err == nil {
		window, err = b.state(ctx, "window")
	}
	switch {
	case err != nil:
		return starting{}, err
	case window != "":
		return starting{}, fmt.Errorf("%s holds an export of a limited time (--from, --to), which cannot be continued; choose another --out", c.Out)
	case format == "" && c.After == nil:
		return starting{}, nil
	case format == "":
		return starting{show: *c.After}, c.known(ctx, *c.After)
	case format != string(c.Format):
		return starting{}, fmt.Errorf("%s holds an export in the format %s; choose another --out", c.Out, format)
	case c.After == nil || !c.Window.From.IsZero() || !c.Window.To.IsZero():
		return starting{}, fmt.Errorf("%s holds an export up to position %d; append with --after %d (without --from and --to), or choose another --out", c.Out, done, done)
	case *c.After > done:
		return starting{}, fmt.Errorf("%s holds an export up to position %d; events between it and --after %d would be missing: use --after %d", c.Out, done, *c.After, done)
	}
	return starting{fold: done, show: done, again: true}, c.unchanged(ctx, b, done) // what the folder has is not exported again
}

// stateHash is the state of the books with the hash of the event at their position.
const stateHash = "hash"

// unchanged returns an error unless the source has the event with which the books end: after the
// restore of an older back-up, or of another ledger, the position may be that of another event, and
// the files have events that no ledger has any more (D22.10).
func (c Config) unchanged(ctx context.Context, b *books, position uint64) error {
	hash, err := b.state(ctx, stateHash)
	if err != nil || hash == "" || position == 0 { // an earlier version recorded no hash
		return err
	}
	var found Event
	err = c.Source.Events(ctx, position-1, func(e Event, _ uint64) error { found = e; return errKnown })
	switch {
	case errors.Is(err, errKnown) && found.Position == position && found.Hash == hash:
		return nil
	case err != nil && !errors.Is(err, errKnown) && !errors.Is(err, ErrBeyond):
		return err
	}
	return fmt.Errorf("%s ends with the event %s at position %d, and the ledger does not have it there: was an older back-up restored, or is this another ledger or account? %s",
		c.Out, hash, position, startAnew)
}

// startAnew is the advice about an export that has rows of a ledger that is no more.
const startAnew = "The files have rows that the ledger has lost. Keep them, and export into another --out, without --after"

var errKnown = errors.New("the position is known")

// known returns the source's error if no event has the position yet.
func (c Config) known(ctx context.Context, position uint64) error {
	err := c.Source.Events(ctx, position, func(Event, uint64) error { return errKnown })
	if errors.Is(err, errKnown) {
		return nil
	}
	return err
}

func (c Config) fold(ctx context.Context, b *books, at starting, files *folder, s *Summary) error {
	rows := &batch{payments: map[string]*change{}, disputes: map[string]*disputed{}, changed: map[string]bool{}}
	flush := func() error {
		if err := errors.Join(ctx.Err(), rows.flush(ctx, b)); err != nil {
			return err
		}
		if files != nil {
			if err := files.write(at.show+1, rows); err != nil {
				return err
			}
		}
		rows.clear()
		return nil
	}
	n := 0
	err := c.read(ctx, at.fold, s, func(e Event) error {
		in := belongs{behind: c.Window.behind(e.Time.Time)}
		in.shown = e.Position > at.show && !in.behind && !c.Window.before(e.Time.Time)
		if in.shown {
			s.add(e.Position)
		}
		if err := rows.add(ctx, b, e, in); err != nil {
			return err
		}
		if n++; n%batchSize > 0 {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
