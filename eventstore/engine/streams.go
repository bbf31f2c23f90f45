package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
)

const minPayload = 4 << 20 // the least max_payload of a server: an outcome must always fit

// openStreams finds the log, or makes a new one.
func (s *Store) openStreams(ctx context.Context, c Config) error {
	segments, err := s.listSegments(ctx)
	if err != nil {
		return err
	}
	if len(segments[0]) == 0 {
		if err := neverUsed(segments); err != nil {
			return err
		}
		if c.ReadOnly || !s.sole && c.Replicas == 0 {
			return eventstore.ErrNoLog
		}
		if err := s.createLog(ctx, c, segments); err != nil {
			return err
		}
		if segments, err = s.listSegments(ctx); err != nil {
			return err
		}
	} else if err := s.adopt(segments[0][0], c); err != nil {
		return err
	}
	for n := range segments {
		if !slices.Contains(streams.All(s.shards), n) {
			return fmt.Errorf("%w: the log has %d shards, and there is %s", fault.ErrUnhealthy, s.shards, streams.Name(n, 1))
		}
	}
	if s.node, err = s.newNode(); err != nil {
		return err
	}
	var opened []*shard
	for _, n := range streams.All(s.shards) {
		h := newShard(s, n)
		if err := h.loadSegments(segments[n]); err != nil {
			return err
		}
		opened = append(opened, h)
	}
	s.shard, s.records, s.covers = opened[:s.shards], opened[s.shards], opened[s.shards+1]
	for n, h := range opened {
		if !h.kind.Covers { // a checkpoint's shard is named by each group
			h.witness.newest = s.witnessOf((n + 1) % (s.shards + 1))
		}
	}
	return nil
}

// newNode returns a name for this process among those of a cluster; "" with an embedded server, and
// for a process that only reads.
func (s *Store) newNode() (string, error) {
	if s.sole || s.readOnly {
		return "", nil
	}
	return eventstore.NewUUID(rand.Reader)
}

// neverUsed returns an error if a log without shard 0 holds messages: the shard was lost. Otherwise
// the creation was cut short.
func neverUsed(segments map[int][]*jetstream.StreamInfo) error {
	for _, infos := range segments {
		for _, info := range infos {
			if info.State.LastSeq > 0 {
				return fmt.Errorf("%w: shard 0 has no segment, but %s has messages; copy the folder before anything else", fault.ErrUnhealthy, info.Config.Name)
			}
		}
	}
	return nil
}

// listSegments returns the streams of each shard in the order of their numbers.
func (s *Store) listSegments(ctx context.Context) (map[int][]*jetstream.StreamInfo, error) {
	all := map[int][]*jetstream.StreamInfo{}
	for _, kind := range streams.All(1) {
		list, err := jetapi.ListStreams(ctx, s.api.JS, streams.Pattern(kind))
		if err != nil {
			return nil, fmt.Errorf("eventstore: list of streams: %w", err)
		}
		for _, info := range list {
			if streams.Old(info.Config.Name) {
				return nil, streams.OldFormat("stream " + info.Config.Name)
			}
			if shard, _, ok := streams.Parse(info.Config.Name); ok {
				all[shard] = append(all[shard], info)
			}
		}
	}
	for _, infos := range all {
		slices.SortFunc(infos, func(a, b *jetstream.StreamInfo) int { return streams.Compare(a.Config.Name, b.Config.Name) })
	}
	return all, nil
}

