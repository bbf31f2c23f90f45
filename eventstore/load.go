package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/domain"
)

// readTimeout bounds one question to the server; the caller's context bounds the whole.
const readTimeout = 5 * time.Second

// replicaTimeout is how long one replica may take; then the leader is asked.
const replicaTimeout = time.Second

// ShardOf gives the shard of an aggregate.
func (s *Store) ShardOf(key Key) int { return domain.Shard(key.ID, s.shards) }

// Load gives the newest event of an aggregate, with the state after it: one look-up whatever its length.
// On a replicated log any replica may answer, so the answer can be old; an append on it is caught by its
// expectation, and Execute repeats a refusal on LoadLeader. ErrNotFound when there is none.
func (s *Store) Load(ctx context.Context, key Key) (*Recorded, error) {
	if err := key.valid(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if r := s.tips.get(key); r != nil {
		return r, nil // this store appended it or looked it up: durable, and the newest there is
	}
	shard := s.ShardOf(key)
	r, err := s.get(ctx, shard, s.direct[shard]+key.subject(shard), nil)
	if s.replicas > 1 && err != nil && !errors.Is(err, ErrNotFound) { // the replica that was asked may be gone
		r, err = s.tipAtLeader(ctx, key, shard)
	}
	if err != nil {
		return nil, err
	}
	return r, s.waitDurable(ctx, shard, r.Seq)
}

// LoadLeader is Load at the stream's leader: what decides an unknown outcome, and every refusal.
func (s *Store) LoadLeader(ctx context.Context, key Key) (*Recorded, error) {
	if err := key.valid(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	shard := s.ShardOf(key)
	r, err := s.tipAtLeader(ctx, key, shard)
	if err != nil {
		return nil, err
	}
	return r, s.waitDurable(ctx, shard, r.Seq)
}

// tipAtLeader reads without waiting for durability: Append's resolution must see what is there.
func (s *Store) tipAtLeader(ctx context.Context, key Key, shard int) (*Recorded, error) {
	return s.getAtLeader(ctx, shard, getRequest{LastBySubject: key.subject(shard)})
}

// Read gives the event at a place in the log.
func (s *Store) Read(ctx context.Context, shard int, seq uint64) (*Recorded, error) {
	if shard < 0 || shard >= s.shards {
		return nil, fmt.Errorf("%w: shard %d", ErrNotFound, shard)
	}
	r, err := s.get(ctx, shard, s.direct[shard][:len(s.direct[shard])-1], []byte(`{"seq":`+strconv.FormatUint(seq, 10)+`}`))
	if err != nil {
		return nil, err
	}
	return r, s.waitDurable(ctx, shard, r.Seq)
}

// get asks for one message by Direct Get: answered from the store's index, headers kept.
func (s *Store) get(ctx context.Context, shard int, subject string, request []byte) (*Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, s.directTimeout())
	defer cancel()
	m, err := s.reader(s.readers.shard(shard)).RequestWithContext(ctx, subject, request)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	if status := m.Header.Get("Status"); status != "" {
		if status == "404" {
			return nil, ErrNotFound
		}
		return nil, fmt.Errorf("eventstore: read: status %s %s", status, m.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: no sequence: %w", err)
	}
	return parseMessage(m.Header.Get("Nats-Subject"), seq, m.Header, m.Data)
}

// directTimeout bounds one Direct Get.
func (s *Store) directTimeout() time.Duration {
	if s.replicas > 1 {
		return replicaTimeout
	}
	return readTimeout
}

// getRequest is JetStream's STREAM.MSG.GET.
type getRequest struct {
	Seq           uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

// storedMessage is its answer.
type storedMessage struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Header  []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

func (s *Store) getAtLeader(ctx context.Context, shard int, request getRequest) (*Recorded, error) {
	message, err := s.messageAtLeader(ctx, s.leader[shard], request)
	if err != nil {
		return nil, err
	}
	header, err := nats.DecodeHeadersMsg(message.Header)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read at the leader: %w", err)
	}
	return parseMessage(message.Subject, message.Seq, header, message.Data)
}

// messageAtLeader asks a stream's leader, under its STREAM.MSG.GET subject, for one message; in a cluster
// again and again, since during an election nobody answers.
func (s *Store) messageAtLeader(ctx context.Context, api string, request getRequest) (storedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		message, err := s.askLeader(ctx, api, request)
		if err == nil || errors.Is(err, ErrNotFound) {
			return message, err
		}
		if s.replicas == 1 || s.nc.IsClosed() || s.pause(ctx, resolvePause) != nil {
			return message, fmt.Errorf("eventstore: read at the leader: %w", err)
		}
	}
}

func (s *Store) askLeader(ctx context.Context, api string, request getRequest) (storedMessage, error) {
	var answer struct {
		Error   *apiError     `json:"error"`
		Message storedMessage `json:"message"`
	}
	question, err := json.Marshal(request)
	if err != nil {
		return answer.Message, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.directTimeout())
	defer cancel()
	m, err := s.nc.RequestWithContext(ctx, api, question)
	if err == nil {
		err = json.Unmarshal(m.Data, &answer)
	}
	switch {
	case err != nil:
		return answer.Message, err
	case answer.Error == nil:
		return answer.Message, nil
	case answer.Error.ErrCode == codeNoMessageFound:
		return answer.Message, ErrNotFound
	default:
		return answer.Message, answer.Error
	}
}

// History gives all events of an aggregate, oldest first, by walking back from the leader's newest.
func (s *Store) History(ctx context.Context, key Key) ([]*Recorded, error) {
	tip, err := s.LoadLeader(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.walk(ctx, tip, 0)
}

// Since gives the events of an aggregate from a revision to tip, both included, oldest first.
func (s *Store) Since(ctx context.Context, tip *Recorded, revision uint64) ([]*Recorded, error) {
	return s.walkTo(ctx, tip, func(r *Recorded) bool { return r.Revision <= revision })
}

// walk goes back from tip to the event after sequence `down`, and gives them oldest first.
func (s *Store) walk(ctx context.Context, tip *Recorded, down uint64) ([]*Recorded, error) {
	return s.walkTo(ctx, tip, func(r *Recorded) bool { return r.PrevSeq <= down })
}

// walkTo goes back from tip to the event that is the last to be had, or to the first there is.
func (s *Store) walkTo(ctx context.Context, tip *Recorded, last func(*Recorded) bool) ([]*Recorded, error) {
	events := []*Recorded{tip}
	for r := tip; r.PrevSeq > 0 && !last(r); {
		previous, err := s.Read(ctx, r.Shard, r.PrevSeq)
		if s.replicas > 1 && err != nil { // a replica may be gone, or behind the one that gave r
			previous, err = s.getAtLeader(ctx, r.Shard, getRequest{Seq: r.PrevSeq})
		}
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, fmt.Errorf("%w: %s revision %d is missing at sequence %d", ErrUnhealthy, r.Key, r.Revision-1, r.PrevSeq)
		case err != nil:
			return nil, err
		case previous.Key != r.Key || previous.Revision != r.Revision-1:
			return nil, fmt.Errorf("%w: %s revision %d points at %s revision %d", ErrUnhealthy, r.Key, r.Revision, previous.Key, previous.Revision)
		}
		events = append(events, previous)
		r = previous
	}
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	return events, nil
}
