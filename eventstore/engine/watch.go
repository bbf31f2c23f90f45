package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/disk"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"

	"github.com/nats-io/nats.go"
)

const (
	checkEvery   = time.Hour   // between two searches for missing messages in the streams
	recheckPause = time.Second // before a check that could not be made, or that a cut-off leader may have answered, is repeated
	fullPercent  = 90          // of an external account's limit: from here only outcomes are recorded
	// leaderElected is the subject of the server's advisories about new leaders of streams.
	leaderElected = "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.*"
)

// Healthy returns nil while all shards accept appends.
func (s *Store) Healthy() error {
	if err := s.sick.Load(); err != nil {
		return *err
	}
	if err := s.damaged.Load(); err != nil {
		return *err
	}
	if !s.nc.IsConnected() {
		return errAway
	}
	return nil
}

// markUnhealthy marks the log as unhealthy for good. With stop, it also sends the error to Fatal:
// the disk does not keep writes.
func (s *Store) markUnhealthy(err error, stop bool) {
	if !errors.Is(err, fault.ErrUnhealthy) {
		err = fmt.Errorf("%w: %w", fault.ErrUnhealthy, err)
	}
	if s.sick.CompareAndSwap(nil, &err) {
		s.log.Error().Err(err).Msg("the log is not healthy: no more appends")
		close(s.sickened)
	}
	if stop {
		select {
		case s.fatal <- err:
		default:
		}
	}
}

var errAway = fmt.Errorf("%w: not connected", fault.ErrUnhealthy)

// writable returns nil while a shard accepts appends. An unhealthy log still gets
// checkpoints, so that all acknowledged events have positions and can be backed up.
func (s *Store) writable(h *shard) error {
	if err := s.sick.Load(); err != nil && !h.kind.Covers {
		return *err
	}
	if !s.nc.IsConnected() {
		return errAway
	}
	if s.disk.None() {
		return fault.ErrFull
	}
	return h.healthy()
}

// awayPatience is how long an append waits for a connection: the NATS server has left, and another
// one takes the client.
const awayPatience = 2 * time.Second

// awaitConnection is writable. On a cluster it waits a while for a connection.
func (s *Store) awaitConnection(ctx context.Context, h *shard) error {
	err := s.writable(h)
	for until := time.Now().Add(awayPatience); !s.sole && errors.Is(err, errAway) && time.Now().Before(until); err = s.writable(h) {
		if s.closing.Load() || due.Rest(ctx, resolvePause, nil) != nil {
			break
		}
	}
	return err
}

// noteDamagedShard logs the damage of one shard, which accepts no more appends.
func (s *Store) noteDamagedShard(shard int, err error) {
	s.log.Error().Err(err).Int("shard", shard).Msg("the log is damaged: this shard takes no more appends")
	s.damaged.CompareAndSwap(nil, &err)
}

// Damaged returns the shards that take no appends because they are damaged. The deliveries and the
// checkpoints count as shards with numbers above all others.
func (s *Store) Damaged() (shards []int) {
	if s.damaged.Load() == nil { // the usual case waits for no shard's lock
		return nil
	}
	for _, h := range s.all() {
		if h.healthy() != nil {
			shards = append(shards, h.n)
		}
	}
	return shards
}

// watch checks the log while it is open: for missing messages, hourly, after every reconnect and
// after every change of a leader; and for free space.
func (s *Store) watch(ctx context.Context) {
	status := s.nc.StatusChanged(nats.CONNECTED)
	elected := make(chan *nats.Msg, 64)
	if _, err := s.nc.ChanSubscribe(leaderElected, elected); err != nil {
		s.log.Warn().Err(err).Msg("changes of leaders are not seen; the hourly check goes on")
	}
	check, measure := time.NewTicker(checkEvery), time.NewTicker(disk.MeasureEvery)
	defer check.Stop()
	defer measure.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-measure.C:
			s.measure(ctx)
		case <-check.C:
			s.recheck(ctx)
		case <-elected:
			for len(elected) > 0 { // all shards of a lost node elect at once
				<-elected
			}
			s.recheck(ctx)
		case _, open := <-status:
			if !open {
				status = nil // the connection was closed for good
				continue
			}
			s.recheck(ctx)
		}
	}
}

// recheck repeats the search for missing messages until it has a result. Damage ends the appends;
// on a replicated log only after a time in which a leader without connection to the cluster stops
// answering.
func (s *Store) recheck(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := s.untilCertain(ctx, s.recheckSegments)
	switch {
	case errors.Is(err, fault.ErrUnhealthy):
		s.markUnhealthy(err, false)
	case err != nil:
		s.log.Warn().Err(err).Msg("the log could not be checked for holes")
	}
}

