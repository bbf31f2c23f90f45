package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
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
	tips    *tipstore.Store // of the store
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
// the damage that it found; the log is then unhealthy.
func (s *Store) Scrub(ctx context.Context) error {
	if !s.sole {
		return nil
	}
	c := &scrub{s: s, paced: func(context.Context, int) error { return nil }, tips: s.tips}
	err := c.pass(ctx, false)
	if sick := s.sick.Load(); sick != nil && errors.Is(err, tipstore.ErrDamaged) {
		return *sick
	}
	return err
}

func (c *scrub) run(ctx context.Context) {
	c.tips = c.s.tips
	c.paced = func(ctx context.Context, n int) error {
		return due.Rest(ctx, time.Duration(n)*time.Second/scrubBytes, nil)
	}
	for due.Rest(ctx, scrubPause, nil) == nil {
		if err := c.pass(ctx, true); err != nil && ctx.Err() == nil {
			c.s.log.Error().Err(err).Msg("scrub")
		}
	}
}

// pass reads all streams once. A pass that was interrupted by a restart goes on where it was.
func (c *scrub) pass(ctx context.Context, resume bool) error {
	began := c.s.Now().Unix()
	c.groups, c.through = map[int]format.Link{}, map[int]format.Head{}
	before := c.streams() // before the folder is listed: segments are begun meanwhile
	names, err := folder.Streams(c.s.disk.Dir)
	if err != nil {
		return fmt.Errorf("eventstore: scrub: %w", err)
	}
	for _, h := range c.s.all() {
		c.through[h.n], _ = h.end()
	}
	bad := c.present(names, before)
	slices.Sort(names)
	c.s.scrub.bytes.Store(folder.Size(c.s.disk.Dir, names))
	place := scrubPlace{Began: began}
	if resume {
		place = c.resumeAt(place)
	}
	for _, name := range names {
		if name <= place.Done {
			continue
		}
		switch err := c.stream(ctx, name, resume); {
		case err == nil:
		case ctx.Err() != nil:
			return err
		default: // the next pass would end here, too: the other streams are read first
			bad = errors.Join(bad, err)
			continue
		}
		if place.Done = name; resume && bad == nil { // else a restart reads the damaged streams again
			if err := c.remember(place); err != nil {
				return err
			}
		}
	}
	if bad == nil {
		c.s.scrub.ended.Store(place.Began)
	}
	if !resume {
		return bad
	}
	return errors.Join(bad, c.remember(scrubPlace{}))
}

// streams returns the streams that this process knows, each with a sequence of it.
func (c *scrub) streams() map[string]uint64 {
	all := map[string]uint64{}
	note := func(segments streams.Line) {
		for _, g := range segments {
			all[g.Name()] = g.First
		}
	}
	for _, h := range c.s.all() {
		h.mu.Lock()
		note(h.segments.Line)
		h.mu.Unlock()
	}
	c.s.openingSecrets.Lock()
	defer c.s.openingSecrets.Unlock()
	if c.s.secrets != nil {
		note(c.s.secrets.Segments())
	}
	return all
}

// present checks that there is a folder of each stream that this process knew before.
// It returns the damage of all that are gone.
func (c *scrub) present(names []string, before map[string]uint64) (gone error) {
	for name, seq := range before {
		if slices.Contains(names, name) {
			continue
		}
		if dropped, err := c.dropped(name, seq); dropped || err != nil {
			gone = errors.Join(gone, err)
			continue
		}
		gone = errors.Join(gone, c.damaged(name, folder.Fault{Seq: seq, Reason: "the stream is gone"}))
	}
	return gone
}

// dropped reports whether a stream, which has a sequence, was dropped. Then its files are being
// deleted, or are gone.
func (c *scrub) dropped(name string, seq uint64) (bool, error) {
	shard, _, ours := streams.Parse(name)
	if h := c.s.byNumber(shard); h != nil {
		return ours && h.dropped(seq), nil
	}
	dropped, err := secretlog.WasDropped(c.tips.Get, name)
	if err != nil {
		return false, c.broken(name, err)
	}
	return dropped, nil
}

// scrubPlace is how far a pass is: streams are read in the order of their names.
type scrubPlace struct {
	Began int64  // Unix seconds
	Done  string // the last stream that was read
}

