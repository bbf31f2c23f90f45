package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/sqlitefile"
)

// ErrRebuilding means that a rebuild runs already.
var ErrRebuilding = errors.New("a rebuild of the views runs already: wait until it has ended")

const maxFill = 4096

const maxFillBytes = 16 << 20 // the size in memory at which no more events gather

const healthEvery = time.Second // the time after which a rebuild without events asks whether the log is healthy

const (
	shortRound = 64 // events: as few are applied while the model in use stands still
	mostRounds = 32 // without a short one, which needs a log that grows as fast as it is applied
)

// reading returns the model in use. It stays open until done is called.
func (p *Projections) reading() (m *model, done func()) {
	p.switching.Lock()
	defer p.switching.Unlock()
	m = p.model
	m.reads++
	return m, func() {
		p.switching.Lock()
		m.reads--
		last := m.retired && m.reads == 0
		p.switching.Unlock()
		if last {
			p.discard(m)
		}
	}
}

func (p *Projections) discard(m *model) {
	if err := errors.Join(m.Close(), sqlitefile.Remove(m.Path())); err != nil {
		p.Logger.Warn().Err(err).Msg("the replaced views were not removed; the next start removes them")
	}
}

// Rebuild makes the read model again from the log, in a file beside the file in use. When the new
// file has everything that the old file has, it takes the place of the old file. Reads under way
// end on the old file. A crash before leaves the old file in use. progress gets the number of
// applied events and the number of all events. After the end of Run there is no rebuild: nobody
// would apply later events to the new file.
func (p *Projections) Rebuild(ctx context.Context, progress func(done, of uint64)) error {
	if !p.rebuilding.TryLock() {
		return ErrRebuilding
	}
	defer p.rebuilding.Unlock()
	if err := p.ended(); err != nil {
		return err
	}
	shards := p.Store.Shards()
	file, err := sqlitefile.OpenNext(ctx, filepath.Join(p.Dir, FileName), Identity(shards), Tables)
	if err != nil {
		return err
	}
	next, err := modelOf(ctx, file, p.Store, shards)
	if err != nil {
		return errors.Join(err, sqlitefile.Remove(file.Path()))
	}
	next.sizes = p.model.sizes // they never change
	if err = next.SizeCache(ctx, p.Cache); err == nil {
		err = p.replaceBy(ctx, next, progress)
	}
	if err != nil {
		return errors.Join(err, next.Close(), sqlitefile.Remove(next.Path()))
	}
	return nil
}

// ended returns an error if Run has ended.
func (p *Projections) ended() error {
	p.progress.mu.Lock()
	defer p.progress.mu.Unlock()
	switch {
	case !p.progress.ended:
		return nil
	case p.progress.failure == nil:
		return ErrStopped
	}
	return fmt.Errorf("%w (%w): a rebuild does not help; restart the service", ErrStopped, p.progress.failure)
}

func (p *Projections) replaceBy(parent context.Context, next *model, progress func(done, of uint64)) error {
	ctx, stop := context.WithCancel(parent)
	fanout := eventstore.NewFanout(p.Store)
	p.applying.Lock()
	from := p.model.positions()
	p.applying.Unlock()
	f := &filler{p: p, next: next, from: from, reader: fanout.Reader("rebuild", nil), progress: progress}
	ended := make(chan error, 1)
	go func() {
		err := fanout.Run(ctx)
		stop()
		ended <- err
	}()
	err := f.run(ctx)
	stop()
	f.reader.Stop()
	if broken := <-ended; broken != nil && err != nil && parent.Err() == nil {
		return broken // it has ended the filling
	}
	return err
}

type filler struct {
	p        *Projections
	next     *model
	from     []uint64             // positions of the model in use when the rebuild began
	erased   []secrets.PersonKeys // by events after from
	reader   *eventstore.Reader
	done     uint64
	progress func(done, of uint64)
}

