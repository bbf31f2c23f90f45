package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

type inspection struct {
	dir    string
	tips   *tipstore.Store         // nil if there is none, or it is unreadable
	whole  bool                    // every message is read, also those that the server will not read
	report Damaged                 // called with each damage; an error ends the run
	pace   func(n int) error       // may be nil
	bad    map[string]bool         // streams with damage
	read   map[string]folder.Found // streams that were read

	ends   map[int]uint64        // by shard: the newest message that the tip store, or a group of another shard, names
	closed map[int]uint64        // by shard: the newest group that closes a segment
	newest map[int]uint32        // by shard: number of the newest segment
	oldest map[int]uint32        // by shard that drops segments: number of the oldest remaining one that was not being deleted
	floors map[int]streams.Floor // by shard: the dropped part
}

// Inspect reads a stopped folder, and prepares it for the start of its server. It syncs the newest
// messages: a start names what it reads of one stream in others. An error names the damage; the
// folder is then unchanged.
func Inspect(dir string) error {
	in := inspection{dir: dir, report: refuse}
	tips := filepath.Join(dir, folder.Tips)
	if _, err := os.Stat(tips); err == nil {
		if in.tips, err = tipfiles.Open(tipstore.Options{Dir: tips, Cache: 1 << 20, ReadOnly: true}); err == nil {
			defer in.tips.Close() // it was opened for reading
		} // else the start rebuilds it from the log
	}
	if err := in.run(); err != nil {
		return err
	}
	if err := folder.Repair(dir, in.read); err != nil {
		return err
	}
	return folder.SyncNewest(dir)
}

// refuse is the report of a start. It ignores a damaged tip store, which the start makes again.
func refuse(stream string, seq uint64, reason string) error {
	if stream == "" {
		return nil
	}
	return fmt.Errorf("%w: %s at sequence %d: %s; the folder was not changed: copy it before anything else", fault.ErrUnhealthy, stream, seq, reason)
}

func (in *inspection) run() error {
	names, err := folder.Streams(in.dir)
	if err != nil {
		return err
	}
	in.bad, in.read, in.ends, in.closed = map[string]bool{}, map[string]folder.Found{}, map[int]uint64{}, map[int]uint64{}
	in.newest, in.oldest, in.floors = map[int]uint32{}, map[int]uint32{}, map[int]streams.Floor{}
	if err := in.readTips(); err != nil {
		return err
	}
	if len(names) == 0 {
		if len(in.ends) > 0 {
			return in.damaged(streams.Shard(0), 0, "the log's streams are gone, but there is a tip store of them")
		}
		return nil
	}
	// The newest segments are read first: they may have the record of the dropped ones, which the
	// server was deleting.
	slices.SortStableFunc(names, func(a, b string) int { return streams.Compare(b, a) })
	for _, name := range names {
		if shard, number, ours := streams.Parse(name); ours {
			in.newest[shard] = max(in.newest[shard], number)
			if streams.KindOf(shard).Drops() && number > in.floors[shard].Segment && (number == in.newest[shard] || folder.Described(in.dir, name)) {
				in.oldest[shard] = number
			}
		}
	}
	for _, name := range names {
		if err := in.readStream(name); err != nil {
			return err
		}
	}
	return in.compareShards()
}

// damaged reports damage of a stream.
func (in *inspection) damaged(stream string, seq uint64, reason string) error {
	in.bad[stream] = true
	return in.report(stream, seq, reason)
}

// missed is damaged for a stream that does not reach a place. It reports nothing if the stream has
// other damage.
func (in *inspection) missed(stream string, seq uint64, reason string) error {
	if in.bad[stream] {
		return nil
	}
	return in.damaged(stream, seq, reason)
}

// readTips reads the witnesses in the tip store, if there is one and it is readable.
func (in *inspection) readTips() error {
	if in.tips == nil {
		return nil
	}
	err := in.readWitnesses()
	if err == nil {
		return nil
	}
	in.tips, in.ends, in.floors = nil, map[int]uint64{}, map[int]streams.Floor{}
	return in.report("", 0, damagedTips(in.dir, err).Error())
}

