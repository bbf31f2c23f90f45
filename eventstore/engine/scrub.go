package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"payledger/eventstore/archive"
	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

const (
	scrubBytes = 16 << 20         // bytes that the scrub reads a second at most: 1 GB a minute
	scrubPause = 10 * time.Minute // between two passes over the folder
)

// scrub reads the files of an embedded server again and again, slowly, and compares them with their
// checksums, with each other and with what this process knows: damage that nobody reads otherwise
// is found before a restart meets it.
type scrub struct {
	s       *Store
	ended   atomic.Int64 // when the last whole pass began, in Unix seconds; 0: there was none
	bytes   atomic.Int64 // size of the files when the newest pass began; 0: there was none
	paced   func(ctx context.Context, n int) error
	groups  map[int]format.Link // the newest group that was read of each shard in this pass
	through map[int]format.Head
	torn    string          // the torn tail that was seen last
	found   archive.Damaged // gets each damage; nil: the first one ends the pass
	only    int             // a shard; format.NoShard: all streams
}

// ScrubAge returns how long ago the last whole pass of the scrub began; false: there was none yet.
func (s *Store) ScrubAge() (time.Duration, bool) {
	ended := s.scrub.ended.Load()
	return max(0, s.Now().Sub(time.Unix(ended, 0))), ended > 0
}

// ScrubBytes returns the size of the files that the newest pass of the scrub reads; 0 before the
// first. At scrubBytes a second it takes some time, so that ScrubAge grows with it.
func (s *Store) ScrubBytes() int64 { return s.scrub.bytes.Load() }

// Scrub makes one whole pass over the folder of the embedded server, without pausing. It returns
// the damage that it found first; the log is then unhealthy.
func (s *Store) Scrub(ctx context.Context) error {
	if !s.sole {
		return nil
	}
	return s.scrubAll(ctx, format.NoShard, nil)
}

// scrubAll makes a whole pass without pausing, and reports all damage; without a function for
// damage it returns the first. only limits it to the streams of a shard; format.NoShard: it does
// not.
func (s *Store) scrubAll(ctx context.Context, only int, damaged archive.Damaged) error {
	c := &scrub{s: s, paced: func(context.Context, int) error { return nil }, found: damaged, only: only}
	err := c.pass(ctx, false)
	sick := s.sick.Load()
	switch {
	case sick == nil || !errors.Is(err, tipstore.ErrDamaged):
		return err
	case damaged == nil:
		return *sick
	}
	return damaged("", 0, (*sick).Error())
}

// report reports damage; any other error, and all without a function for damage, it returns.
func (c *scrub) report(err error) error {
	var place *fault.Place
	if c.found == nil || !errors.As(err, &place) {
		return err
	}
	return c.found(place.Stream, place.Seq, place.Cause.Error())
}

func (c *scrub) run(ctx context.Context) {
	c.only = format.NoShard
	c.paced = func(ctx context.Context, n int) error {
		return jetapi.Pause(ctx, time.Duration(n)*time.Second/scrubBytes)
	}
	for jetapi.Pause(ctx, scrubPause) == nil {
		if err := c.pass(ctx, true); err != nil && ctx.Err() == nil {
			c.s.log.Error().Err(err).Msg("scrub")
		}
	}
}

// pass reads all streams once. A pass that was interrupted by a restart goes on where it was.
func (c *scrub) pass(ctx context.Context, resume bool) error {
	began := c.s.Now().Unix()
	c.groups, c.through = map[int]format.Link{}, map[int]format.Head{}
	known, beside := c.streamsInMemory() // before the folder is listed: segments are begun meanwhile
	names, err := blocks.Streams(c.s.disk.Dir, streams.Account)
	if err != nil {
		return fmt.Errorf("eventstore: scrub: %w", err)
	}
	for _, h := range c.s.all() {
		c.through[h.n], _ = h.end()
	}
	if err := c.present(names, known, beside); err != nil {
		return err
	}
	slices.Sort(names)
	if c.only == format.NoShard {
		c.s.scrub.bytes.Store(blocks.Bytes(c.s.disk.Dir, streams.Account, names))
	}
	place := scrubPlace{Began: began}
	if resume {
		place = c.resumeAt(place)
	}
	for _, name := range names {
		shard, _, ours := streams.Parse(name)
		if name <= place.Done || c.only != format.NoShard && (!ours || shard != c.only) {
			continue
		}
		if err := c.report(c.stream(ctx, name, resume)); err != nil {
			return err
		}
		if place.Done = name; resume {
			if err := c.remember(place); err != nil {
				return err
			}
		}
	}
	c.s.scrub.ended.Store(place.Began)
	if !resume {
		return nil
	}
	return c.remember(scrubPlace{})
}