// untilCertain repeats a check until it passes, its damage is certain, or ctx ends.
func (s *Store) untilCertain(ctx context.Context, check func(context.Context) error) error {
	damagedSince := time.Time{}
	for {
		err := check(ctx)
		now := time.Now()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, fault.ErrUnhealthy):
			damagedSince = time.Time{}
		case damagedSince.IsZero():
			damagedSince = now
		}
		if !damagedSince.IsZero() && (s.sole || now.Sub(damagedSince) > jetapi.StaleLeader) {
			return err
		}
		if pauseErr := due.Rest(ctx, recheckPause, nil); pauseErr != nil {
			return fmt.Errorf("%w: %w", pauseErr, err)
		}
	}
}

// room returns ErrRefused while nothing can be written: on a full disk the server stops all its
// streams for good.
func (s *Store) room() error {
	full := s.disk.None()
	if s.starting.Load() { // a start may use the space of its ballast
		full = s.disk.Dir != "" && !s.disk.Writable()
	}
	if full {
		return fmt.Errorf("%w: %w", fault.ErrRefused, fault.ErrFull)
	}
	return nil
}

// Full returns ErrFull while the disk has no room for new requests.
func (s *Store) Full() error {
	if s.disk.Low() {
		return fault.ErrFull
	}
	return nil
}

// measure looks at the space of an embedded server's disk, or at the limit of an external server's
// account.
func (s *Store) measure(ctx context.Context) {
	if s.sole {
		s.disk.Measure()
		if err := s.disk.Lay(); err != nil && !s.readOnly {
			s.log.Warn().Err(err).Msg("no space could be set aside for outcomes")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, jetapi.ReadTimeout)
	defer cancel()
	info, err := s.api.JS.AccountInfo(ctx)
	if err != nil || info.Limits.MaxStore <= 0 {
		return
	}
	s.disk.SetLow(float64(info.Store) > float64(info.Limits.MaxStore)*fullPercent/100)
}

// mayRead returns the damage of blocks with which an embedded server must not read a span of a
// segment.
func (h *shard) mayRead(ctx context.Context, seg segment, span folder.Span) error {
	if h.s.guard == nil {
		return nil
	}
	span.Stream, span.First = seg.Name(), seg.First
	h.mu.Lock()
	span.Stored = h.head.Seq
	if now, ok := h.segments.Numbered(seg.Number); ok && now.Last > 0 { // it may have been closed since seg was found
		span.Stored = min(span.Stored, now.Last)
	}
	h.mu.Unlock()
	damage, err := h.s.guard.Check(ctx, span)
	switch {
	case err != nil || damage.Reason == "":
		return err
	case h.dropped(span.From):
		return fault.ErrDropped
	}
	err = fault.Damage(span.Stream, damage.Seq, errors.New(damage.Reason))
	_ = h.markDamaged(damage.Seq, err) // it returns the shard's first damage
	return err
}

// lookDue reports whether the guard looks at the newest block before the next group is sent: after
// a silence an embedded server has dropped the block from memory, and reads it for the append. If
// the block is damaged, the server cuts it, and appends behind the cut.
func (h *shard) lookDue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.s.guard != nil && (h.beyond.lookAgain || time.Since(h.beyond.stored) >= folder.Fresh)
}

// checkAfterSilence looks at the newest block before a group is sent. With an error the group must
// not be sent. If the look takes too long, there is none: the publish shows whether the disk
// answers. The next group is looked at again then, and finds the damage of the late look.
func (h *shard) checkAfterSilence(f *flight) error {
	err := h.mayRead(h.s.life, f.seg, folder.Span{From: f.g.Seq, Through: f.g.Seq})
	late := errors.Is(err, context.DeadlineExceeded)
	h.mu.Lock()
	h.beyond.lookAgain, f.began = late, time.Now()
	h.mu.Unlock()
	if late {
		h.s.log.Warn().Err(err).Int("shard", h.n).Msg("the newest block could not be read in time before an append")
		return nil
	}
	return err
}

// Timed gets durations, for metrics. Its methods must not block.
type Timed interface {
	// Append gets the duration of each append, with its result. records are what the shard holds
	// (streams.Kind). request is the correlation id of an event; "" for a record.
	Append(records string, took time.Duration, err error, request string)
	// Sync gets the time from the sending of a group to its acknowledgement: its bytes are written
	// and synced, in a cluster by a majority.
	Sync(records string, took time.Duration)
}

// noteAppend hands the duration of an append to Timed.
func (s *Store) noteAppend(r *format.Recorded, began time.Time, err error) {
	if s.timed != nil {
		s.timed.Append(streams.KindOf(r.Shard).Records, time.Since(began), err, r.CorrelationID)
	}
}

// noteSync hands the duration of a stored publish to Timed. The caller holds the lock.
func (h *shard) noteSync(f *flight) {
	if h.s.timed != nil {
		h.s.timed.Sync(h.kind.Records, time.Since(f.sent))
	}
}
