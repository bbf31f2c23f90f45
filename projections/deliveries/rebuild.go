package deliveries

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"payledger/projections/sqlitefile"
)

// ErrRebuilding means that a rebuild runs already.
var ErrRebuilding = errors.New("a rebuild of the index of deliveries runs already: wait until it has ended")

const copiedRows = 512

const (
	shortRound = 64 // rows: as few are applied while the file in use stands still
	mostRounds = 32 // without a short one, which needs a stream that grows as fast as it is applied
)

const selectDropped = `SELECT rowid, ` + columns + ` FROM deliveries WHERE seq >= ? AND seq < ? AND rowid > ? ORDER BY rowid LIMIT ?`

// Source reads the stream for a rebuild.
type Source struct {
	First func() uint64                             // the place of the first record that was not dropped
	End   func(ctx context.Context) (uint64, error) // the place of the newest record
	// Read calls apply with the rows of the records from a place on, until apply returns an error.
	// Read returns that error.
	Read func(ctx context.Context, from uint64, apply func(rows []Row, to Mark) error) error
}

// reading returns the file in use. It stays open until done is called.
func (x *Index) reading() (w *writer, done func()) {
	x.switching.Lock()
	defer x.switching.Unlock()
	w = x.writer
	w.reads++
	return w, func() {
		x.switching.Lock()
		w.reads--
		last := w.retired && w.reads == 0
		x.switching.Unlock()
		if last {
			x.discard(w)
		}
	}
}

func (x *Index) discard(w *writer) {
	if err := errors.Join(w.file.Close(), sqlitefile.Remove(w.file.Path())); err != nil {
		x.log.Warn().Err(err).Msg("the replaced index of deliveries was not removed; the next start removes it")
	}
}

// Rebuild makes the index again from the stream, in a file beside the one in use. Rows of dropped
// deliveries are copied: only the index has them. When the new file has all records that the old
// one has, it takes its place. A crash before leaves the old file in use. After Stop there is no
// rebuild: nobody would apply later records to the new file.
func (x *Index) Rebuild(ctx context.Context, from Source, progress func(at, end uint64)) error {
	if !x.rebuilding.TryLock() {
		return ErrRebuilding
	}
	defer x.rebuilding.Unlock()
	if err := x.ended(); err != nil {
		return err
	}
	file, err := sqlitefile.OpenNext(ctx, filepath.Join(x.dir, FileName), Identity, Tables)
	if err != nil {
		return err
	}
	w, _, err := writerOf(ctx, file)
	if err != nil {
		return errors.Join(err, sqlitefile.Remove(file.Path()))
	}
	if err = file.SizeCache(ctx, x.cache); err == nil {
		err = x.replaceBy(ctx, &filler{Source: from, x: x, next: w, progress: progress})
	}
	if err != nil {
		return errors.Join(err, file.Close(), sqlitefile.Remove(file.Path()))
	}
	return nil
}

// ended returns an error after Stop.
func (x *Index) ended() error {
	x.progress.mu.Lock()
	defer x.progress.mu.Unlock()
	if x.progress.stopped == nil {
		return nil
	}
	return fmt.Errorf("%w: a rebuild does not help; restart the service", x.progress.stopped)
}

func (x *Index) replaceBy(ctx context.Context, f *filler) error {
	if _, err := f.round(ctx); err != nil {
		return err
	}
	for range mostRounds {
		applied, err := f.round(ctx)
		if err != nil {
			return err
		}
		if applied <= shortRound {
			break
		}
	}
	x.applying.Lock()
	defer x.applying.Unlock()
	if err := x.ended(); err != nil {
		return err
	}
	if err := f.fill(ctx, x.Mark().Seq); err != nil {
		return err
	}
	if err := f.copyDropped(ctx); err != nil {
		return err
	}
	if err := f.next.file.Finish(ctx, Identity); err != nil { // from here on a start continues with it
		return err
	}
	x.switching.Lock()
	old := x.writer
	x.writer, old.retired = f.next, true
	unread := old.reads == 0
	x.switching.Unlock()
	x.progress.set(f.at)
	if unread {
		x.discard(old)
	}
	return nil
}

type filler struct {
	Source
	x        *Index
	next     *writer
	at       Mark
	applied  int    // rows
	copied   uint64 // the place before which the dropped rows were copied
	progress func(at, end uint64)
}

var errFilled = errors.New("deliveries: the new file has all records")

// round applies the records up to the end of the stream as of the call, and returns the number of
// their rows.
func (f *filler) round(ctx context.Context) (applied int, err error) {
	before := f.applied
	end, err := f.End(ctx)
	if err == nil {
		err = f.copyDropped(ctx)
	}
	if err == nil {
		err = f.fill(ctx, end)
	}
	return f.applied - before, err
}

func (f *filler) fill(ctx context.Context, end uint64) error {
	if f.at.Seq >= end {
		return nil
	}
	err := f.Read(ctx, f.at.Seq+1, func(rows []Row, to Mark) error {
		if err := f.next.apply(ctx, rows, to); err != nil {
			return err
		}
		f.applied += len(rows)
		if f.at = to; f.progress != nil {
			f.progress(min(to.Seq, end), end)
		}
		if to.Seq >= end {
			return errFilled
		}
		return nil
	})
	if errors.Is(err, errFilled) {
		return nil
	}
	return err
}

type droppedRow struct {
	Row
	rowid int64
}

// copyDropped copies the rows that were dropped since the last call from the file in use, as far as
// the file has applied the stream.
func (f *filler) copyDropped(ctx context.Context) error {
	old, done := f.x.reading()
	defer done()
	from, before := f.copied, min(f.First(), f.x.Mark().Seq+1)
	for last := int64(0); from < before; {
		page, err := sqlitefile.Read(ctx, old.file.Readers(), func(scan sqlitefile.Scan) (r droppedRow, err error) {
			r.Row, err = scanRow(func(to ...any) error { return scan(append([]any{&r.rowid}, to...)...) })
			return r, err
		}, selectDropped, from, before, last, copiedRows)
		if err != nil {
			return fmt.Errorf("deliveries: rows of dropped deliveries: %w", old.file.Noticed(err))
		}
		if len(page) == 0 {
			break
		}
		err = f.next.transact(ctx, func(ctx context.Context) error {
			for i := range page {
				if err := f.next.write(ctx, &page[i].Row); err != nil {
					return err
				}
			}
			return f.next.counter.save(ctx)
		})
		if err != nil {
			return err
		}
		last = page[len(page)-1].rowid
	}
	f.copied = before
	return nil
}