func (f *filler) run(ctx context.Context) error {
	if _, err := f.round(ctx); err != nil {
		return err
	}
	// From here on the new file is whole: a start may continue with it.
	if err := f.next.Finish(ctx, Identity(f.p.Store.Shards())); err != nil {
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
	return f.exchange(ctx)
}

// round applies the events up to the end of the log as of the call, and returns their number.
func (f *filler) round(ctx context.Context) (applied uint64, err error) {
	before := f.done
	end, err := eventstore.Ends(ctx, f.p.Store)
	if err != nil {
		return 0, fmt.Errorf("projections: the end of the log: %w", err)
	}
	err = f.fill(ctx, end)
	return f.done - before, err
}

// exchange applies the last events that the old model has, and puts the new model in its place. The
// old model stands still meanwhile.
func (f *filler) exchange(ctx context.Context) error {
	p := f.p
	p.applying.Lock()
	defer p.applying.Unlock()
	if err := p.ended(); err != nil {
		return err
	}
	if err := f.fill(ctx, p.model.positions()); err != nil {
		return err
	}
	// The new model may be ahead: it will skip the events that only it has, so their accounts must
	// be in the directory now, and the keys that they erase must not be in memory any more.
	p.directory.merge(f.next.directory)
	f.next.directory = p.directory
	for _, e := range f.erased {
		p.Secrets.Forget(e.Name, e.Through)
	}
	p.switching.Lock()
	old := p.model
	p.model, old.retired = f.next, true
	unread := old.reads == 0
	p.switching.Unlock()
	p.progress.publish(f.next.positions())
	if unread {
		p.discard(old)
	}
	return nil
}

// fill applies events until the new model has all up to an end. While a batch is written, the next
// one is read and folded.
func (f *filler) fill(ctx context.Context, end []uint64) error {
	ctx, stop := context.WithCancel(ctx)
	batches := make(chan *batch, 1)
	ended := make(chan error, 1)
	go func() {
		defer close(batches)
		ended <- f.fold(ctx, f.next.places, end, batches)
	}()
	var err error
	for b := range batches {
		if err != nil {
			continue
		}
		if err = f.p.Store.Full(); err == nil {
			err = f.next.add(ctx, b)
		}
		if err != nil {
			stop()
			continue
		}
		f.noteErased(b)
		f.done += uint64(b.events)
		if f.progress != nil {
			f.progress(f.done, f.p.Store.Events())
		}
	}
	stop()
	return cmp.Or(err, <-ended)
}

// noteErased remembers the erased keys of a batch that the model in use may not have forgotten.
func (f *filler) noteErased(b *batch) {
	for i := range b.persons.list {
		v := &b.persons.list[i]
		if s := &v.state; v.seq > f.from[v.shard] && s.Exists() {
			f.erased = append(f.erased, secrets.PersonKeys{Name: secrets.PersonalKeyName(s.Account, s.CustomerID, s.Session), Through: s.Erased})
		}
	}
}

// fold reads and folds events from places to an end. Events gather while an earlier batch waits to
// be written.
func (f *filler) fold(ctx context.Context, at []place, end []uint64, batches chan<- *batch) error {
	read := seqsOf(at)
	for !reached(read, end) {
		var events []*eventstore.Recorded
		size := 0
		for len(events) == 0 || len(batches) > 0 && len(events) < maxFill && size < maxFillBytes && !reached(read, end) {
			more, err := f.nextEvents(ctx, maxFill-len(events))
			if err != nil {
				return err
			}
			for _, r := range more {
				read[r.Shard] = r.Seq
				size += r.Size()
			}
			events = append(events, more...)
		}
		b, bad := folded(ctx, f.p.Store, at, events)
		select {
		case batches <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		if bad != nil {
			return bad
		}
		at = b.places
	}
	return nil
}

func reached(at, end []uint64) bool {
	for shard := range end {
		if at[shard] < end[shard] {
			return false
		}
	}
	return true
}

// nextEvents waits for at most some events while the log is healthy.
func (f *filler) nextEvents(ctx context.Context, most int) ([]*eventstore.Recorded, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, healthEvery)
		events, err := f.reader.Next(wait, most)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return events, err
		}
		if err := f.p.Store.Healthy(); err != nil {
			return nil, err
		}
	}
}
