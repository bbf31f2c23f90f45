package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The stream of deliveries stands beside the log: what package notifier has planned and what
// became of it, one literal subject per delivery, synced like the log. This file only stores bytes.
const (
	deliveryStream = "DELIVERIES"
	deliveryRoot   = "deliveries"
)

// DeliveryStream stores records by name; a name is dot-joined tokens, each of which ValidID accepts.
type DeliveryStream struct{ s *Store }

// StoredDelivery is one record as it stands in the stream.
type StoredDelivery struct {
	Name string
	Seq  uint64 // place in the stream; grows over all names
	Body []byte
}

// OpenDeliveries finds or makes the stream. Nothing in it is limited, so nothing is ever discarded; the
// policy is the one that message schedules can be added to, and rollups replace what only its newest
// record matters of.
func (s *Store) OpenDeliveries(ctx context.Context) (*DeliveryStream, error) {
	_, err := s.js.Stream(ctx, deliveryStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !s.readOnly {
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: deliveryStream, Subjects: []string{deliveryRoot + ".>"}, Storage: jetstream.FileStorage,
			Replicas: s.replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
			AllowDirect: true, AllowRollup: true, AllowAtomicPublish: true, Compression: jetstream.NoCompression,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", deliveryStream, err)
	}
	return &DeliveryStream{s}, nil
}

// Put stores the next record of a name whose newest one is at sequence expected; 0 for the first. It
// returns the new record's sequence once it is durable. ErrConflict: the name's newest record is another
// one. ErrUnknown: the time (ctx, at most 15 s) was over first; the record may be stored or not.
//
// Records that many callers put at the same moment are synced together.
//
// A lost answer is resolved by what stands there: two writers must never put the same bytes.
func (d *DeliveryStream) Put(ctx context.Context, name string, expected uint64, body []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	if err := d.s.room(); err != nil {
		return 0, err
	}
	return d.put(ctx, name, expected, body)
}

// settle publishes one record until it is known what became of it.
func (d *DeliveryStream) settle(ctx context.Context, name string, expected uint64, body []byte) (uint64, error) {
	w := deliveryWrite{name: name, expected: expected, body: body}
	for {
		seq, err := d.publish(ctx, w.message())
		if err == nil {
			return seq, nil
		}
		there, lastErr := d.Last(ctx, name)
		switch {
		case lastErr == nil && there.Seq > expected && string(there.Body) == string(body):
			return there.Seq, d.waitDelivered(ctx, there.Seq)
		case lastErr == nil && there.Seq != expected:
			return 0, ErrConflict
		case lastErr != nil && !errors.Is(lastErr, ErrNotFound):
			err = errors.Join(err, lastErr)
		}
		if d.s.pause(ctx, resolvePause) != nil {
			return 0, fmt.Errorf("%w: delivery %s: %w", ErrUnknown, name, err)
		}
	}
}

// Replace stores a record in place of all earlier ones of its name. Only the newest matters, whoever
// wrote it; on an error it is for the caller to try again.
func (d *DeliveryStream) Replace(ctx context.Context, name string, body []byte) error {
	if err := d.s.room(); err != nil {
		return err
	}
	m := nats.NewMsg(deliveryRoot + "." + name)
	m.Data = body
	m.Header.Set(nats.MsgRollup, nats.MsgRollupSubject)
	seq, err := d.publish(ctx, m)
	if err != nil {
		return fmt.Errorf("eventstore: delivery %s: %w", name, err)
	}
	d.s.witnessedNewest(deliveryStream, seq, name, body)
	return nil
}

// publish sends once; only a PubAck is success.
func (d *DeliveryStream) publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answer, err := d.s.nc.RequestMsgWithContext(ctx, m)
	d.s.answered(deliveryStream, err)
	if err != nil {
		return 0, err
	}
	var ack deliveryAck
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, fmt.Errorf("answer to a publish: %w", err)
	}
	switch {
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Stream != deliveryStream || ack.Seq == 0:
		return 0, fmt.Errorf("answer to a publish names %q %d", ack.Stream, ack.Seq)
	}
	d.s.delivered.raise(ack.Seq)
	d.s.witnessed(deliveryStream, ack.Seq)
	return ack.Seq, nil
}

// Last gives the newest record of a name, as the stream's leader holds it; ErrNotFound when there is none.
func (d *DeliveryStream) Last(ctx context.Context, name string) (StoredDelivery, error) {
	must := d.s.must(deliveryStream, name)
	last, err := d.get(ctx, deliveryRequest{LastBySubject: deliveryRoot + "." + name})
	if errors.Is(err, ErrNotFound) {
		err = d.s.missing(deliveryStream, name, must)
	} else if err == nil {
		err = d.s.older(deliveryStream, last.Seq, must)
	}
	return last, err
}

// Next gives the first record at or after sequence from whose name matches the pattern ("*" stands for
// one token), as the stream's leader holds it; ErrNotFound at the end.
func (d *DeliveryStream) Next(ctx context.Context, pattern string, from uint64) (StoredDelivery, error) {
	return d.get(ctx, deliveryRequest{Seq: max(from, 1), NextBySubject: deliveryRoot + "." + pattern})
}

// deliveryRequest is JetStream's STREAM.MSG.GET.
type deliveryRequest struct {
	Seq           uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
}

func (d *DeliveryStream) get(ctx context.Context, request deliveryRequest) (StoredDelivery, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	question, err := json.Marshal(request)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery: %w", err)
	}
	m, err := d.s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+deliveryStream, question)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery: %w", err)
	}
	var answer struct {
		Error   *apiError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery: %w", err)
	}
	if answer.Error != nil {
		if answer.Error.ErrCode == codeNoMessageFound {
			return StoredDelivery{}, ErrNotFound
		}
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery: %w", answer.Error)
	}
	return StoredDelivery{
		Name: strings.TrimPrefix(answer.Message.Subject, deliveryRoot+"."), Seq: answer.Message.Seq, Body: answer.Message.Data,
	}, nil
}
