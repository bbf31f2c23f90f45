package verify

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/cache"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
	"payledger/eventstore/workers"
)

// Config is what a run checks, and where its results go.
type Config struct {
	Archive *archive.Archive
	// Verifier checks the signatures of checkpoints; nil: they are not checked.
	Verifier note.Verifier
	// Only limits the check to one payment; no checkpoint is compared then.
	Only domain.PaymentID
	// Report gets each fault, one at a time. An error ends the run.
	Report func(Fault) error
	// Progress, if set, gets the number of checked events and that of all, at intervals, and never
	// while Report or Newest runs.
	Progress func(done, of uint64)
	// Newest, if set, gets each aggregate's newest event, with the state after it, one at a time.
	Newest func(ctx context.Context, n Newest) error
	// ViewEnd returns, per shard, the last address that Newest may show; nil: all.
	ViewEnd func(shard int) uint64
	// Shown, if set, gets the event of each shard at its ViewEnd, one at a time.
	Shown func(r *eventstore.Recorded) error
	// Event, if set, gets each event up to its shard's ViewEnd, one at a time. The events of a
	// shard are in order.
	Event func(ctx context.Context, r *eventstore.Recorded) error
	// Delivery, if set, gets each record of deliveries in their order, with its stream.
	Delivery func(ctx context.Context, stream string, r *eventstore.Recorded) error
	// Memory is the size of the caches in bytes; 0 takes 16 MiB.
	Memory int
	// Temp is the folder of the scratch store; "" takes the system's.
	Temp string
}

// Newest is the newest event of an aggregate, up to Config.ViewEnd, and the state after it.
type Newest struct {
	Key      eventstore.Key
	Stream   string
	Shard    int
	Seq      uint64 // address
	Revision uint64
	State    any
}

// Result is what a run has checked.
type Result struct {
	Events      uint64 `json:"events"`
	Aggregates  uint64 `json:"aggregates"`
	OlderStates uint64 `json:"olderStates"` // of older schemas: folded, not compared
	Checkpoints uint64 `json:"checkpoints"`
	Signed      bool   `json:"signaturesChecked"`
	Tips        bool   `json:"tipsChecked"`
	Size        uint64 `json:"size"` // events under the newest checkpoint
	Root        string `json:"root"` // of the newest checkpoint, in hexadecimal
}

const (
	defaultMemory = 16 << 20
	progressEvery = 100 * time.Millisecond
	groupsAhead   = 256 // of a shard, before the tree takes them
)

type run struct {
	Config
	scratch *scratch
	list    *tipList // nil: the check looks tips up
	owners  owners
	done    atomic.Uint64
	of      uint64
	one     sync.Mutex     // a report, or a view, at a time
	files   map[place]bool // that a fault of a file names
}

type place struct {
	stream string
	seq    uint64
}

// alone calls do while no other function of Config runs.
func (r *run) alone(do func() error) error {
	r.one.Lock()
	defer r.one.Unlock()
	return do()
}

func (r *run) report(f Fault) error { return r.alone(func() error { return r.Report(f) }) }

func (r *run) newest(ctx context.Context, key eventstore.Key, a *aggregate, shard int) error {
	if r.Newest == nil || a.state == nil {
		return nil
	}
	n := Newest{Key: key, Stream: a.stream, Shard: shard, Seq: a.seq, Revision: a.revision, State: a.state}
	return r.alone(func() error { return r.Newest(ctx, n) })
}

func (r *run) event(ctx context.Context, e *eventstore.Recorded) error {
	if r.Event == nil || e.Seq > r.viewEnd(e.Shard) {
		return nil
	}
	return r.alone(func() error { return r.Event(ctx, e) })
}

func (r *run) viewEnd(shard int) uint64 {
	if r.ViewEnd == nil {
		return ^uint64(0)
	}
	return r.ViewEnd(shard)
}

// Run checks the log. The faults go to Report; an error means that the check did not end, or is
// that of Report.
func Run(ctx context.Context, c Config) (result Result, err error) {
	r := &run{Config: c, files: map[place]bool{}}
	if r.Memory == 0 {
		r.Memory = defaultMemory
	}
	r.of = c.Archive.Events
	for shard, end := range c.Archive.Ends {
		if streams.KindOf(shard).Events {
			r.of += end.Events
		}
	}
	if r.scratch, err = newScratch(c.Temp); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, r.scratch.close()) }()
	if err := r.prepare(ctx); err != nil {
		return result, err
	}
	defer r.showProgress()()
	return r.all(ctx)
}

// prepare checks the files, and lists the tips. If the tip store cannot be read, there is no list:
// the look-ups report it.
func (r *run) prepare(ctx context.Context) error {
	var listing sync.WaitGroup
	var listed error
	list, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.Only == "" && r.Archive.HasTips() && r.Archive.Shards > 0 {
		listing.Go(func() { r.list, listed = listTips(list, r.Archive, r.scratch, usual) })
	}
	err := r.inspect(ctx)
	if err != nil {
		cancel()
	}
	listing.Wait()
	if err == nil {
		err = listed
	}
	return err
}

func (r *run) inspect(ctx context.Context) error {
	if err := r.Archive.Known(r.damaged); err != nil || r.Only != "" {
		return err
	}
	if err := r.Archive.Inspect(ctx, r.damaged); err != nil {
		return err
	}
	for _, stream := range r.Archive.Missing() {
		if r.named(stream) {
			continue
		}
		if err := r.damaged(stream, 1, "the stream is gone"); err != nil {
			return err
		}
	}
	return nil
}

