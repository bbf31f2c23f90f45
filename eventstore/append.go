package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// publishTimeout bounds one publish; a later answer is an unknown outcome.
const publishTimeout = 3 * time.Second

// appendTimeout bounds an append whose caller sets no earlier deadline.
const appendTimeout = 15 * time.Second

// resolvePause is the wait before an unknown outcome is looked at again.
const resolvePause = 50 * time.Millisecond

// outcome is what one publish tells.
type outcome int

const (
	stored  outcome = iota // PubAck: durable
	refused                // the store says that it took nothing
	unknown                // everything else, "wrong last sequence" included (see doc.go)
)

// append publishes r, whose every byte is fixed, until it is known what became of it. On success r.Seq is
// set. ErrConflict: another event has the place. ErrRefused: nothing was recorded. ErrUnknown: the
// deadline came first.
func (s *Store) append(ctx context.Context, r *Recorded) error {
	if s.readOnly {
		return fmt.Errorf("%w: opened for reading", ErrRefused)
	}
	if err := s.Healthy(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	err := s.settle(ctx, r)
	if errors.Is(err, ErrUnknown) {
		s.tips.doubt(r.Key)
	}
	return err
}

// settle publishes r and resolves what an unclear answer means.
func (s *Store) settle(ctx context.Context, r *Recorded) error {
	began := time.Now()
	seq, result, err := s.publish(ctx, r)
	if result != stored { // few are not: the others need no second time limit
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, began.Add(appendTimeout))
		defer cancel()
	}
	uncertain := false // some publish may have been stored unseen
	for ; ; seq, result, err = s.publish(ctx, r) {
		switch result {
		case stored:
			r.Seq, r.lines = seq, nil
			s.remember(r)
			s.durable[r.Shard].raise(seq)
			return nil
		case refused:
			if !uncertain {
				return fmt.Errorf("%w: %w", ErrRefused, err)
			}
		case unknown:
			uncertain = true
		}
		settled, verdict := s.resolve(ctx, r, err)
		if settled {
			return verdict
		}
		if isDeadline(err) && !s.diskAnswers(ctx, r.Shard) {
			return fmt.Errorf("%w: %w", ErrUnknown, verdict)
		}
		if err := s.pause(ctx, resolvePause); err != nil || s.nc.IsClosed() {
			return fmt.Errorf("%w: %w", ErrUnknown, verdict)
		}
	}
}

// remember keeps an event of ours for the readers of a sole writer, before they are told of it.
func (s *Store) remember(r *Recorded) {
	if s.tails == nil {
		return
	}
	s.tips.put(r)
	s.tails[r.Shard].put(r)
}

// publish sends the event once.
func (s *Store) publish(ctx context.Context, r *Recorded) (uint64, outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	m, err := s.nc.RequestMsgWithContext(ctx, r.message())
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrMaxPayload) {
		return 0, refused, err
	}
	if err != nil {
		return 0, unknown, err
	}
	var ack struct {
		Error  *apiError `json:"error"`
		Stream string    `json:"stream"`
		Seq    uint64    `json:"seq"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return 0, unknown, fmt.Errorf("answer to a publish: %w", err)
	}
	switch {
	case ack.Error == nil && ack.Seq > 0 && ack.Stream == streamName(r.Shard):
		return ack.Seq, stored, nil
	case ack.Error == nil:
		return 0, unknown, fmt.Errorf("answer to a publish names %q %d", ack.Stream, ack.Seq)
	case ack.Error.definite(s.replicas):
		return 0, refused, ack.Error
	default:
		return 0, unknown, ack.Error
	}
}

// resolve looks at the stream's leader for what became of r. Settled with nil: r stands in the log and is
// durable. Settled with ErrConflict: its place is taken. Not settled: publish the same bytes again.
func (s *Store) resolve(ctx context.Context, r *Recorded, cause error) (settled bool, verdict error) {
	tip, err := s.tipAtLeader(ctx, r.Key, r.Shard)
	if errors.Is(err, ErrNotFound) {
		tip, err = &Recorded{}, nil // an empty place: sequence 0
	}
	switch {
	case err != nil:
		return false, errors.Join(cause, err)
	case tip.Seq == r.PrevSeq:
		return false, cause // an earlier publish may still be under way
	case tip.Seq < r.PrevSeq && s.replicas > 1:
		return false, cause // a leader that was cut off; the next answer may come from another
	case tip.Seq < r.PrevSeq:
		s.fail(fmt.Errorf("%s ends at %d, but had an event at %d", r.Key, tip.Seq, r.PrevSeq), false)
		return true, s.Healthy()
	}
	ours, err := s.findCommand(ctx, tip, r)
	switch {
	case err != nil:
		return false, errors.Join(cause, err)
	case ours == nil:
		return true, ErrConflict
	}
	if err := s.waitDurable(ctx, r.Shard, ours.Seq); err != nil {
		return true, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	*r = *ours
	s.remember(r)
	s.durable[r.Shard].raise(r.Seq) // with replicas it was not waited for
	return true, nil
}

// findCommand walks down from tip to the event that r expects below it, looking for r's command.
func (s *Store) findCommand(ctx context.Context, tip, r *Recorded) (*Recorded, error) {
	for at := tip; ; {
		if at.CommandID == r.CommandID && at.PrevSeq == r.PrevSeq && at.Hash == r.Hash {
			return at, nil
		}
		if at.PrevSeq <= r.PrevSeq {
			return nil, nil
		}
		previous, err := s.getAtLeader(ctx, r.Shard, getRequest{Seq: at.PrevSeq})
		if err != nil {
			return nil, err
		}
		at = previous
	}
}

// pause waits, or ends with the context.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
