package eventstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"payledger/eventstore/blocks"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/tipstore"
)

// An embedded server changes a damaged folder when it starts: it cuts a file at its first bad record, trusts its index where it
// has one, and drops a stream whose description is damaged. So inspect reads the folder before the server starts, and changes
// no stream. It refuses a damaged folder. It copies a torn tail, which a power failure can leave; then the server cuts it.

// tornFolder holds copies of torn tails.
const tornFolder = "torn"

// inspection is the knowledge about a stopped folder.
type inspection struct {
	dir      string
	required map[string]uint64        // by stream: the sequence up to which a witness requires it
	shards   map[int]format.Link      // by shard: its newest group that the witness of another shard names
	newest   map[int]uint32           // number of the newest segment of each shard
	oldest   uint32                   // number of the oldest remaining segment of deliveries
	floor    deliverylog.Floor        // of deliveries: the dropped part
	open     map[int]segmentReport    // the newest segment of each shard
	reports  map[string]blocks.Report // of the streams that were read
	torn     []string                 // streams with a torn tail
	heads    map[int]format.Head      // by shard: the end that the tip store has applied
	tips     *tipstore.Store          // nil if there is none, or it is unreadable
	given    bool                     // the caller opened the tip store, and closes it

	newestSide map[string]uint32 // number of the newest segment of each stream beside the log
	whole      bool              // every block is read, also those that the server will not read
}

type segmentReport struct {
	number uint32
	name   string
	last   uint64
}

// inspect reads a stopped folder and copies torn tails. An error names the damage; the folder is then unchanged.
func inspect(dir string) error {
	in := inspection{dir: dir}
	defer in.close()
	if err := in.run(); err != nil {
		return err
	}
	return in.keepTorn()
}

// run reads the folder. An error names the damage.
func (in *inspection) run() error {
	names, err := blocks.Streams(in.dir, ledgerAccount)
	if errors.Is(err, os.ErrNotExist) {
		names, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	in.required, in.shards, in.newest = map[string]uint64{}, map[int]format.Link{}, map[int]uint32{}
	in.open, in.reports, in.newestSide = map[int]segmentReport{}, map[string]blocks.Report{}, sidelog.Newest(names)
	if err := in.openTips(); err != nil {
		return err
	}
	if len(names) == 0 {
		if len(in.heads) > 0 {
			return in.damaged(segmentPrefix+"0", 0, "the log's streams are gone, but there is a tip store of them")
		}
		return nil
	}
	for _, name := range names {
		shard, number, ours := parseSegmentName(name)
		if !ours {
			continue
		}
		in.newest[shard] = max(in.newest[shard], number)
		if shard == deliverylog.ShardNumber && number > in.floor.Segment && (in.oldest == 0 || number < in.oldest) {
			in.oldest = number
		}
	}
	for _, name := range names {
		if in.beingDeleted(name) {
			continue
		}
		if err := in.readStream(name); err != nil {
			return err
		}
	}
	return in.compare()
}

func (in *inspection) damaged(stream string, seq uint64, reason string) error {
	return fmt.Errorf("%w: %s at sequence %d: %s; the folder was not changed: copy it before anything else", ErrUnhealthy, stream, seq, reason)
}

// openTips opens the tip store, unless it was given, and reads its witnesses. A start ignores an unreadable tip store: Open makes it
// again.
func (in *inspection) openTips() error {
	if in.given {
		if in.tips == nil {
			return nil
		}
		return in.readTips()
	}
	dir := filepath.Join(in.dir, tipsFolder)
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerror // there is none
	}
	tips, err := tipstore.Open(tipstore.Options{Dir: dir, Cache: 1 << 20, ReadOnly: true})
	if err != nil {
		return nil //nolint:nilerror // Open makes it again from the log
	}
	in.tips = tips
	if err := in.readTips(); err != nil {
		in.heads, in.required, in.tips = nil, map[string]uint64{}, nil
		return tips.Close()
	}
	return nil
}

