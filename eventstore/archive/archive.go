package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"payledger/domain"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"

	"github.com/gofrs/flock"
)

// Archive is a log that is read: the files of a server, a back-up, or a log that its servers
// return, up to acknowledged ends.
type Archive struct {
	Shards int
	Events uint64 // that will be read, for the progress; 0: Ends has them
	// Ends are the ends up to which the tip store has applied the shards, by shard; none without a
	// tip store.
	Ends map[int]format.Head

	dir        string
	streams    []string
	running    *Running // nil: no store of this process has the log
	source     Source   // nil: the log has files
	lock       *flock.Flock
	opened     *tipstore.Store // of a stopped server
	view       *tipstore.View
	log        *remote.Log // of running
	unreadable error       // why the tip store cannot be read

	mu    sync.Mutex // of files: Groups reads shards concurrently
	files *inspection
}

// Open opens the folder of a stopped server. folder.ErrInUse: a server runs on the folder.
// fault.ErrNotFound: the folder has no log.
func Open(dir string) (*Archive, error) {
	a := &Archive{dir: dir}
	names, err := folder.Streams(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: %s holds no log", fault.ErrNotFound, dir)
	}
	if err := CheckFormat(dir); err != nil {
		return nil, err
	}
	if a.lock, err = folder.Share(dir); err != nil {
		return nil, err
	}
	tips := filepath.Join(dir, folder.Tips)
	if _, err := os.Stat(tips); err == nil {
		if a.opened, err = tipfiles.Open(tipstore.Options{Dir: tips, Cache: 32 << 20, ReadOnly: true}); err == nil {
			view := a.opened.Snapshot()
			a.view = &view
		} else if !errors.Is(err, tipstore.ErrDamaged) {
			return nil, errors.Join(err, a.Close())
		} else {
			a.unreadable = damagedTips(a.dir, err)
		}
	}
	if err := a.openFiles(a.opened, nil); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// openFiles lists the files, and reads the ends in the tip store. That of a stopped server may be
// damaged.
func (a *Archive) openFiles(tips *tipstore.Store, live *Files) error {
	a.files = &inspection{dir: a.dir, tips: tips, live: live, whole: true}
	if err := a.files.prepare(a.view); err != nil {
		return err
	}
	if err := damagedTips(a.dir, a.files.unread); err != nil {
		if live != nil || !errors.Is(err, tipstore.ErrDamaged) {
			return err
		}
		a.view.Close()
		a.view, a.unreadable = nil, err
	}
	a.Ends, a.streams = a.files.heads, a.files.names
	for shard := range a.files.newest {
		if streams.KindOf(shard).Events {
			a.Shards = max(a.Shards, shard+1)
		}
	}
	return nil
}

// damagedTips adds the place of the tip store to an error that reports its damage.
func damagedTips(dir string, err error) error {
	if !errors.Is(err, tipstore.ErrDamaged) {
		return err
	}
	return fmt.Errorf("the tip store %s: %w; it holds no facts of its own: stop the service, remove this folder, and start it, which makes it again from the log", filepath.Join(dir, folder.Tips), err)
}

// CheckFormat returns streams.ErrOldFormat for a folder with a log of another format: its
// inspection would find damage where there is none. A damaged description of a stream says nothing
// about it.
func CheckFormat(dir string) error {
	names, err := folder.Streams(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if streams.Old(name) {
			return streams.OldFormat("folder " + dir + " holds stream " + name)
		}
		if !streams.KindIn(name).Events {
			continue
		}
		d, err := folder.Describe(dir, name)
		if err == nil {
			err = streams.CheckFormat(d.Metadata)
		}
		if errors.Is(err, streams.ErrOldFormat) {
			return fmt.Errorf("folder %s: %w", dir, err)
		}
	}
	return nil
}

// Served reports whether servers return the log, which may grow meanwhile.
func (a *Archive) Served() bool { _, is := a.source.(*served); return is }

// HasTips reports whether there is a readable tip store.
func (a *Archive) HasTips() bool { return a.view != nil }

// Close releases the files.
func (a *Archive) Close() error {
	var errs []error
	if a.view != nil {
		a.view.Close()
	}
	if a.opened != nil {
		errs = append(errs, a.opened.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Unlock())
	}
	if a.log != nil {
		a.log.Close()
	}
	return errors.Join(errs...)
}

// Missing returns the streams that every log must have and this log lacks.
func (a *Archive) Missing() (names []string) {
	if a.Shards == 0 {
		return nil
	}
	for _, shard := range streams.Beside {
		if len(streams.Segments(shard, a.streams)) == 0 {
			names = append(names, streams.Name(shard, 1))
		}
	}
	return names
}

// Known reports the damage that the store of this process knows.
func (a *Archive) Known(damaged Damaged) error {
	if a.running == nil {
		return nil
	}
	return a.running.Known(damaged)
}

// Inspect checks what the groups do not show: the files of SECRETS against their indexes; of a
// cluster, the messages of SECRETS. A fault of the tip store has no stream.
func (a *Archive) Inspect(ctx context.Context, damaged Damaged) error {
	if a.source != nil {
		return a.source.Inspect(ctx, damaged)
	}
	if a.unreadable != nil {
		if err := damaged("", 0, a.unreadable.Error()); err != nil {
			return err
		}
	}
	in := a.files.with(ctx, damaged)
	if err := in.gone(); err != nil {
		return err
	}
	return damagedTips(a.dir, in.readSecrets(ctx))
}

// Compare compares the files with each other and with the tip store, after Inspect and Groups of
// all shards: each stream must reach the places that others name. Without a tip store, a
// destruction must name each missing record of SECRETS.
func (a *Archive) Compare(ctx context.Context, damaged Damaged) error {
	if a.files == nil {
		return nil
	}
	in := a.files.with(ctx, damaged)
	if err := in.compareShards(); err != nil || a.view != nil || len(in.bad) > 0 {
		return err
	}
	return in.unnamed(ctx, 0)
}

func (in *inspection) with(ctx context.Context, report Damaged) *inspection {
	in.report, in.pace = report, func(int) error { return ctx.Err() }
	in.rest = func() error { return due.Rest(ctx, laterPause, nil) }
	return in
}

// InspectStart refuses a folder on which the server would not start, as Inspect does, and changes
// nothing.
func (a *Archive) InspectStart(ctx context.Context) error {
	in := inspection{dir: a.dir, tips: a.files.tips, report: refuse, pace: func(int) error { return ctx.Err() }}
	return in.run(ctx)
}

// DroppedDeliveries returns the number of the newest dropped segment of deliveries, by the tip
// store; 0 without one.
func (a *Archive) DroppedDeliveries() (uint32, error) {
	if a.view == nil {
		return 0, nil
	}
	floor, err := floorIn(a.view.Get, streams.DeliveryShard)
	return floor.Segment, damagedTips(a.dir, err)
}

// floorIn returns the end of the dropped segments of a shard, by a tip store.
func floorIn(get func(key []byte) ([]byte, error), shard int) (streams.Floor, error) {
	kind := streams.KindOf(shard)
	r, err := tiprow.Get(get, shard, kind.Floor)
	if errors.Is(err, tipstore.ErrNotFound) {
		return streams.Floor{}, nil
	}
	if err != nil {
		return streams.Floor{}, err
	}
	return kind.FloorIn(r)
}

// Damaged reports a fault in a stream's files: the first affected sequence, and the reason.
type Damaged func(stream string, seq uint64, reason string) error

// Groups calls handle with the groups of a shard, in their order, and damaged with each fault of
// the files. It returns the first error of handle or damaged.
func (a *Archive) Groups(ctx context.Context, shard int, damaged Damaged, handle func(stream string, g *format.Group) error) error {
	if a.source != nil {
		return a.source.Groups(ctx, shard, damaged, handle)
	}
	in := a.alone().with(ctx, damaged)
	err := in.readShard(ctx, shard, func(name string) error { return in.readGroups(shard, name, 0, handle) })
	a.join(shard, in)
	return err
}

// alone returns the inspection for one shard.
func (a *Archive) alone() *inspection {
	a.mu.Lock()
	defer a.mu.Unlock()
	in := *a.files
	in.bad, in.read, in.closed, in.next = map[string]bool{}, map[string]folder.Found{}, map[int]uint64{}, map[int]uint64{}
	in.ends, in.floors = map[int]uint64{}, maps.Clone(in.floors)
	return &in
}

// join takes over what the inspection of a shard has found.
func (a *Archive) join(shard int, in *inspection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(a.files.bad, in.bad)
	maps.Copy(a.files.read, in.read)
	maps.Copy(a.files.closed, in.closed)
	maps.Copy(a.files.next, in.next)
	for named, seq := range in.ends {
		a.files.ends[named] = max(a.files.ends[named], seq)
	}
	a.files.floors[shard] = in.floors[shard]
}

// Tail calls handle with the groups in the files of a shard that the tip store has not applied.
// Groups reports their faults.
func (a *Archive) Tail(ctx context.Context, shard int, handle func(*format.Group)) error {
	from := a.Ends[shard].Seq + 1
	if a.source != nil || a.files.later(shard, from) {
		return nil
	}
	in := a.alone().with(ctx, func(string, uint64, string) error { return nil })
	for _, name := range folder.From(a.dir, streams.Segments(shard, a.streams), from) {
		if err := in.readGroups(shard, name, from, func(_ string, g *format.Group) error { handle(g); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Dropped reports whether a running server dropped a group, perhaps while its files were read.
func (a *Archive) Dropped(shard int, seq uint64) bool {
	return a.files != nil && a.files.live != nil && streams.KindOf(shard).Drops() && seq <= a.files.live.Floor(shard).Seq
}

// Tip returns the newest event of an aggregate in the tip store; fault.ErrNotFound if there is
// none.
func (a *Archive) Tip(shard int, key format.Key) (*format.Recorded, error) {
	r, err := tiprow.Get(a.view.Get, shard, key)
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, fault.ErrNotFound
	}
	return r, damagedTips(a.dir, err)
}

// Newest returns the newest event of an aggregate if it satisfies fits, else nil. It reads the tip
// store first. If the server runs, it then reads the log, because the ends of the shards are from
// different moments.
func (a *Archive) Newest(ctx context.Context, key format.Key, fits func(*format.Recorded) bool) (*format.Recorded, error) {
	r, err := a.Tip(domain.Shard(key.ID, a.Shards), key)
	if a.running != nil && (errors.Is(err, fault.ErrNotFound) || err == nil && !fits(r)) {
		r, err = a.running.Load(ctx, key)
	}
	if errors.Is(err, fault.ErrNotFound) || err == nil && !fits(r) {
		return nil, nil
	}
	return r, err
}

// Left returns the part that left an aggregate's state with a revision, from the tip store; nil if
// there is none.
func (a *Archive) Left(key format.Key, revision uint64) ([]byte, error) {
	value, err := a.view.Get(tiprow.LeftKey(key, revision))
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, nil
	}
	return value, damagedTips(a.dir, err)
}
