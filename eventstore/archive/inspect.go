package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"payledger/eventstore/blocks"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/deliverylog"
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
	dir      string
	required map[string]uint64        // by stream: the sequence up to which a witness requires it
	shards   map[int]format.Link      // by shard: its newest group that the witness of another shard names
	beside   format.Beside            // the newest group of the checkpoints and message of SECRETS that the groups name
	newest   map[int]uint32           // number of the newest segment of each shard
	oldest   uint32                   // number of the oldest remaining segment of deliveries
	floor    deliverylog.Floor        // of deliveries: the dropped part
	open     map[int]segmentReport    // the newest segment of each shard
	reports  map[string]blocks.Report // of the streams that were read
	torn     []string                 // streams with a torn tail
	heads    map[int]format.Head      // by shard: the end that the tip store has applied
	tips     *tipstore.Store          // nil if there is none, or it is unreadable

	newestSecrets uint32 // number of the newest segment of SECRETS; 0: there is none
	secrets       uint32 // number of the first segment of SECRETS that was not dropped
	dropped       []byte // the newest drop of segments of SECRETS, by the tip store
	whole         bool   // every block is read, also blocks that the server will not read

	report Damaged         // called with each damage; nil: the first damage ends the run
	bad    map[string]bool // streams with damage
	pace   func(n int) error
	closed map[int]uint64 // by shard: the newest group that closes a segment
}

type segmentReport struct {
	number uint32
	name   string
	last   uint64
}

// Inspect reads a stopped folder, copies torn tails, and syncs the newest blocks: after a kill they
// may be in the memory of the system only, and a start names what it reads of one stream in others.
// An error names the damage; the folder is then unchanged.
func Inspect(dir string) error {
	in := inspection{dir: dir}
	tips := filepath.Join(dir, folder.Tips)
	if _, err := os.Stat(tips); err == nil {
		if in.tips, err = tipfiles.Open(tipstore.Options{Dir: tips, Cache: 1 << 20, ReadOnly: true}); err == nil {
			defer in.tips.Close() // it was opened for reading
		} // else the start rebuilds it from the log
	}
	if err := in.run(); err != nil {
		return err
	}
	if err := in.keepTorn(); err != nil {
		return err
	}
	if err := blocks.Sync(dir, streams.Account); err != nil {
		return fmt.Errorf("eventstore: the log cannot be synced: %w", err)
	}
	return nil
}

