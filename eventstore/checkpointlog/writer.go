package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const (
	// delay is the wait between a new event and the next checkpoint. I2 allows 250 ms after the
	// last event, the write included.
	delay = 100 * time.Millisecond
	// DefaultEvery is the interval of checkpoints under load.
	DefaultEvery = time.Second
	// hurriedDelay is delay for hurriedFor after a call of Hurry. hurriedFor is as long as a
	// back-up may hold the appends of all nodes. othersTurn is how many intervals a node waits for
	// the checkpoint of the node that wrote the newest one.
	othersTurn   = 2
	hurriedDelay = 10 * time.Millisecond
	hurriedFor   = 2 * time.Second
	// boundStep is the largest number of a shard's events in a checkpoint on the way to a bound: a
	// log without checkpoints for a long time is covered step by step. No group is as large.
	boundStep = 65_536
	// edgePause is the wait between two looks for the edge of the tree, of which damage hides the
	// events.
	edgePause = time.Minute
)

// errNoEdge means that the events which the edge of the tree needs cannot be read now. Another
// node's checkpoint may bring the edge.
var errNoEdge = errors.New("the log is damaged before the newest checkpoint, which has no edge of the tree")

// Reader returns the events of the log, and the events of each shard in their order.
type Reader interface {
	Events() <-chan *format.Recorded
	Stop()
}

// Writer writes checkpoints. The node that wrote the newest checkpoint writes the next one; the
// other nodes do so if it leaves events without one. If another node was faster, a Writer continues
// from that checkpoint.
type Writer struct {
	log     *Log
	signer  note.Signer
	reader  Reader
	newest  checkpoint.Checkpoint
	pending [][]leaf  // per shard, in order, after newest
	hurried time.Time // until this time a checkpoint follows an event at once
	other   bool      // another node wrote the newest checkpoint
	first   []uint64  // per shard: the first group in pending at the last look at another node's checkpoint; 0: none

	// Covered, if set, is called after each checkpoint that this process wrote, with the hashes of
	// the newly covered events; before is the number of events that were covered before. Covered
	// must not block. Set it before Run.
	Covered func(before uint64, hashes []format.Hash)
	// Every is the interval of checkpoints under load, and bounds the wait after a new event.
	// NewWriter sets DefaultEvery. Set it before Run.
	Every time.Duration
}

type leaf struct {
	seq    uint64 // of its group
	number uint64
	ends   bool // it is the last event of its group
	hash   format.Hash
}

// NewWriter returns a writer that continues from the newest checkpoint. register registers the
// writer's reader, so call NewWriter before the fan-out runs. If a shard is damaged in the events
// behind the last edge, the process starts all the same, and reports the damage: the writer goes on
// from the next edge that another node writes.
func NewWriter[R Reader](ctx context.Context, log *Log, register func(name string, after []uint64) R, signer note.Signer) (*Writer, error) {
	newest, err := log.Last(ctx)
	if err == nil {
		read := newest
		if newest, err = log.withEdge(ctx, checkpoint.Checkpoint{}, read); errors.Is(err, fault.ErrUnhealthy) && len(log.Damaged()) > 0 {
			log.Log.Error().Err(err).Msg("no checkpoint is written: the damage hides events that the next one needs")
			newest, err = read, nil
		}
	}
	if err != nil && !isNone(err) {
		return nil, err
	}
	return &Writer{
		log: log, signer: signer, newest: newest, Every: DefaultEvery, other: newest.Number > 0 && !log.Sole,
		reader: register("checkpoints", newest.Covered()), pending: make([][]leaf, log.Shards), first: make([]uint64, log.Shards),
	}, nil
}

// Run writes a checkpoint soon after every new event, until ctx ends. Then Run writes a last
// checkpoint for the events that it has received. The next start covers the other events. Run
// returns an error only if the existing checkpoints are damaged.
func (w *Writer) Run(ctx context.Context) error {
	defer w.reader.Stop()
	var due <-chan time.Time
	var written time.Time
	wait := min(delay, w.Every)
	pause := func() time.Duration {
		if time.Now().Before(w.hurried) {
			return min(hurriedDelay, wait)
		}
		if w.other {
			return othersTurn * w.Every
		}
		return max(wait, w.Every-time.Since(written))
	}
	for {
		select {
		case e := <-w.reader.Events():
			w.addPending(e)
			if due == nil {
				due = time.After(pause())
			}
		case <-w.log.hurry:
			w.hurried = time.Now().Add(hurriedFor)
			due = time.After(pause())
		case <-due:
			due, written = nil, time.Now()
			if w.other && time.Now().After(w.hurried) && w.othersWrote(ctx) && !w.left() {
				if w.waits() {
					due = time.After(pause())
				}
				continue
			}
			err := w.write(ctx)
			if errors.Is(err, fault.ErrUnhealthy) {
				return err
			}
			if err != nil && ctx.Err() == nil {
				level := zerolog.WarnLevel
				// Another node was faster, and this process does not have its checkpoint yet.
				if errors.Is(err, fault.ErrConflict) && !errors.Is(err, fault.ErrNoMajority) {
					level = zerolog.DebugLevel
				}
				w.log.Log.WithLevel(level).Err(err).Msg("checkpoint not written; trying again")
				due = time.After(pause())
				if errors.Is(err, errNoEdge) {
					due = time.After(edgePause)
				}
			}
		case <-ctx.Done():
			return w.last(context.WithoutCancel(ctx))
		}
	}
}

// addPending adds an event to pending, unless another node's checkpoint covers the event.
func (w *Writer) addPending(e *format.Recorded) {
	if seq := format.GroupOf(e.Seq); seq > w.newest.LastGroup(e.Shard) {
		w.pending[e.Shard] = append(w.pending[e.Shard], leaf{seq, e.Number, e.EndsGroup(), e.Hash})
	}
}

