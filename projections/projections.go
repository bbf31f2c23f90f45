package projections

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/ordered"
	"payledger/eventstore/secrets"
	"payledger/projections/sqlitefile"
)

const (
	// readerName names this reader of the log in messages.
	readerName = "projections"
	// maxBatch is the largest number of events in a transaction. A batch has the events that are
	// there: batches are small at low load and grow with the lag.
	maxBatch = 512
	// batchEvery is the least time between batches: events gather, and share the fixed cost of a
	// transaction (measured in the package comment). An event after a pause is applied at once.
	batchEvery = 2 * time.Millisecond
	// batchIdle is the longest time to the next batch while no caller waits.
	batchIdle = 100 * time.Millisecond
)

// Config has the parts that the projections use.
type Config struct {
	Dir     string // of the read model's file; created if it is missing
	Store   ordered.Store
	Fanout  *eventstore.Fanout // must not run yet
	Secrets *secrets.Store
	Logger  zerolog.Logger
	Now     func() time.Time
	Cache   int64 // bytes of the writer's page cache; 0 takes 32 MiB
	// NoRows keeps no file: accounts are in memory, reads of one aggregate come from the store, and
	// all other reads fail with ErrNoRows.
	NoRows bool
	// Lagged, if set, gets the time from the recording of each event to its being shown, and the
	// event's correlation id: of events that were recorded since Run began. It must not block.
	Lagged func(lag time.Duration, request string)
}

// Projections are the read models of this node, safe for concurrent use but Run and Close. Reads
// that wait for the log need Run.
type Projections struct {
	Config
	model     *model // in use; switching guards it
	directory *directory
	reader    *eventstore.Reader
	progress  *progress
	freshness freshness
	ends      atomic.Pointer[Ends]
	began     time.Time     // of Run
	applied   atomic.Uint64 // events

	switching  sync.Mutex // held for a moment
	applying   sync.Mutex // held while the model in use is changed, or exchanged
	rebuilding sync.Mutex // held by Rebuild

}

// Open opens the read model, and registers it with the fan-out. A damaged file, or one of another
// version, is rebuilt by Run.
func Open(ctx context.Context, c Config) (*Projections, error) {
	if c.NoRows {
		return openWithoutRows(ctx, c)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	path, err := sqlitefile.Settle(ctx, filepath.Join(c.Dir, FileName), Identity(c.Store.Shards()))
	if err != nil {
		return nil, err
	}
	m, err := openModel(ctx, path, c.Store, c.Store.Shards(), c.Logger)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.SizeCache(ctx, c.Cache), m.loadDirectory(ctx)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return projectionsOf(c, m), nil
}

func projectionsOf(c Config, m *model) *Projections {
	positions := m.positions()
	return &Projections{
		Config: c, model: m, directory: m.directory, reader: c.Fanout.Reader(readerName, positions), progress: newProgress(positions),
	}
}

// Run applies the log until ctx ends, and returns nil. It fails if the log is shorter than the file
// or differs from it, if an event cannot be applied (the error names it; everything before it is
// applied), or if the file cannot be written. Healthy returns the same. It runs once.
func (p *Projections) Run(ctx context.Context) error {
	defer p.reader.Stop()
	p.began = p.Now()
	err := p.check(ctx)
	for err == nil {
		var n int
		if n, err = p.step(ctx); err == nil && n < maxBatch {
			err = p.pace(ctx)
		}
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	p.progress.stop(err)
	return err
}

// pace lets events gather after a batch that was not full: batchEvery at least, and up to batchIdle
// while no caller waits.
func (p *Projections) pace(ctx context.Context) error {
	least, most := time.NewTimer(batchEvery), time.NewTimer(batchIdle)
	defer least.Stop()
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.progress.waiting.Load() > 0 {
		return nil
	}
	select {
	case <-p.progress.hurry:
	case <-most.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (p *Projections) step(ctx context.Context) (int, error) {
	events, err := p.reader.Next(ctx, maxBatch)
	if err != nil {
		return 0, err
	}
	p.applying.Lock()
	defer p.applying.Unlock()
	apply := p.model.apply
	if p.NoRows {
		apply = p.model.applyAccounts
	}
	if err = apply(ctx, events); err == nil {
		err = p.forget(events)
	}
	if err == nil {
		p.applied.Add(uint64(len(events)))
	}
	p.progress.publish(p.model.positions())
	if err == nil {
		p.noteLag(events)
	} else if ctx.Err() == nil {
		p.progress.stop(err) // before a rebuild that waits for the lock goes on
	}
	return len(events), err
}

// noteLag hands the lags of events that are shown now to Lagged. A start applies older events,
// which waited for the start and not for this projection.
func (p *Projections) noteLag(events []*eventstore.Recorded) {
	if p.Lagged == nil {
		return
	}
	now := p.Now()
	for _, r := range events {
		if !r.Time.Before(p.began) {
			p.Lagged(max(0, now.Sub(r.Time)), r.CorrelationID) // another node's clock may be ahead
		}
	}
}

// check compares the read model with the log before anything is added: the log must not be shorter
// (it lost events), and the newest applied event of each shard must still be the same (otherwise
// the log was replaced, or lost events and grew).
func (p *Projections) check(ctx context.Context) error {
	if p.NoRows { // Open has read the log's end
		return nil
	}
	p.applying.Lock()
	defer p.applying.Unlock()
	if err := p.Store.CheckReader(ctx, readerName, p.model.positions()); err != nil {
		return err
	}
	for shard, at := range p.model.places {
		if at.seq == 0 {
			continue
		}
		r, err := p.Store.Read(ctx, shard, at.seq)
		if err != nil {
			return fmt.Errorf("projections: shard %d sequence %d: %w", shard, at.seq, err)
		}
		if r.Hash != at.hash {
			return fmt.Errorf("projections: shard %d sequence %d differs from the event that was applied: "+
				"the log was replaced, or lost events; remove %s if that was meant", shard, at.seq, p.model.Path())
		}
		p.applied.Add(r.Number)
	}
	return nil
}

// Progress returns the number of events that the read model shows, and the number in the log.
func (p *Projections) Progress() (done, of uint64) { return p.applied.Load(), p.Store.Events() }

// Healthy returns the error that Run ended with, or nil.
func (p *Projections) Healthy() error {
	m, done := p.reading()
	defer done()
	return errors.Join(p.progress.err(), m.Healthy())
}

// Close closes the files. Run must have ended.
func (p *Projections) Close() error {
	p.progress.stop(nil)
	p.reader.Stop()
	p.rebuilding.Lock() // the context of a rebuild has ended
	defer p.rebuilding.Unlock()
	return p.model.Close()
}

// Personal opens personal data; nil and erased data open as empty.
func (p *Projections) Personal(ctx context.Context, sealed *domain.Sealed) (domain.Personal, error) {
	return p.Secrets.Open(ctx, sealed)
}

// Erasures returns a number that changes whenever personal data may have been erased.
func (p *Projections) Erasures() uint64 { return p.Secrets.Erasures() }