func (in *inspection) run() error {
	names, err := blocks.Streams(in.dir, streams.Account)
	if errors.Is(err, os.ErrNotExist) {
		names, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	in.required, in.shards, in.newest = map[string]uint64{}, map[int]format.Link{}, map[int]uint32{}
	in.open, in.reports, in.bad = map[int]segmentReport{}, map[string]blocks.Report{}, map[string]bool{}
	if all := streams.SecretSegments(names); len(all) > 0 {
		in.newestSecrets = streams.SecretNumber(all[len(all)-1])
	}
	in.closed = map[int]uint64{}
	if err := in.readTips(); err != nil {
		return err
	}
	in.secrets = secretlog.FirstIn(in.dir, names, in.dropped)
	if len(names) == 0 {
		if len(in.heads) > 0 {
			return in.damaged(streams.Shard(0), 0, "the log's streams are gone, but there is a tip store of them")
		}
		return nil
	}
	for _, name := range names {
		shard, number, ours := streams.Parse(name)
		if !ours {
			continue
		}
		in.newest[shard] = max(in.newest[shard], number)
		if streams.Drops(shard) && number > in.floor.Segment && (in.oldest == 0 || number < in.oldest) {
			in.oldest = number
		}
	}
	for _, name := range names {
		if in.beingDeleted(name) || in.secretsDropped(name) {
			continue
		}
		if err := in.readStream(name); err != nil {
			return err
		}
	}
	return in.compare()
}

// damaged returns the error for damage of a stream, or reports it.
func (in *inspection) damaged(stream string, seq uint64, reason string) error {
	if in.report != nil {
		in.bad[stream] = true
		return in.report(stream, seq, reason)
	}
	return fmt.Errorf("%w: %s at sequence %d: %s; the folder was not changed: copy it before anything else", fault.ErrUnhealthy, stream, seq, reason)
}

func (in *inspection) broken(stream string, err error) error {
	if in.report != nil {
		return in.damaged(stream, 1, err.Error())
	}
	return fmt.Errorf("%w: %s: %w; the folder was not changed: copy it before anything else", fault.ErrUnhealthy, stream, err)
}

// readTips reads the witnesses in the tip store, if there is one. A start ignores an unreadable
// one, and rebuilds it.
func (in *inspection) readTips() error {
	if in.tips == nil {
		return nil
	}
	err := in.readWitnesses()
	if err == nil || in.report != nil && !errors.Is(err, tipstore.ErrDamaged) {
		return err
	}
	in.tips, in.heads, in.required, in.dropped = nil, nil, map[string]uint64{}, nil
	if in.report == nil {
		return nil
	}
	return in.report("", 0, err.Error())
}

func (in *inspection) readWitnesses() error {
	view := in.tips.Snapshot()
	defer view.Close()
	var err error
	in.heads, err = tiprow.Ends(view)
	var secrets secretlog.Witnessed
	if err == nil {
		secrets, err = secretlog.ReadWitness(view)
	}
	if err != nil {
		return damagedTips(in.dir, err)
	}
	in.required, in.dropped = secrets.Acked, secrets.Floor
	if r, err := tiprow.Get(in.tips.Get, deliverylog.ShardNumber, deliverylog.FloorKey); err == nil {
		in.floor, _ = deliverylog.ParseFloor(r) // the next start refuses an unreadable floor
	}
	return nil
}

// readStream verifies the parts of one stream that the server will read or trust.
func (in *inspection) readStream(name string) error {
	shard, number, ours := streams.Parse(name)
	side := streams.IsSecrets(name)
	if !ours && !side {
		return nil
	}
	options := blocks.Options{Deletes: side, Pace: in.pace}
	if ours {
		options.Subject = streams.Subject(shard, number)
		options.Handle = func(r stored.Message) error { return in.see(shard, r) }
	}
	path := blocks.Folder(in.dir, streams.Account, name)
	if unfinished, err := folder.Unfinished(path, name); unfinished || err != nil {
		return err
	}
	see, newest := options.Handle, int64(0)
	part := ours && number < in.newest[shard] && !in.whole && !in.seeksFloor(shard) && indexed(name, path)
	if part {
		options.Handle = func(r stored.Message) error {
			newest = max(newest, r.Time)
			return nil
		}
		files, err := blocks.Files(path)
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
		if len(files) > 0 {
			options.From = blocks.Place{Block: files[len(files)-1].Number}
		}
	}
	verify := func() (blocks.Report, error) { return blocks.Verify(in.dir, streams.Account, name, options) }
	if side {
		verify = func() (blocks.Report, error) { return in.readSide(name, path, options, in.whole) }
	}
	report, err := verify()
	if part && err == nil && readsAtStart(newest) {
		options.Handle, options.From = see, blocks.Place{}
		report, err = verify()
	}
	if errors.Is(err, fault.ErrUnhealthy) || errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return in.broken(name, err)
	}
	in.reports[name] = report
	switch report.Kind {
	case blocks.Damaged:
		return in.faults(report)
	case blocks.Torn:
		in.torn = append(in.torn, name)
	}
	if ours && report.Kind <= blocks.Stopped {
		if err := in.checkBeginning(name, path, report, options.From.Block); err != nil {
			return err
		}
	}
	if o := in.open[shard]; ours && number >= o.number {
		in.open[shard] = segmentReport{number, name, report.Last}
	}
	return nil
}

// readsAtStart reports whether the server reads messages of a stream at its start, although it
// trusts the index: the newest one, of a time in nanoseconds, is of the window of duplicates, or
// the clock is behind. In the worst case these are all messages of the stream.
func readsAtStart(newest int64) bool {
	return newest >= time.Now().Add(-streams.Duplicates).UnixNano()
}

func (in *inspection) faults(report blocks.Report) error {
	if in.report == nil {
		return in.damaged(report.Stream, report.Last+1, report.Faults[0].String())
	}
	for _, f := range report.Faults {
		if err := in.damaged(report.Stream, max(f.From, f.After+1), f.String()); err != nil {
			return err
		}
	}
	return nil
}

// checkBeginning checks that a segment of the log begins with the sequence in its description,
// because no message of the log is ever deleted. from is the first block that was read. If from is
// not the first file, checkBeginning reads the first message. A gap in the numbers of the block
// files is no fault: the server drops a block without messages, and continues with the next number.
func (in *inspection) checkBeginning(name, path string, report blocks.Report, from int) error {
	files, err := blocks.Files(path)
	if err != nil || len(files) == 0 {
		return err
	}
	meta, err := blocks.CheckMeta(path, name)
	if err != nil {
		return nil // a damaged description is reported by complete
	}
	first, wanted := report.First, max(1, meta.FirstSeq)
	if from > files[0].Number {
		message, err := blocks.ReadBlock(files[0].Path, name, blocks.Options{Deletes: true, Through: wanted})
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
		if message.Kind > blocks.Stopped {
			return nil // the scrub, or the first read of the place, reports damage in a closed segment
		}
		first = message.First
	}
	if first > wanted {
		return in.damaged(name, wanted, fmt.Sprintf("it begins with %d", first))
	}
	return nil
}

