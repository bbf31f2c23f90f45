package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrShort means that the stream of deliveries ends before a place that was read earlier: what was made from it
// must be made anew.
var ErrShort = errors.New("eventstore: the stream of deliveries is shorter than it was")

// deliveryNames matches every delivery, and not the records beside them, whose names are single tokens.
const deliveryNames = deliveryRoot + ".*.*.*.*"

// fenceName names a record that nobody reads: its PubAck tells that all before it is on disk.
const fenceName = "fence"

// Scan gives up to limit records whose names match the pattern, at or after sequence from, in order; end
// tells that nothing more stood there. Records that are being written at the moment may be missing at the end.
func (d *DeliveryStream) Scan(ctx context.Context, pattern string, from uint64, limit int) (page []StoredDelivery, end bool, err error) {
	if d.s.replicas > 1 { // a replica may be behind
		return d.scanLeader(ctx, pattern, from, limit)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	through := d.s.ackedOf(deliveryStream)
	nc := d.s.reader(d.s.readers.deliveries())
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails when the connection is gone, and with it the subscription
	question, err := json.Marshal(struct {
		Seq   uint64 `json:"seq"`
		Batch int    `json:"batch"`
		Next  string `json:"next_by_subj"`
	}{max(from, 1), limit, deliveryRoot + "." + pattern})
	if err != nil {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+deliveryStream, inbox, question); err != nil {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			stored, err := directDelivery(m)
			if err != nil {
				return nil, false, err
			}
			page = append(page, stored)
		case "204": // the end of this answer
			end := len(page) < limit && m.Header.Get("Nats-Num-Pending") == "0"
			return page, end, d.gaps(pattern, from, page, end, through)
		case "404":
			return page, true, d.gaps(pattern, from, page, true, through)
		default:
			return nil, false, fmt.Errorf("eventstore: deliveries: status %s %s", status, m.Header.Get("Description"))
		}
	}
}

// gaps returns an error if the server left out records of deliveries in a page of all of them, up to its last record, or, at
// the end, up to a sequence that was acknowledged before.
func (d *DeliveryStream) gaps(pattern string, from uint64, page []StoredDelivery, end bool, through uint64) error {
	if deliveryRoot+"."+pattern != deliveryNames {
		return nil
	}
	after := max(from, 1) - 1
	for _, r := range page {
		if err := d.s.skipped(deliveryStream, after, r.Seq); err != nil {
			return err
		}
		after = r.Seq
	}
	if !end {
		return nil
	}
	return d.s.skipped(deliveryStream, after, through+1)
}

func directDelivery(m *nats.Msg) (StoredDelivery, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: deliveries: no sequence: %w", err)
	}
	return StoredDelivery{Name: strings.TrimPrefix(m.Header.Get("Nats-Subject"), deliveryRoot+"."), Seq: seq, Body: m.Data}, nil
}

func (d *DeliveryStream) scanLeader(ctx context.Context, pattern string, from uint64, limit int) (page []StoredDelivery, end bool, err error) {
	for next := from; len(page) < limit; {
		stored, err := d.Next(ctx, pattern, next)
		if errors.Is(err, ErrNotFound) {
			return page, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		page, next = append(page, stored), stored.Seq+1
	}
	return page, false, nil
}

// Follow hands all records of deliveries at or after sequence from to batch, in order, none left out and none
// twice, those that are there and then those that come, until ctx ends or batch fails; it returns that error. A
// batch holds what is there, at most some hundreds. Nothing is handed out before it is durable. ErrShort: the
// stream ends before from−1, so it is not the one that was followed before.
func (d *DeliveryStream) Follow(ctx context.Context, from uint64, batch func([]StoredDelivery) error) error {
	f := &follower{d: d, next: max(from, 1), batch: batch}
	last, err := d.lastSeq(ctx)
	if err != nil {
		return err
	}
	if last+1 < f.next {
		return fmt.Errorf("%w: it ends at %d, and was read up to %d", ErrShort, last, f.next-1)
	}
	for {
		err := f.run(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f.failed != nil:
			return f.failed
		case d.s.nc.IsClosed():
			return fmt.Errorf("eventstore: deliveries: %w", nats.ErrConnectionClosed)
		}
		d.s.log.Debug().Err(err).Uint64("next", f.next).Msg("reading deliveries broke; going on")
		if err := d.s.pause(ctx, resubscribePause); err != nil {
			return err
		}
	}
}

// follower is a place in the stream of deliveries and what is done with the records from there on.
type follower struct {
	d      *DeliveryStream
	next   uint64
	batch  func([]StoredDelivery) error
	held   []StoredDelivery
	failed error // why it must not go on
}

// run reads from one consumer until it breaks.
func (f *follower) run(ctx context.Context) error {
	consumer, err := f.d.s.js.CreateConsumer(ctx, deliveryStream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.next, FilterSubject: deliveryNames,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	defer f.d.drop(context.WithoutCancel(ctx), consumer.CachedInfo().Name)
	messages, err := consumer.Messages(jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	f.held = nil
	for n := uint64(1); ; n++ {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != n {
			return errSkipped
		}
		f.held = append(f.held, StoredDelivery{
			Name: strings.TrimPrefix(m.Subject(), deliveryRoot+"."), Seq: meta.Sequence.Stream, Body: m.Data(),
		})
		if meta.NumPending > 0 && len(f.held) < pullMessages {
			continue
		}
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
}

// flush hands on what is held, once it is durable.
func (f *follower) flush(ctx context.Context) error {
	last := f.held[len(f.held)-1].Seq
	if err := f.d.waitDelivered(ctx, last); err != nil {
		return err
	}
	if err := f.d.gaps(strings.TrimPrefix(deliveryNames, deliveryRoot+"."), f.next, f.held, false, 0); err != nil {
		f.failed = err
		return err
	}
	if err := f.batch(f.held); err != nil {
		f.failed = err
		return err
	}
	f.next, f.held = last+1, nil
	return nil
}

// drop frees the consumer; one that cannot be reached ends itself.
func (d *DeliveryStream) drop(ctx context.Context, name string) {
	if !d.s.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := d.s.js.DeleteConsumer(ctx, deliveryStream, name); err != nil {
		d.s.log.Debug().Err(err).Msg("consumer not deleted")
	}
}

// waitDelivered returns when the record at seq is known to be on disk: a one-replica server shows it before.
func (d *DeliveryStream) waitDelivered(ctx context.Context, seq uint64) error {
	if d.s.replicas > 1 || d.s.readOnly {
		return nil
	}
	timer := time.NewTimer(barrierDelay)
	defer timer.Stop()
	for {
		done, changed := d.s.delivered.reached(seq)
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return d.Replace(ctx, fenceName, nil)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastSeq is the place of the stream's newest record.
func (d *DeliveryStream) lastSeq(ctx context.Context) (uint64, error) {
	stream, err := d.s.js.Stream(ctx, deliveryStream)
	if err != nil {
		return 0, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	return info.State.LastSeq, nil
}