// createLog makes the streams of a new log, shard 0 last. It completes a creation that was cut
// short, with its log id and number of shards.
func (s *Store) createLog(ctx context.Context, c Config, segments map[int][]*jetstream.StreamInfo) error {
	s.shards, s.replicas, s.api.Placement = c.Shards, c.Replicas, c.Placement
	if s.sole {
		s.replicas = 1
	}
	if s.shards == 0 {
		s.shards = DefaultShards
		if !s.sole {
			s.shards = DefaultClusterShards
		}
	}
	if _, err := io.ReadFull(s.random, s.id[:]); err != nil {
		return fmt.Errorf("eventstore: random: %w", err)
	}
	for _, infos := range segments {
		for _, info := range infos {
			if err := s.adopt(info, c); err != nil {
				return err
			}
		}
	}
	if !s.sole { // the streams that an embedded log gets at their first use
		s.api.Replicas = s.replicas
		if err := secretlog.Make(ctx, s.api.JS, s.segmentConfig); err != nil {
			return err
		}
	}
	for _, shard := range slices.Backward(streams.All(s.shards)) {
		config := s.segmentConfig(segment{Shard: shard, Number: 1, First: 1})
		err := jetapi.CreateStream(ctx, s.api.JS, config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			var stream jetstream.Stream
			stream, err = s.api.JS.Stream(ctx, config.Name)
			if err == nil && segments[shard] == nil { // another call made it a moment ago: its id and number of shards count
				segments[shard] = []*jetstream.StreamInfo{stream.CachedInfo()}
				return s.createLog(ctx, c, segments)
			}
			if err == nil {
				err = s.adopt(stream.CachedInfo(), Config{Shards: s.shards})
			}
		}
		if err != nil {
			return fmt.Errorf("eventstore: create %s: %w", config.Name, err)
		}
	}
	return nil
}

// adopt takes over shards, replicas, placement and id of an existing log.
func (s *Store) adopt(info *jetstream.StreamInfo, c Config) error {
	if streams.Restoring(info.Config.Metadata) {
		return streams.ErrRestoring
	}
	if err := streams.CheckFormat(info.Config.Metadata); err != nil {
		return err
	}
	shards, err := strconv.Atoi(info.Config.Metadata[streams.MetadataShards])
	if err != nil || shards < 1 {
		return fmt.Errorf("%w: the log does not say how many shards it has", fault.ErrUnhealthy)
	}
	if c.Shards != 0 && c.Shards != shards {
		return fmt.Errorf("eventstore: the log has %d shards, fixed when it was made; --shards %d cannot change that", shards, c.Shards)
	}
	id, err := streams.LogID(info.Config.Metadata)
	if err != nil {
		return fmt.Errorf("%w: the log has no id", fault.ErrUnhealthy)
	}
	s.id, s.shards, s.replicas, s.api.Placement = id, shards, info.Config.Replicas, info.Config.Placement
	return nil
}

// loadSegments sets the segments of the shard from the server's list. A gap in them is an error.
func (h *shard) loadSegments(infos []*jetstream.StreamInfo) error {
	for i, info := range infos {
		g := segment{Shard: h.n, Number: streams.Number(h.n, info.Config.Name), First: max(1, info.Config.FirstSeq), Bytes: info.State.Bytes, Sealed: info.Config.Sealed}
		if i < len(infos)-1 {
			g.Last = info.State.LastSeq
		}
		if err := h.checkSegment(g, h.segments.Line, info); err != nil {
			return fault.Stream(info.Config.Name, err)
		}
		h.segments.Line = append(h.segments.Line, g)
	}
	if len(h.segments.Line) == 0 {
		return fmt.Errorf("%w: %s has no segment", fault.ErrUnhealthy, h.name())
	}
	h.segments.atStart = infos[len(infos)-1].State.LastSeq
	return nil
}

// checkSegment compares a segment with the segments before it. The first segments may have been
// dropped; checkFloor checks that.
func (h *shard) checkSegment(g segment, before []segment, info *jetstream.StreamInfo) error {
	number, first := uint32(1), uint64(1)
	switch {
	case len(before) > 0:
		number, first = before[len(before)-1].Number+1, before[len(before)-1].Last+1
	case h.kind.Drops():
		number, first = g.Number, g.First
	}
	switch {
	case g.Number != number:
		return fmt.Errorf("segment %d is missing", number)
	case g.First != first:
		return fmt.Errorf("begins at sequence %d, but the segment before ends at %d", g.First, first-1)
	}
	return checkState(info.State, g.First)
}

// checkState checks the server's counts of an append-only stream that begins at sequence first.
func checkState(state jetstream.StreamState, first uint64) error {
	switch {
	case state.Msgs == 0 && (state.LastSeq == 0 || state.LastSeq == first-1):
		return nil
	case state.FirstSeq != first:
		return fmt.Errorf("its first message has sequence %d instead of %d", state.FirstSeq, first)
	case state.Msgs != state.LastSeq-first+1:
		return fmt.Errorf("holds %d messages of %d", state.Msgs, state.LastSeq-first+1)
	case state.NumDeleted != 0:
		return fmt.Errorf("%d messages are missing", state.NumDeleted)
	case state.Lost != nil:
		return fmt.Errorf("%d messages could not be read at start", len(state.Lost.Msgs))
	}
	return nil
}