// see checks the place of a group, and notes its witness, its ends beside the log, its floor and
// its end of a segment.
func (in *inspection) see(shard int, r stored.Message) error {
	if !r.Stands() {
		return nil
	}
	g, _, err := format.ParseGroupHeader(r.Body)
	if err == nil && in.seeksFloor(shard) {
		if g, err = format.ParseGroup(r.Body); err == nil {
			err = in.noteFloor(g)
		}
	}
	if err != nil || g.Seq != r.Seq || g.Shard != shard {
		return fmt.Errorf("%w: it is not the group of this place", stored.ErrRefused)
	}
	if g.Kind == format.KindClosing {
		in.closed[shard] = max(in.closed[shard], g.Seq)
	}
	if w := g.Witness; w.Shard != format.NoShard && w.Seq > in.shards[w.Shard].Seq {
		in.shards[w.Shard] = w.Link
	}
	in.beside.Checkpoints = max(in.beside.Checkpoints, g.Beside.Checkpoints)
	in.beside.Secrets = max(in.beside.Secrets, g.Beside.Secrets)
	return nil
}

// compare checks that every stream reaches the place that a witness requires.
func (in *inspection) compare() error {
	for shard := range in.heads {
		if _, there := in.open[shard]; !there && in.heads[shard].Seq > 0 {
			if err := in.missed(streams.Name(shard, 1), in.heads[shard].Seq, "the stream is gone"); err != nil {
				return err
			}
		}
	}
	if err := in.complete(); err != nil {
		return err
	}
	if _, there := in.open[checkpoint.ShardNumber]; !there && in.beside.Checkpoints > 0 {
		reason := fmt.Sprintf("the stream is gone; the log names its group %d", in.beside.Checkpoints)
		if err := in.missed(streams.Name(checkpoint.ShardNumber, 1), 1, reason); err != nil {
			return err
		}
	}
	for shard, at := range in.open {
		required := max(in.heads[shard].Seq, in.shards[shard].Seq)
		if shard == checkpoint.ShardNumber {
			required = max(required, in.beside.Checkpoints)
		}
		if at.last >= required || in.emptyAfter(at, required) {
			continue
		}
		name, reason := at.name, fmt.Sprintf("it ends here, but was acknowledged up to %d", required)
		if in.closed[shard] == at.last && at.last > 0 {
			name, reason = streams.Name(shard, at.number+1), fmt.Sprintf("the stream is gone; it was acknowledged up to %d", required)
		}
		if err := in.missed(name, at.last+1, reason); err != nil {
			return err
		}
	}
	for number := uint32(1); number < in.newestSecrets; number++ {
		if name := streams.SecretSegment(number); in.reports[name].Stream == "" && !in.secretsDropped(name) {
			if err := in.missed(name, in.required[name], "the stream is gone"); err != nil {
				return err
			}
		}
	}
	if err := in.compareSecrets(in.beside.Secrets); err != nil {
		return err
	}
	for name, required := range in.required {
		report, there := in.reports[name]
		switch {
		case in.secretsDropped(name):
		case !there:
			if err := in.missed(name, required, "the stream is gone"); err != nil {
				return err
			}
		case report.Last < required:
			if err := in.missed(name, report.Last+1, fmt.Sprintf("it ends here, but was acknowledged up to %d", required)); err != nil {
				return err
			}
		}
	}
	return nil
}

// missed is damaged for a stream that does not reach a place. It reports nothing if the stream has
// other damage.
func (in *inspection) missed(stream string, seq uint64, reason string) error {
	if in.bad[stream] {
		return nil
	}
	return in.damaged(stream, seq, reason)
}

// emptyAfter reports whether the newest segment is still empty and the segment before it reaches
// the required place.
func (in *inspection) emptyAfter(at segmentReport, required uint64) bool {
	shard, _, _ := streams.Parse(at.name)
	before, there := in.reports[streams.Name(shard, at.number-1)]
	return at.last == 0 && there && before.Last >= required
}
