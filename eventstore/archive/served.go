package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Served is a log that is read through its servers, up to ends that were acknowledged.
type Served struct {
	Log     *remote.Log
	Ends    map[int]uint64 // by shard, those beside the log included
	Events  uint64         // up to the ends; for the progress
	Secrets uint64
}

// OfServed returns the archive of a served log. It has no tip store. The caller closes the log.
func OfServed(s Served) *Archive {
	return &Archive{
		Shards: s.Log.Shards, Ends: map[int]format.Head{}, Events: s.Events, streams: s.Log.Names(), source: s.source(),
	}
}

// At returns the served log up to the ends of a cut.
func At(log *remote.Log, c remote.Cut) Served {
	s := Served{Log: log, Ends: map[int]uint64{}, Secrets: c.Secrets}
	for shard, head := range c.Heads {
		s.Ends[shard] = head.Seq
		if streams.KindOf(shard).Events {
			s.Events += head.Events
		}
	}
	return s
}

// Source is a log that is read otherwise than from a server's files. Its methods are those of
// Archive.
type Source interface {
	Inspect(ctx context.Context, damaged Damaged) error
	Groups(ctx context.Context, shard int, damaged Damaged, handle func(stream string, g *format.Group) error) error
}

// From returns the archive of a log with some shards and streams. It has no tip store.
func From(shards int, streams []string, source Source) *Archive {
	return &Archive{Shards: shards, Ends: map[int]format.Head{}, streams: streams, source: source}
}

// served is the source of a served log.
type served struct {
	Served
	mu    sync.Mutex
	notes []string
}

func (s Served) source() *served { return &served{Served: s} }