// readTips reads the witnesses of the tip store.
func (in *inspection) readTips() error {
	in.heads = map[int]format.Head{}
	err := in.tips.Each([]byte{appliedPrefix}, func(key, value []byte) error {
		h, err := decodeHead(value)
		if err == nil && len(key) == 3 {
			in.heads[int(key[1])<<8|int(key[2])] = h
		}
		return err
	})
	if err == nil {
		err = in.tips.Each([]byte{sidelog.WitnessPrefix}, func(key, value []byte) error {
			in.required[string(key[1:])], _ = sidelog.ParseWitness(value)
			return nil
		})
	}
	if err != nil {
		return damagedTips(in.dir, err)
	}
	in.readFloor()
	return nil
}

// close closes the tip store.
func (in *inspection) close() {
	if in.tips != nil && !in.given {
		_ = in.tips.Close() // it was only read
	}
}

// readSide verifies a stream beside the log, and compares it with its index. If the server will trust the index.db of a segment
// and read no block, readSide reads only the newest block: the scrub reads the others.
func (in *inspection) readSide(name, folder string, options blocks.Options) (blocks.Report, error) {
	var index blocks.Index
	_, _, part := sidelog.ParseName(name)
	if part = part && !in.whole; part {
		var files []blocks.File
		files, index, part = blocks.Trusted(folder, name)
		if part = part && len(files) > 1; part {
			options.From = blocks.Place{Block: files[len(files)-1].Number}
		}
	}
	var check *sideCheck
	if in.tips != nil {
		view := in.tips.Snapshot()
		defer view.Close()
		var err error
		if check, err = newSideCheck(view, name); err != nil {
			check = nil // Open makes the tip store again
		}
	}
	if check != nil {
		check.part, options.Handle = part, check.see
	}
	report, err := blocks.Verify(in.dir, ledgerAccount, name, options)
	if part { // the newest block may hold only marks of deleted messages
		report.Last = max(report.Last, index.Last)
	}
	if err != nil || check == nil || report.Kind > blocks.Torn {
		return report, err
	}
	seq, err := check.end()
	if errors.Is(err, tipstore.ErrDamaged) || err == nil {
		return report, nil
	}
	return report, in.damaged(name, seq, err.Error())
}

// readStream verifies the parts of one stream that the server will read or trust.
func (in *inspection) readStream(name string) error {
	shard, number, ours := parseSegmentName(name)
	deletes, side := sidelog.Beside(name)
	if !ours && !side {
		return nil
	}
	options := blocks.Options{Deletes: deletes}
	if ours {
		options.Subjects = []string{segment{number: number}.subject(shard)}
		options.Handle = func(r blocks.Record) error { return in.see(shard, r) }
	}
	path := blocks.Folder(in.dir, ledgerAccount, name)
	if unfinished, err := folder.Unfinished(path, name); unfinished || err != nil {
		return err
	}
	if ours && !in.whole && number < in.newest[shard] && indexed(name, path) && !in.seeksFloor(shard) {
		options.Handle = nil
		files, err := blocks.Files(path)
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
		if len(files) > 0 {
			options.From = blocks.Place{Block: files[len(files)-1].Number}
		}
	}
	verify := func() (blocks.Report, error) { return blocks.Verify(in.dir, ledgerAccount, name, options) }
	if side {
		verify = func() (blocks.Report, error) { return in.readSide(name, path, options) }
	}
	report, err := verify()
	if errors.Is(err, ErrUnhealthy) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w; the folder was not changed: copy it before anything else", ErrUnhealthy, name, err)
	}
	in.reports[name] = report
	switch report.Kind {
	case blocks.Damaged:
		return in.damaged(name, report.Last+1, report.Faults[0].String())
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

// checkBeginning checks that a segment of the log begins with the sequence in its description: no message is ever deleted from it. from
// is the first block that was read; if it is not the first file, it reads the first message. A gap in the numbers of the
// block files is no fault: the server drops a block that holds no message yet, and continues with the next number.
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
			return nil // the scrub, or the first read, reports damage in a closed segment
		}
		first = message.First
	}
	if first > wanted {
		return in.damaged(name, wanted, fmt.Sprintf("it begins with %d", first))
	}
	return nil
}

// indexed reports whether the server has an index of a whole closed segment: then it reads no block of it.
func indexed(name, path string) bool {
	index, ok := blocks.ReadIndex(path, name)
	return ok && index.Last > 0
}