// stream reads a stream, and again if it looks damaged: files may have been replaced meanwhile, or
// a message was being written. A file that the disk cannot return is damage, too.
func (c *scrub) stream(ctx context.Context, name string, resume bool) error {
	look := c.lookAt(name)
	if look == nil {
		return nil
	}
	reading := folder.Reading{Uncached: resume, Pace: func(n int) error { return c.paced(ctx, n) }}
	for torn, again := "", false; ; again = true {
		found, err := look(reading)
		switch {
		case errors.Is(err, syscall.EIO) && !errors.Is(err, secretlog.ErrTips):
			found.Faults = append(found.Faults, folder.Fault{Seq: c.unread(name), Reason: err.Error()})
		case err != nil:
			return c.broken(name, err)
		}
		faults, before := found.Faults, torn
		if torn = found.Torn.String(); torn != "" && (!again || torn == before) {
			faults = append(faults, folder.Fault{Seq: found.Last + 1, Reason: "it is torn: " + torn})
		}
		switch {
		case len(faults) == 0:
			return nil
		case again:
			return c.damaged(name, faults[0])
		}
		if err := due.Rest(ctx, recheckPause, nil); err != nil {
			return err
		}
	}
}

// lookAt returns the function that reads a stream; nil if nothing of it is to be read.
func (c *scrub) lookAt(name string) func(folder.Reading) (folder.Found, error) {
	if streams.KindIn(name).Destroys {
		acked := c.s.secretWitness.Acked() // before the tips: they have all of it
		return func(r folder.Reading) (folder.Found, error) {
			found, err := secretlog.ReadSegment(c.s.disk.Dir, name, c.tips, acked, r)
			if err == nil && len(found.Faults) == 0 && found.Torn == nil {
				return found, nil
			}
			if dropped, tipsErr := secretlog.WasDropped(c.tips.Get, name); dropped || tipsErr != nil { // perhaps while it was read
				return folder.Found{}, tipsErr
			}
			return found, err
		}
	}
	shard, number, ours := streams.Parse(name)
	if !ours {
		return nil
	}
	h := c.s.byNumber(shard)
	seg, known := h.acknowledgedPart(number)
	through := min(seg.Last, c.through[shard].Seq)
	if !known || through < seg.First {
		return nil
	}
	return func(r folder.Reading) (folder.Found, error) {
		r.Handle = func(m stored.Message) error { return c.group(h, m) }
		found, err := folder.Read(c.s.disk.Dir, name, r)
		if h.dropped(seg.First) { // perhaps while it was read
			return folder.Found{}, nil
		}
		if err == nil && found.Last < through {
			found.Faults = append(found.Faults, folder.Fault{Seq: found.Last + 1, Reason: "messages are missing"})
		}
		return found, err
	}
}

func (c *scrub) damaged(name string, f folder.Fault) error {
	return c.s.damagedFile(name, f.Seq, "the scrub found: "+f.Reason)
}

// damagedFile marks the owner of a stream as damaged, and returns the damage.
func (s *Store) damagedFile(stream string, seq uint64, reason string) error {
	damage := fault.Damage(stream, seq, errors.New(reason))
	shard, _, ours := streams.Parse(stream)
	if h := s.byNumber(shard); ours && h != nil {
		_ = h.markDamaged(seq, damage) // it returns the shard's first damage
	} else {
		s.markUnhealthy(damage, false)
	}
	return damage
}

// unread returns the first message of a stream that may be in a file that the disk cannot return.
func (c *scrub) unread(name string) uint64 {
	first := uint64(1)
	if d, err := folder.Describe(c.s.disk.Dir, name); err == nil {
		first = d.First
	}
	shard, number, _ := streams.Parse(name)
	h := c.s.byNumber(shard)
	if h == nil {
		return first
	}
	next := c.groups[shard].Seq + 1 // perhaps of another segment: LEDGER_0_10 is read before LEDGER_0_2
	if seg, known := h.acknowledgedPart(number); known && next > first && next <= seg.Last {
		return next
	}
	return first
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
	g, known := h.segments.Numbered(number)
	if g.Last == 0 {
		g.Last = h.head.Seq
	}
	return g, known
}

// resumeAt returns where an interrupted pass was; else the new pass itself.
func (c *scrub) resumeAt(anew scrubPlace) scrubPlace {
	var place scrubPlace
	value, err := c.tips.Get([]byte(tiprow.Scrub))
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
	batch := c.tips.NewBatch()
	return errors.Join(batch.Set([]byte(tiprow.Scrub), value), batch.Commit())
}
