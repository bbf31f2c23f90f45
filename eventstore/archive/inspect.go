package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// inspection reads the files of a server, each once, and compares them with each other and with the
// tip store.
type inspection struct {
	dir    string
	tips   *tipstore.Store   // nil if there is none, or it is unreadable
	live   *Files            // of a running server; nil: it is stopped
	whole  bool              // every message is read, also those that the server will not read
	known  map[string]uint64 // streams that a running server's process knows, each with a sequence of it
	report Damaged           // called with each damage; an error ends the run
	pace   func(n int) error // may be nil
	rest   func() error      // before a second look at a running server's files

	uncached bool                    // reads from the disk
	unread   error                   // why the tip store is unreadable
	names    []string                // of all streams
	bad      map[string]bool         // streams with damage
	read     map[string]folder.Found // streams that were read

	heads  map[int]format.Head   // by shard: the end that the tip store has applied
	acked  map[int]format.Link   // by shard: the end of a running server's log at one moment
	ends   map[int]uint64        // by shard: the newest message that the tip store, the process, or a group of another shard names
	closed map[int]uint64        // by shard: the newest group that closes a segment
	next   map[int]uint64        // by shard: the sequence after the segments that were read; 0: it is unknown
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
	if err := in.run(context.Background()); err != nil {
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

func (in *inspection) run(ctx context.Context) error {
	var view *tipstore.View
	if in.tips != nil {
		now := in.tips.Snapshot()
		defer now.Close()
		view = &now
	}
	err := in.prepare(view)
	if err == nil && in.unread != nil {
		err = in.report("", 0, damagedTips(in.dir, in.unread).Error())
	}
	switch {
	case err != nil:
		return err
	case len(in.names) == 0 && len(in.ends) > 0:
		return in.damaged(streams.Shard(0), 0, "the log's streams are gone, but there is a tip store of them")
	}
	for _, shard := range slices.Sorted(maps.Keys(in.newest)) {
		if err := in.readShard(ctx, shard, in.readStream); err != nil {
			return err
		}
	}
	return in.compareShards()
}

// prepare reads the ends in the tip store, and then lists the streams, so that it finds all
// segments up to the ends.
func (in *inspection) prepare(tips *tipstore.View) error {
	in.bad, in.read, in.closed, in.next = map[string]bool{}, map[string]folder.Found{}, map[int]uint64{}, map[int]uint64{}
	in.readTips(tips)
	if in.live != nil {
		in.known, in.acked, in.ends = in.live.Known(), in.live.Ends(), map[int]uint64{}
		for shard, end := range in.acked { // the tip store has applied no group after them
			in.name(shard, end.Seq)
		}
	}
	return in.list()
}

// list lists the streams.
func (in *inspection) list() (err error) {
	if in.names, err = folder.Streams(in.dir); err != nil {
		return err
	}
	for _, shard := range []int{streams.DeliveryShard, streams.SecretShard} {
		in.floors[shard] = in.floor(shard)
	}
	in.newest, in.oldest = map[int]uint32{}, map[int]uint32{}
	slices.SortStableFunc(in.names, func(a, b string) int { return streams.Compare(b, a) })
	for _, name := range in.names {
		if shard, number, ours := streams.Parse(name); ours {
			in.newest[shard] = max(in.newest[shard], number)
			if streams.KindOf(shard).Drops() && number > in.floors[shard].Segment && (number == in.newest[shard] || folder.Described(in.dir, name)) {
				in.oldest[shard] = number
			}
		}
	}
	return nil
}

// damaged reports damage of a stream.
func (in *inspection) damaged(stream string, seq uint64, reason string) error {
	in.bad[stream] = true
	if in.live != nil && in.live.Found != nil {
		in.live.Found(stream, seq, reason)
	}
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
func (in *inspection) readTips(tips *tipstore.View) {
	in.heads, in.ends, in.floors = map[int]format.Head{}, map[int]uint64{}, map[int]streams.Floor{}
	if tips == nil {
		return
	}
	if in.unread = in.readWitnesses(*tips); in.unread != nil {
		in.tips, in.heads, in.ends, in.floors = nil, map[int]format.Head{}, map[int]uint64{}, map[int]streams.Floor{}
	}
}

func (in *inspection) readWitnesses(tips tipstore.View) (err error) {
	if in.heads, err = tiprow.Ends(tips); err != nil {
		return err
	}
	for shard, head := range in.heads {
		in.ends[shard] = head.Seq
	}
	acked, err := secretlog.WitnessIn(tips)
	in.name(streams.SecretShard, acked)
	if err == nil {
		in.floors[streams.SecretShard], err = secretlog.FloorIn(tips.Get)
	}
	for _, shard := range streams.Beside {
		in.floors[shard], _ = floorIn(tips.Get, shard) // the next start refuses an unreadable floor
	}
	return err
}

// floor returns the dropped part of a shard. A running server drops segments at any time.
func (in *inspection) floor(shard int) streams.Floor {
	if in.live == nil {
		return in.floors[shard]
	}
	return in.live.Floor(shard)
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
	if _, done := in.read[name]; !ours || done || in.wasDropped(name) {
		return nil
	}
	secret := streams.KindOf(shard).Destroys
	part := !in.whole && (number < in.newest[shard] || secret) && !in.seeksFloor(shard)
	reading := folder.Reading{Pace: in.pace, Uncached: in.uncached, Newest: part && folder.Trusted(in.dir, name)}
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
			return secretlog.ReadSegment(in.dir, name, in.tips, in.acked[shard].Seq, reading)
		}
		return folder.Read(in.dir, name, reading)
	}
	found, err := in.look(read)
	if reading.Newest && err == nil && (found.Torn != nil || readsAtStart(found.Time)) {
		reading.Newest = false
		found, err = read()
	}
	if errors.Is(err, secretlog.ErrTips) && in.live == nil { // a start ignores it: it makes a damaged one again
		in.tips = nil
		if err := in.report("", 0, damagedTips(in.dir, err).Error()); err != nil {
			return err
		}
		return in.readStream(name)
	}
	return in.take(name, last+1, found, err)
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

// see checks the place of a group, and notes it.
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
		g, err = format.ParseGroup(r.Body)
	}
	if err == nil && (g.Seq != r.Seq || g.Shard != shard) {
		err = errors.New("it is not the group of this place")
	}
	if err == nil {
		err = in.note(g)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", stored.ErrRefused, err)
	}
	return nil
}

// note notes the witness of a group, its ends beside the log, its floor and its end of a segment.
func (in *inspection) note(g *format.Group) error {
	if in.seeksFloor(g.Shard) {
		if err := in.noteFloors(g); err != nil {
			return err
		}
	}
	if g.Kind == format.KindClosing {
		in.closed[g.Shard] = max(in.closed[g.Shard], g.Seq)
	}
	if w := g.Witness; w.Shard != format.NoShard {
		in.name(w.Shard, w.Seq)
	}
	in.name(streams.CheckpointShard, g.Ends.Checkpoints)
	in.name(streams.SecretShard, g.Ends.Secrets)
	return nil
}
