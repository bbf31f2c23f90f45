package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"payledger/eventstore/archive"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
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
	s     *Store
	ended atomic.Int64 // when the last whole pass began, in Unix seconds; 0: there was none
	bytes atomic.Int64 // size of the files when the newest pass began; 0: there was none
	paced func(ctx context.Context, n int) error
	files *archive.Files
	tips  *tipstore.Store // of the store
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
	c := &scrub{s: s, paced: func(context.Context, int) error { return nil }, files: s.files(), tips: s.tips}
	err := c.pass(ctx, false)
	if sick := s.sick.Load(); sick != nil && errors.Is(err, tipstore.ErrDamaged) {
		return *sick
	}
	return err
}

func (c *scrub) run(ctx context.Context) {
	c.files, c.tips = c.s.files(), c.s.tips
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
	place := scrubPlace{Began: c.s.Now().Unix()}
	names, err := folder.Streams(c.s.disk.Dir)
	if err != nil {
		return fmt.Errorf("eventstore: scrub: %w", err)
	}
	c.s.scrub.bytes.Store(folder.Size(c.s.disk.Dir, names))
	if resume {
		place = c.resumeAt(place)
	}
	var bad error
	err = archive.Pass{
		Files: c.files, Tips: c.tips, Log: c.s.id, After: place.Done, Uncached: resume, Pace: func(n int) error { return c.paced(ctx, n) },
		Damaged: func(stream string, seq uint64, reason string) error {
			bad = errors.Join(bad, c.s.damagedFile(stream, seq, "the scrub found: "+reason))
			return nil
		},
		Read: func(stream string) error {
			if place.Done = stream; !resume || bad != nil { // a restart reads the damaged streams again
				return nil
			}
			return c.remember(place)
		},
	}.Run(ctx)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if bad = errors.Join(bad, c.broken(err)); bad == nil {
		c.s.scrub.ended.Store(place.Began)
	}
	if !resume {
		return bad
	}
	return errors.Join(bad, c.remember(scrubPlace{}))
}

// files returns what this process knows of its files.
func (s *Store) files() *archive.Files {
	return &archive.Files{Dir: s.disk.Dir, Ends: s.links, Known: s.knownStreams, Floor: s.floorOf}
}

// links returns the ends of all shards at one moment, and that of SECRETS.
func (s *Store) links() map[int]format.Link {
	ends := map[int]format.Link{streams.SecretShard: {Seq: s.secretWitness.Acked()}}
	s.atOnce(func(h *shard) { ends[h.n] = h.head.Link })
	return ends
}

// floorOf returns the dropped part of a shard, or of SECRETS.
func (s *Store) floorOf(shard int) (f streams.Floor) {
	if h := s.byNumber(shard); h != nil {
		return records{h}.Floor()
	}
	f, _ = secretlog.FloorIn(s.tips.Get) // an unreadable tip store is reported
	return f
}

// knownStreams returns the streams that this process knows, each with a sequence of it.
func (s *Store) knownStreams() map[string]uint64 {
	all := map[string]uint64{}
	note := func(segments streams.Line) {
		for _, g := range segments {
			all[g.Name()] = g.First
		}
	}
	for _, h := range s.all() {
		h.mu.Lock()
		note(h.segments.Line)
		h.mu.Unlock()
	}
	s.openingSecrets.Lock()
	defer s.openingSecrets.Unlock()
	if s.secrets != nil {
		note(s.secrets.Segments())
	}
	return all
}

// scrubPlace is how far a pass is.
type scrubPlace struct {
	Began int64  // Unix seconds
	Done  string // the last stream that was read
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

// broken returns the error of streams that could not be checked. The check needs the tip store: if
// its files are damaged, the log is unhealthy.
func (c *scrub) broken(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("eventstore: scrub: %w", err)
	if errors.Is(err, tipstore.ErrDamaged) {
		err = c.s.unreadable(streams.Secrets, err)
	}
	return err
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