// witnessOf returns a function that returns the newest acknowledged group of a shard. The function
// needs no lock.
func (s *Store) witnessOf(n int) func() format.Witness {
	h := s.all()[n]
	return func() format.Witness { return format.Witness{Shard: h.n, Link: *h.newest.Load()} }
}

// recheckSegments compares the server's counts of the streams with the applied groups: the server
// reports no missing message.
func (s *Store) recheckSegments(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*jetapi.ReadTimeout)
	defer cancel()
	ends := map[int]uint64{} // read before the list: later groups do not count
	for _, h := range s.all() {
		end, _ := h.end()
		ends[h.n] = end.Seq
	}
	segments, err := s.listSegments(ctx)
	if err != nil {
		return err
	}
	for _, h := range s.all() {
		if len(segments[h.n]) == 0 {
			return fmt.Errorf("%w: %s has no segment", fault.ErrUnhealthy, h.name())
		}
		if err := h.compare(ctx, segments[h.n], ends[h.n]); err != nil {
			return err
		}
	}
	return s.checkCheckpoint(ctx)
}

func (h *shard) compare(ctx context.Context, infos []*jetstream.StreamInfo, end uint64) error {
	h.mu.Lock()
	dropped, last := h.segments.floor.Segment, h.segments.floor.Seq
	h.mu.Unlock()
	before := []segment{}
	for _, info := range infos {
		number := streams.Number(h.n, info.Config.Name)
		if number <= dropped { // it may be deleted at this moment
			continue
		}
		g := segment{Number: number, First: max(1, info.Config.FirstSeq), Last: info.State.LastSeq}
		err := h.checkSegment(g, before, info)
		if len(before) == 0 && g.First > 1 && err == nil {
			dropped, lookErr := h.droppedByNow(ctx, g.First-1)
			if lookErr != nil {
				return lookErr
			}
			if !dropped {
				err = errors.New("the segments before it are gone")
			}
		}
		if err != nil {
			return fault.Stream(info.Config.Name, err)
		}
		before = append(before, g)
		last = max(last, info.State.LastSeq)
	}
	if last < end {
		return fmt.Errorf("%w: %s ends at %d, but was read up to %d; copy the folder before anything else", fault.ErrUnhealthy, h.name(), last, end)
	}
	return nil
}

// checkCheckpoint checks that the log has all groups that the newest checkpoint covers.
func (s *Store) checkCheckpoint(ctx context.Context) error {
	c, err := s.checkpoints.Last(ctx)
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for n, h := range s.shard {
		end, err := h.reach(ctx, c.LastSeq[n])
		if err != nil {
			return err
		}
		if end < c.LastSeq[n] {
			return fmt.Errorf("%w: %s ends at %d, but checkpoint %d covers it up to %d; copy the folder before anything else",
				fault.ErrUnhealthy, h.name(), end, c.Number, c.LastSeq[n])
		}
	}
	return nil
}

// CheckReader implements eventstore.Events.
func (s *Store) CheckReader(ctx context.Context, reader string, positions []uint64) error {
	err := s.untilCertain(ctx, func(ctx context.Context) error { return s.compareReader(ctx, reader, positions) })
	if errors.Is(err, fault.ErrUnhealthy) {
		s.markUnhealthy(err, false)
	}
	return err
}

func (s *Store) compareReader(ctx context.Context, reader string, positions []uint64) error {
	if len(positions) > s.shards {
		return fmt.Errorf("%w: %s has read %d shards of %d", fault.ErrUnhealthy, reader, len(positions), s.shards)
	}
	for shard, address := range positions {
		last, err := s.LastSeq(ctx, shard)
		if err != nil {
			return err
		}
		if last < address {
			return fmt.Errorf("%w: %s has read %s up to %d.%d, but it ends at %d.%d", fault.ErrUnhealthy, reader, s.shard[shard].name(),
				format.GroupOf(address), format.FrameOf(address), format.GroupOf(last), format.FrameOf(last))
		}
	}
	return nil
}