// named reports whether a fault of a file names a stream.
func (r *run) named(stream string) bool {
	r.one.Lock()
	defer r.one.Unlock()
	for where := range r.files {
		if where.stream == stream {
			return true
		}
	}
	return false
}

func (r *run) showProgress() (end func()) {
	if r.Progress == nil {
		return func() {}
	}
	return workers.Repeat(progressEvery, func() {
		r.one.Lock()
		defer r.one.Unlock()
		r.Progress(r.done.Load(), r.of)
	})
}

// all reads all shards, concurrently.
func (r *run) all(parent context.Context) (result Result, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var running sync.WaitGroup
	start := func(do func() error) {
		running.Go(func() {
			if err := do(); err != nil {
				cancel(err)
			}
		})
	}
	r.owners = owners{cache.New[fact](factsKept, func(struct{}) int { return 1 }, nil)}
	f, covers := &forest{run: r}, make(chan numbered, groupsAhead)
	var chains []*chain
	shards := streams.All(r.Archive.Shards)
	if r.Only != "" {
		shards = []int{domain.Shard(string(r.Only), r.Archive.Shards)}
	}
	for _, n := range shards {
		c := &chain{run: r, shard: n, cache: aggregates{limit: r.Memory / len(shards)}}
		if r.Only == "" && streams.KindOf(n).Events {
			hashes := make(chan leaves, groupsAhead)
			c.hashes, f.shards = hashes, append(f.shards, hashes)
		}
		if streams.KindOf(n).Covers {
			c.covers = covers
		}
		chains = append(chains, c)
		start(func() error { return c.read(ctx) })
	}
	if r.Only == "" {
		start(func() error { return f.check(ctx, covers) })
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return result, err
	}
	if err := r.lateOwners(ctx); err != nil {
		return result, err
	}
	if r.Only == "" {
		if err := errors.Join(r.Archive.Compare(ctx, r.damaged), r.compareEnds(ctx, chains)); err != nil {
			return result, err
		}
	}
	return r.sum(chains, f)
}

// read reads a shard. After an error the hashes do not end: they are not all of the shard.
func (c *chain) read(ctx context.Context) (err error) {
	defer func() {
		if c.hashes != nil && err == nil {
			close(c.hashes)
		}
		if c.covers != nil {
			close(c.covers)
		}
	}()
	if err := c.readTail(ctx); err != nil {
		return err
	}
	if err := c.readTimes(); err != nil {
		return err
	}
	if c.list != nil && streams.KindOf(c.shard).Events {
		c.newestTips = c.list.of(c.shard)
	}
	err = c.Archive.Groups(ctx, c.shard, c.damaged, func(stream string, g *format.Group) error { return c.group(ctx, stream, g) })
	if err == nil {
		err = c.finish(ctx)
	}
	return err
}

// damaged reports a fault of a file, once for each place: several readers may find it.
func (r *run) damaged(stream string, seq uint64, reason string) error {
	where := place{stream, seq}
	r.one.Lock()
	reported := r.files[where]
	r.files[where] = true
	r.one.Unlock()
	if reported && stream != "" {
		return nil
	}
	return r.report(Fault{Stream: stream, Sequence: seq, Difference: reason})
}

// readTail finds the aggregates with events that the tip store has not applied: a killed server
// leaves those of a second.
func (c *chain) readTail(ctx context.Context) error {
	if !c.Archive.HasTips() || !streams.KindOf(c.shard).Events {
		return nil
	}
	c.tail = map[format.Key]bool{}
	return c.Archive.Tail(ctx, c.shard, func(g *format.Group) {
		for _, r := range g.Frames {
			c.tail[r.Key] = true
		}
	})
}

// sum adds up the shards, and compares the number of tips.
func (r *run) sum(chains []*chain, f *forest) (result Result, err error) {
	result = Result{Checkpoints: f.number, Size: f.last.Size, Root: hex.EncodeToString(f.last.Root), Signed: r.Verifier != nil, Tips: r.Archive.HasTips()}
	tips := uint64(0)
	for _, c := range chains {
		result.Events += c.events
		result.Aggregates += c.aggregates
		result.OlderStates += c.older
		tips += c.tips
		if c.Archive.HasTips() && r.Only == "" && c.head.Seq < c.end().Seq {
			if err := r.report(Fault{Stream: c.stream, Sequence: c.head.Seq + 1, Difference: fmt.Sprintf("shard %d ends here, but was acknowledged up to %d", c.shard, c.end().Seq)}); err != nil {
				return result, err
			}
		}
	}
	if r.Only != "" || !result.Tips || len(chains) < len(streams.All(r.Archive.Shards)) { // not all shards were read
		return result, nil
	}
	var halves [archive.Halves]uint64
	stored := uint64(0)
	if r.list != nil {
		stored = r.list.stored
	} else if err := r.Archive.EachTip(func(half int, _ eventstore.Key, _ []byte) error { halves[half]++; return nil }); err != nil {
		return result, r.report(Fault{Difference: "the tip store cannot be read: " + err.Error()})
	}
	if stored += halves[0] + halves[1]; stored > tips {
		return result, r.report(Fault{Difference: fmt.Sprintf("the tip store has %d aggregates that the log does not have", stored-tips)})
	}
	return result, nil
}