// othersWrote continues from the newest checkpoint, and reports whether another node wrote one
// since the last look.
func (w *Writer) othersWrote(ctx context.Context) bool {
	w.log.deciding.Lock()
	defer w.log.deciding.Unlock()
	newest, err := w.log.newest()
	if err == nil && newest.Number > w.newest.Number {
		newest, err = w.log.withEdge(ctx, w.base(), newest)
	}
	if err != nil || newest.Number <= w.newest.Number {
		return false
	}
	w.dropCovered(newest)
	return true
}

// left reports whether the other node has left an event without a checkpoint since the last look:
// it may not get the events of a shard.
func (w *Writer) left() (left bool) {
	for shard, events := range w.pending {
		if len(events) == 0 {
			w.first[shard] = 0
			continue
		}
		left = left || w.first[shard] == events[0].seq
		w.first[shard] = events[0].seq
	}
	return left
}

// waits reports whether events wait for a checkpoint.
func (w *Writer) waits() bool {
	return slices.ContainsFunc(w.pending, func(events []leaf) bool { return len(events) > 0 })
}

func (w *Writer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, jetapi.PublishTimeout)
	defer cancel()
	for {
		select {
		case e := <-w.reader.Events():
			w.addPending(e)
		default:
			if w.other {
				w.othersWrote(ctx)
			}
			return w.write(ctx)
		}
	}
}

// write writes a checkpoint that covers all pending whole groups, and before it one for each bound
// that they reach.
func (w *Writer) write(ctx context.Context) error {
	w.log.deciding.Lock()
	defer w.log.deciding.Unlock()
	if err := w.findEdge(ctx); err != nil {
		return err
	}
	for {
		next := w.cover(w.log.bound(w.newest))
		if len(next.leaves) == 0 {
			return nil
		}
		t := w.newest.Tree()
		for _, hash := range next.leaves {
			if err := t.Add(hash); err != nil {
				return fmt.Errorf("%w: checkpoint %d: %w", fault.ErrUnhealthy, w.newest.Number, err)
			}
		}
		written, err := w.log.write(ctx, w.signer, w.newest, t, next.lastSeq, next.events)
		if err != nil {
			// Another node's checkpoint came first, or this one is stored and its answer was lost:
			// continue from the stored one.
			if written, err = w.adopted(ctx, err); err != nil {
				return err
			}
			w.other = !w.log.Sole
		} else {
			w.other = false
			if w.Covered != nil {
				w.Covered(w.newest.Size, next.leaves)
			}
		}
		w.dropCovered(written)
	}
}

// hasEdge reports whether the edge of the newest checkpoint is known.
func (w *Writer) hasEdge() bool { return w.newest.Size == 0 || len(w.newest.Edge) > 0 }

// base returns the newest checkpoint if its edge is known, else the zero value.
func (w *Writer) base() checkpoint.Checkpoint {
	if w.hasEdge() {
		return w.newest
	}
	return checkpoint.Checkpoint{}
}

// findEdge continues from the newest checkpoint with its edge, if damage hid the edge and events
// wait.
func (w *Writer) findEdge(ctx context.Context) error {
	if w.hasEdge() || !w.waits() {
		return nil
	}
	newest, err := w.log.Last(ctx)
	if err == nil {
		newest, err = w.log.withEdge(ctx, checkpoint.Checkpoint{}, newest)
	}
	if err != nil {
		return fmt.Errorf("%w: %v", errNoEdge, err) //nolint:errorlint // the damage ends no writer
	}
	w.dropCovered(newest)
	return nil
}

// adopted returns the newer checkpoint from which this writer continues, after a write failed.
func (w *Writer) adopted(ctx context.Context, failed error) (checkpoint.Checkpoint, error) {
	newest, err := w.log.Last(ctx)
	if err == nil && newest.Number > w.newest.Number {
		newest, err = w.log.withEdge(ctx, w.base(), newest)
	}
	if err != nil || newest.Number <= w.newest.Number {
		return newest, errors.Join(failed, err)
	}
	return newest, nil
}

// covered is what the next checkpoint covers: of each shard its last group and the number of its
// events, and the new leaves.
type covered struct {
	lastSeq, events []uint64
	leaves          []format.Hash
}

// cover returns the hashes of the pending events in the order of the next checkpoint, whole groups
// only. With a bound, it returns all events up to the bound, or up to boundStep of each shard, or
// none while one of them is not pending yet: what it covers depends on the log alone.
func (w *Writer) cover(bound []uint64) (c covered) {
	c.lastSeq, c.events = make([]uint64, len(w.pending)), make([]uint64, len(w.pending))
	for shard, pending := range w.pending {
		c.lastSeq[shard], c.events[shard] = w.newest.LastGroup(shard), w.newest.EventsOf(shard)
		through := uint64(math.MaxUint64)
		if bound != nil {
			through = min(bound[shard], c.events[shard]+boundStep)
			if through > c.events[shard] && (len(pending) == 0 || pending[len(pending)-1].number < through) {
				return covered{}
			}
		}
		whole := len(pending)
		for whole > 0 && (!pending[whole-1].ends || pending[whole-1].number > through) {
			whole--
		}
		for _, e := range pending[:whole] {
			c.lastSeq[shard], c.events[shard] = e.seq, e.number
			c.leaves = append(c.leaves, e.hash)
		}
	}
	return c
}

// dropCovered sets the newest checkpoint, and drops the pending events that it covers.
func (w *Writer) dropCovered(newest checkpoint.Checkpoint) {
	w.newest = newest
	for shard, events := range w.pending {
		w.pending[shard] = slices.DeleteFunc(events, func(e leaf) bool { return e.seq <= newest.LastSeq[shard] })
	}
}
