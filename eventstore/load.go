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

// ShardOf gives the shard of an aggregate.
func (s *Store) ShardOf(key Key) int { return domain.Shard(key.ID, s.shards) }

// Load gives the newest event of an aggregate, with the state after it: one look-up whatever its length.
// On a replicated log any replica may answer, so the answer can be old; an append on it is caught by its
// expectation, and Execute repeats a refusal on LoadLeader. ErrNotFound when there is none.
func (s *Store) Load(ctx context.Context, key Key) (*Recorded, error) {
	if err := key.valid(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	shard := s.ShardOf(key)
	r, err := s.get(ctx, s.direct[shard]+key.subject(shard), nil)
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
	r, err := s.get(ctx, s.direct[shard][:len(s.direct[shard])-1], []byte(`{"seq":`+strconv.FormatUint(seq, 10)+`}`))
	if err != nil {
		return nil, err
	}
	return r, s.waitDurable(ctx, shard, r.Seq)
}

// get asks for one message by Direct Get: answered from the store's index, headers kept.
func (s *Store) get(ctx context.Context, subject string, request []byte) (*Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	m, err := s.nc.RequestWithContext(ctx, subject, request)
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

// getRequest is JetStream's STREAM.MSG.GET.
type getRequest struct {
	Seq           uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

type getResponse struct {
	Error   *apiError `json:"error"`
	Message struct {
		Subject string `json:"subject"`
		Seq     uint64 `json:"seq"`
		Header  []byte `json:"hdrs"`
		Data    []byte `json:"data"`
	} `json:"message"`
}

func (s *Store) getAtLeader(ctx context.Context, shard int, request getRequest) (*Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	question, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	m, err := s.nc.RequestWithContext(ctx, s.leader[shard], question)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read at the leader: %w", err)
	}
	var answer getResponse
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("eventstore: read at the leader: %w", err)
	}
	if answer.Error != nil {
		if answer.Error.ErrCode == codeNoMessageFound {
			return nil, ErrNotFound
		}
		return nil, fmt.Errorf("eventstore: read at the leader: %w", answer.Error)
	}
	header, err := nats.DecodeHeadersMsg(answer.Message.Header)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read at the leader: %w", err)
	}
	return parseMessage(answer.Message.Subject, answer.Message.Seq, header, answer.Message.Data)
}

// History gives all events of an aggregate, oldest first, by walking back from the newest.
func (s *Store) History(ctx context.Context, key Key) ([]*Recorded, error) {
	tip, err := s.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.walk(ctx, tip, 0)
}

// walk goes back from tip to the event after sequence `down`, and gives them oldest first.
func (s *Store) walk(ctx context.Context, tip *Recorded, down uint64) ([]*Recorded, error) {
	events := []*Recorded{tip}
	for r := tip; r.PrevSeq > down; {
		previous, err := s.Read(ctx, r.Shard, r.PrevSeq)
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