// see notes the witness of a group: the newest acknowledged group of the next shard.
func (in *inspection) see(shard int, r blocks.Record) error {
	if r.Erased || r.Tombstone {
		return nil
	}
	g, _, err := format.ParseGroupHeader(r.Body)
	if err == nil && in.seeksFloor(shard) {
		if g, err = format.ParseGroup(r.Body); err == nil {
			err = in.noteFloor(g)
		}
	}
	if err != nil || g.Seq != r.Seq || g.Shard != shard {
		return fmt.Errorf("%w: it is no group of this place", blocks.ErrRefused)
	}
	if w := g.Witness; w.Shard != format.NoShard && w.Seq > in.shards[w.Shard].Seq {
		in.shards[w.Shard] = w.Link
	}
	return nil
}

// compare checks that every stream reaches the place that a witness requires.
func (in *inspection) compare() error {
	for shard := range in.heads {
		if _, there := in.open[shard]; !there && in.heads[shard].Seq > 0 {
			return in.damaged(segmentPrefix+fmt.Sprint(shard), in.heads[shard].Seq, "the stream is gone")
		}
	}
	if err := in.complete(); err != nil {
		return err
	}
	for shard, at := range in.open {
		required := max(in.heads[shard].Seq, in.shards[shard].Seq)
		if at.last < required && !in.emptyAfter(at, required) {
			return in.damaged(at.name, at.last+1, fmt.Sprintf("it ends here, but was acknowledged up to %d", required))
		}
	}
	for of, newest := range in.newestSide {
		for number := uint32(1); number < newest; number++ {
			if name := sidelog.Name(of, number); in.reports[name].Stream == "" {
				return in.damaged(name, in.required[name], "the stream is gone")
			}
		}
	}
	for name, required := range in.required {
		report, there := in.reports[name]
		if !there {
			return in.damaged(name, required, "the stream is gone")
		}
		if report.Last < required {
			return in.damaged(name, report.Last+1, fmt.Sprintf("it ends here, but was acknowledged up to %d", required))
		}
	}
	return nil
}

// complete checks that no older segment of a shard is missing, and that each segment begins at the end of the one before it.
func (in *inspection) complete() error {
	for shard, open := range in.open {
		begin, next, err := in.beginning(shard)
		if err != nil {
			return err
		}
		for number := begin; number <= open.number; number++ {
			name := segmentName(shard, number)
			if _, there := in.reports[name]; !there {
				return in.damaged(name, next, "the stream is gone")
			}
			meta, err := blocks.CheckMeta(blocks.Folder(in.dir, ledgerAccount, name), name)
			if err != nil {
				return fmt.Errorf("%w: %s: %w; the folder was not changed: copy it before anything else", ErrUnhealthy, name, err)
			}
			if first := max(1, meta.FirstSeq); first != next {
				return in.damaged(name, first, fmt.Sprintf("it begins here, but the segment before ends at %d", next-1))
			}
			next = max(next, in.reports[name].Last+1)
		}
	}
	return nil
}

// emptyAfter reports whether the newest segment is still empty and the segment before it reaches the required place.
func (in *inspection) emptyAfter(at segmentReport, required uint64) bool {
	shard, _, _ := parseSegmentName(at.name)
	before, there := in.reports[segmentName(shard, at.number-1)]
	return at.last == 0 && there && before.Last >= required
}

// keepTorn copies the block files whose torn tail the server will cut.
func (in *inspection) keepTorn() error {
	for _, name := range in.torn {
		report := in.reports[name]
		torn := report.Blocks[len(report.Blocks)-1]
		i := slices.IndexFunc(report.Blocks, func(b blocks.Result) bool { return b.Kind == blocks.Torn })
		if i >= 0 {
			torn = report.Blocks[i]
		}
		files, err := blocks.Files(blocks.Folder(in.dir, ledgerAccount, name))
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
		for _, f := range files {
			if f.Number != torn.Block {
				continue
			}
			to := filepath.Join(in.dir, tornFolder, fmt.Sprintf("%s-%d-%d.blk", name, f.Number, torn.End))
			if err := folder.Copy(f.Path, to); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("eventstore: a torn tail could not be copied: %w", err)
			}
		}
	}
	return nil
}