// streamsInMemory returns the segments of the shards and of SECRETS that this process knows.
func (c *scrub) streamsInMemory() (segments map[*shard][]segment, beside []string) {
	segments = map[*shard][]segment{}
	for _, h := range c.s.all() {
		h.mu.Lock()
		segments[h] = slices.Clone(h.segments.all)
		h.mu.Unlock()
	}
	return segments, c.s.secretWitness.Known()
}

// present checks that there is a folder of each stream that this process knows.
func (c *scrub) present(names []string, known map[*shard][]segment, beside []string) error {
	for h, segments := range known {
		for _, g := range segments {
			if h.dropped(g.first) {
				continue
			}
			if !slices.Contains(names, g.name(h.n)) {
				damage := scrubbed(g.name(h.n), g.first, "the stream is gone")
				_ = h.markDamaged(g.first, damage) // it returns the shard's first damage
				if err := c.report(damage); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range beside {
		if !slices.Contains(names, name) {
			damage := scrubbed(name, c.s.secretWitness.Acked(name), "the stream is gone")
			c.s.markUnhealthy(damage, false)
			if err := c.report(damage); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubPlace is how far a pass is: streams are read in the order of their names.
type scrubPlace struct {
	Began int64  // Unix seconds
	Done  string // the last stream that was read
}

func (c *scrub) stream(ctx context.Context, name string, resume bool) error {
	shard, number, ours := streams.Parse(name)
	side := streams.IsSecrets(name)
	if !ours && !side {
		return nil
	}
	options := blocks.Options{
		Deletes: side, Uncached: resume,
		Pace: func(n int) error { return c.paced(ctx, n) },
	}
	if side {
		return c.sideStream(ctx, name, options)
	}
	h := c.s.byNumber(shard)
	seg, known := h.acknowledgedPart(number)
	if !known || seg.last < seg.first {
		return nil
	}
	options.Subject = seg.subject(shard)
	options.Handle = func(r stored.Message) error { return c.group(h, r) }
	through := min(seg.last, c.through[shard].Seq)
	if through < seg.first {
		return nil
	}
	c.torn = ""
	report, err := blocks.Verify(c.s.disk.Dir, streams.Account, name, options)
	if h.dropped(seg.first) { // perhaps while it was read
		return nil
	}
	if err != nil {
		return c.broken(name, err)
	}
	if c.faultOf(report, through) == "" {
		return nil
	}
	return c.lookAgain(ctx, h, name, through, options)
}

// lookAgain reads a segment that looked damaged once more, from its beginning: files may have been
// replaced meanwhile.
func (c *scrub) lookAgain(ctx context.Context, h *shard, name string, through uint64, options blocks.Options) error {
	if err := jetapi.Pause(ctx, recheckPause); err != nil {
		return err
	}
	options.From = blocks.Place{}
	delete(c.groups, h.n)
	report, err := blocks.Verify(c.s.disk.Dir, streams.Account, name, options)
	if h.dropped(through) {
		return nil
	}
	if err != nil {
		return c.broken(name, err)
	}
	if reason := c.faultOf(report, through); reason != "" {
		damage := scrubbed(name, report.Last+1, reason)
		_ = h.markDamaged(report.Last+1, damage) // it returns the shard's first damage
		return damage
	}
	return nil
}

// broken returns the error of a stream that could not be checked. The check needs the tip store: if
// its files are damaged, the log is unhealthy.
func (c *scrub) broken(name string, err error) error {
	err = fmt.Errorf("eventstore: scrub: %s: %w", name, err)
	if errors.Is(err, tipstore.ErrDamaged) {
		err = c.s.unreadable(name, err)
	}
	return err
}

func scrubbed(name string, seq uint64, reason string) error {
	return fault.Damage(name, seq, fmt.Errorf("the scrub found: %s", reason))
}

// sideStream reads a stream beside the log, twice if it looks damaged.
func (c *scrub) sideStream(ctx context.Context, name string, options blocks.Options) error {
	c.torn = ""
	for try := 0; ; try++ {
		found, err := c.side(name, options)
		switch {
		case err != nil:
			return c.broken(name, err)
		case found.reason == "":
			return nil
		case try > 0:
			damage := scrubbed(name, found.seq, found.reason)
			c.s.markUnhealthy(damage, false)
			return damage
		}
		if err := jetapi.Pause(ctx, recheckPause); err != nil {
			return err
		}
	}
}

// group checks a record of the log: that it is a whole group of its place, and follows the one
// before.
func (c *scrub) group(h *shard, r stored.Message) error {
	if !r.Stands() {
		return nil
	}
	g, err := h.parse(r.Seq, r.Body, format.Writer{})
	if err != nil {
		return fmt.Errorf("%w: %w", stored.ErrRefused, err)
	}
	before, known := c.groups[h.n]
	if known && before.Seq+1 == g.Seq && before.Hash != g.Before {
		return fmt.Errorf("%w: group %d names another group before it", stored.ErrRefused, g.Seq)
	}
	c.groups[h.n] = format.Link{Seq: g.Seq, Hash: g.Hash}
	if end := c.through[h.n]; g.Seq == end.Seq && g.Hash != end.Hash {
		return fmt.Errorf("%w: group %d differs from the group that was acknowledged", stored.ErrRefused, g.Seq)
	}
	return nil
}

// acknowledgedPart returns a segment with the last sequence of it that is acknowledged.
func (h *shard) acknowledgedPart(number uint32) (segment, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g, known := h.segments.numbered(number)
	if g.last == 0 {
		g.last = h.head.Seq
	}
	return g, known
}

// finding is a fault of a stream beside the log.
type finding struct {
	seq    uint64
	reason string // "": there is no fault
}

// side reads a stream beside the log and holds it to its index.
func (c *scrub) side(name string, options blocks.Options) (finding, error) {
	acked := c.s.secretWitness.Acked(name) // before the view: all of it is there
	view := c.s.tips.Snapshot()
	defer view.Close()
	check, err := secretlog.Compare(view, name)
	if err != nil || check == nil || check.Through == 0 {
		return finding{}, err
	}
	check.Through = max(check.Through, acked)
	options.Handle = check.See
	report, err := blocks.Verify(c.s.disk.Dir, streams.Account, name, options)
	if err != nil {
		return finding{}, err
	}
	if reason := c.faultOf(report, 0); reason != "" {
		return finding{report.Last + 1, reason}, nil
	}
	seq, err := check.End()
	switch {
	case err == nil || errors.Is(err, tipstore.ErrDamaged):
		return finding{}, err
	case !errors.Is(err, secretlog.ErrDestroyed) && secretlog.Ending(c.s.tips, name, seq):
		return finding{}, nil
	}
	return finding{seq, err.Error()}, nil
}

// faultOf returns the fault in a report of a stream that must hold everything up to a sequence, or
// "". After the sequence a record may be cut off because it is being written; it is a fault if it
// looks the same when it is read again.
func (c *scrub) faultOf(report blocks.Report, through uint64) string {
	before := c.torn
	if c.torn = ""; report.Kind == blocks.Torn {
		torn := report.Blocks[len(report.Blocks)-1]
		c.torn = fmt.Sprintf("%s: block %d, offset %d of %d", report.Stream, torn.Block, torn.End, torn.Size)
	}
	switch {
	case c.torn != "" && before == "":
		return "perhaps torn"
	case c.torn != "" && c.torn == before:
		return "it is torn: " + c.torn
	case report.Kind == blocks.Damaged && len(report.Faults) > 0, report.Last < through && len(report.Faults) > 0:
		return report.Faults[0].String()
	case report.Kind == blocks.Damaged, report.Last < through:
		return "messages are missing"
	default:
		return ""
	}
}

// resumeAt returns where an interrupted pass was; else the new pass itself.
func (c *scrub) resumeAt(anew scrubPlace) scrubPlace {
	var place scrubPlace
	value, err := c.s.tips.Get([]byte(tiprow.Scrub))
	if err != nil || json.Unmarshal(value, &place) != nil || place.Done == "" {
		return anew
	}
	return place
}

func (c *scrub) remember(place scrubPlace) error {
	value, err := json.Marshal(place)
	if err != nil || c.s.tipsFixed {
		return err
	}
	batch := c.s.tips.NewBatch()
	return errors.Join(batch.Set([]byte(tiprow.Scrub), value), batch.Commit())
}