// read calls handle with the messages of streams that follow each other, up to an end. It reports a
// missing message, and goes on behind it. A dropped segment of deliveries is left out, also if it
// is dropped while it is read.
func (s *served) read(ctx context.Context, names []string, from, end uint64, damaged Damaged, handle func(stream string, r stored.Message) error) error {
	for i, name := range names {
		_, first, err := s.Log.Description(name)
		through := end
		if i+1 < len(names) && err == nil {
			var next uint64
			if _, next, err = s.Log.Description(names[i+1]); err == nil {
				through = min(end, next-1)
			}
		}
		if err == nil {
			err = s.readStream(ctx, name, max(first, from), through, damaged, handle)
		}
		if err != nil && streams.KindIn(name).Drops() && ctx.Err() == nil {
			if gone, listErr := s.Log.Gone(ctx, name); listErr == nil && gone {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readStream reads a part of one stream. Behind the first missing message, the reader of the groups
// notices others.
func (s *served) readStream(ctx context.Context, name string, from, through uint64, damaged Damaged, handle func(stream string, r stored.Message) error) error {
	for gaps := false; from <= through; gaps = true {
		var failed error // of handle
		err := s.Log.Read(ctx, name, from, through, gaps, func(r stored.Message) error {
			from, failed = r.Seq+1, handle(name, r)
			return failed
		})
		var place *fault.Place
		if failed != nil || !errors.As(err, &place) {
			return err
		}
		if err := fault.Report(err, damaged); err != nil || gaps {
			return err
		}
		from = place.Seq + 1
	}
	return nil
}

// Groups reads the groups of a shard. Any server answers. If its groups do not fit each other,
// those of the leader count, and a note names the place.
func (s *served) Groups(ctx context.Context, shard int, damaged Damaged, handle func(stream string, g *format.Group) error) error {
	p := pairs{served: s, shard: shard, handle: handle}
	err := s.read(ctx, s.Log.Segments(shard), 0, s.Ends[shard], damaged, func(stream string, r stored.Message) error {
		g, err := groupOf(shard, r)
		var bad unreadable
		if err = p.take(ctx, placed{stream, g}, r.Seq, err); errors.As(err, &bad) {
			return damaged(stream, r.Seq, bad.Error())
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.end(ctx)
}

// unreadable is the error of a message that is not the group of its place.
type unreadable struct{ error }

func groupOf(shard int, r stored.Message) (*format.Group, error) {
	g, err := format.ParseGroupAt(shard, r.Seq, bytes.Clone(r.Body))
	if err != nil {
		return nil, unreadable{err}
	}
	return g, nil
}

type placed struct {
	stream string
	*format.Group
}

// pairs holds each group of a shard until the group after it was read, which has its hash.
type pairs struct {
	*served
	shard  int
	handle func(stream string, g *format.Group) error
	held   placed
}

func (p *pairs) take(ctx context.Context, next placed, seq uint64, err error) error {
	fits := func() bool {
		return err == nil && (p.held.Group == nil || p.held.Seq+1 != seq || p.held.Hash == next.Before)
	}
	if p.Log.Replicated() && !fits() {
		next, err = p.ofLeader(ctx, next, seq, err)
		if !fits() && p.held.Group != nil {
			right, heldErr := p.ofLeader(ctx, p.held, p.held.Seq, nil)
			if heldErr == nil {
				p.held = right
			}
		}
	}
	if given := p.give(); given != nil {
		return given
	}
	if err == nil {
		p.held = next
	}
	return err
}

func (p *pairs) give() error {
	g := p.held
	if p.held = (placed{}); g.Group == nil {
		return nil
	}
	return p.handle(g.stream, g.Group)
}

// end gives the last group, for which the leader answers.
func (p *pairs) end(ctx context.Context) error {
	if p.held.Group != nil && p.Log.Replicated() {
		right, err := p.ofLeader(ctx, p.held, p.held.Seq, nil)
		if err != nil {
			return err
		}
		p.held = right
	}
	return p.give()
}

// ofLeader returns the group of the leader in the place of one that another server returned. An
// error of the leader leaves that one as it is.
func (p *pairs) ofLeader(ctx context.Context, got placed, seq uint64, wrong error) (placed, error) {
	r, err := p.Log.AtLeader(ctx, got.stream, seq)
	if err != nil {
		return got, wrong //nolint:nilerror // the faults of the group that was read are reported
	}
	g, err := groupOf(p.shard, r)
	if err != nil {
		return got, err
	}
	if wrong != nil || g.Hash != got.Hash {
		p.noteReplica(got.stream, seq)
	}
	return placed{got.stream, g}, nil
}

// noteReplica notes that a server differs from the leader, which is right.
func (s *served) noteReplica(stream string, seq uint64) {
	text := fmt.Sprintf("a NATS server lacks the message of %s at sequence %d, or has another one than the leader: see the runbook, PayledgerLogDamaged", stream, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, text) && len(s.notes) < maxNotes {
		s.notes = append(s.notes, text)
	}
}

const maxNotes = 10

// later calls handle with the groups of a shard after the archive's end, until it returns false: up
// to the shard's end at present, and again while a leader may be without its cluster.
func (s *served) later(ctx context.Context, shard int, handle func(g *format.Group) (more bool)) error {
	next, more := s.Ends[shard]+1, true
	damaged := func(stream string, seq uint64, reason string) error {
		return fault.Damage(stream, seq, errors.New(reason))
	}
	for since := time.Now(); ; {
		end, err := s.Log.End(ctx, shard)
		if err != nil {
			return err
		}
		if next <= end {
			err = s.read(ctx, s.Log.Segments(shard), next, end, damaged, func(_ string, r stored.Message) error {
				g, err := groupOf(shard, r)
				if next = r.Seq + 1; err == nil && !handle(g) {
					more, err = false, errEnough
				}
				return err
			})
		}
		if !more {
			return nil
		}
		if err != nil || time.Since(since) >= s.Log.Patience() {
			return err
		}
		if err := due.Rest(ctx, laterPause, nil); err != nil {
			return err
		}
	}
}

const laterPause = time.Second

var errEnough = errors.New("archive: enough")

// Later calls handle with groups of a shard after the archive's end until handle returns false, if
// servers return the log. They may have been appended after the archive was opened.
func (a *Archive) Later(ctx context.Context, shard int, handle func(g *format.Group) (more bool)) error {
	s, is := a.source.(*served)
	if !is {
		return nil
	}
	return s.later(ctx, shard, handle)
}

// SecretsReach reports whether SECRETS has a message at a sequence or after it, if servers return
// the log. Else Inspect has compared the two.
func (a *Archive) SecretsReach(ctx context.Context, seq uint64) (bool, error) {
	s, is := a.source.(*served)
	if !is {
		return true, nil
	}
	end, err := s.Log.SecretsEnd(ctx)
	return end >= seq, err
}

// Notes returns what was noticed apart from faults.
func (a *Archive) Notes() []string {
	s, is := a.source.(*served)
	if !is {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}