func (in *inspection) readWitnesses() error {
	view := in.tips.Snapshot()
	defer view.Close()
	heads, err := tiprow.Ends(view)
	for shard, head := range heads {
		in.ends[shard] = head.Seq
	}
	if err == nil {
		var acked uint64
		acked, err = secretlog.WitnessIn(view)
		in.name(streams.SecretShard, acked)
	}
	if err == nil {
		in.floors[streams.SecretShard], err = secretlog.FloorIn(view.Get)
	}
	if err != nil {
		return err
	}
	for _, shard := range streams.Beside {
		in.floors[shard], _ = floorIn(in.tips.Get, shard) // the next start refuses an unreadable floor
	}
	return nil
}

// name notes that a message of a shard was acknowledged; 0: it names none.
func (in *inspection) name(shard int, seq uint64) {
	if seq > 0 {
		in.ends[shard] = max(in.ends[shard], seq)
	}
}

// readStream reads the parts of one stream that the server will read, or all. Of a closed segment,
// and of SECRETS, the server reads nothing if it trusts its index: then only the newest messages
// are read, and the scrub reads the others. If they end with a torn tail, all messages are read:
// Repair removes the index.
func (in *inspection) readStream(name string) error {
	shard, number, ours := streams.Parse(name)
	if !ours || number <= in.floors[shard].Segment { // it was dropped, and is not removed yet
		return nil
	}
	secret := streams.KindOf(shard).Destroys
	part := !in.whole && (number < in.newest[shard] || secret) && !in.seeksFloor(shard)
	reading := folder.Reading{Pace: in.pace, Newest: part && folder.Trusted(in.dir, name)}
	last := uint64(0)
	reading.Handle = func(r stored.Message) error {
		last = max(last, r.Seq)
		err := in.see(shard, r)
		if part && errors.Is(err, stored.ErrRefused) { // the first read of it names it, and what to do
			return nil
		}
		return err
	}
	read := func() (folder.Found, error) {
		if secret {
			return secretlog.ReadSegment(in.dir, name, in.tips, 0, reading)
		}
		return folder.Read(in.dir, name, reading)
	}
	found, err := read()
	if reading.Newest && err == nil && (found.Torn != nil || readsAtStart(found.Time)) {
		reading.Newest = false
		found, err = read()
	}
	switch {
	case errors.Is(err, secretlog.ErrTips): // a start ignores it: it makes a damaged one again
		in.tips = nil
		if err := in.report("", 0, damagedTips(in.dir, err).Error()); err != nil {
			return err
		}
		return in.readStream(name)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil: // after the last message that could be read
		d, _ := folder.Describe(in.dir, name)
		return in.damaged(name, max(d.First, last+1), err.Error())
	}
	in.read[name] = found
	for _, f := range found.Faults {
		if err := in.damaged(name, f.Seq, f.Reason); err != nil {
			return err
		}
	}
	return nil
}

// readsAtStart reports whether the server reads messages of a stream at its start, although it
// trusts the index: the newest one, of a time in nanoseconds, is of the window of duplicates, or
// the clock is behind. In the worst case these are all messages of the stream.
func readsAtStart(newest int64) bool {
	return newest >= time.Now().Add(-streams.Duplicates).UnixNano()
}

// there reports whether a stream was read, and is not one whose creation was cut short.
func (in *inspection) there(name string) bool {
	found, read := in.read[name]
	return read && !found.Unfinished
}

// see checks the place of a group, and notes its witness, its ends beside the log, its floor and
// its end of a segment.
func (in *inspection) see(shard int, r stored.Message) error {
	switch {
	case !r.Stands():
		return nil
	case streams.KindOf(shard).Destroys:
		if f, err := secretlog.FloorOf(r.Seq, r.Body); err == nil && in.seeksFloor(shard) { // a start reports a message that cannot be parsed
			in.noteFloor(shard, f)
		}
		return nil
	}
	g, _, err := format.ParseGroupHeader(r.Body)
	if err == nil && in.seeksFloor(shard) {
		if g, err = format.ParseGroup(r.Body); err == nil {
			err = in.noteFloors(g)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", stored.ErrRefused, err)
	}
	if g.Seq != r.Seq || g.Shard != shard {
		return fmt.Errorf("%w: it is not the group of this place", stored.ErrRefused)
	}
	if g.Kind == format.KindClosing {
		in.closed[shard] = max(in.closed[shard], g.Seq)
	}
	if w := g.Witness; w.Shard != format.NoShard {
		in.name(w.Shard, w.Seq)
	}
	in.name(streams.CheckpointShard, g.Ends.Checkpoints)
	in.name(streams.SecretShard, g.Ends.Secrets)
	return nil
}
