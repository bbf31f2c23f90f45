package jetapi

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/stored"
)

// Get is JetStream's STREAM.MSG.GET.
type Get struct {
	Seq           uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"` // the first message from Seq on
}

// AtLeader reads one message at the leader of a stream, or returns ErrNotFound. In a cluster it
// repeats the request, because no server answers during an election; ErrNoMajority: none did in
// time.
func (c *Client) AtLeader(parent context.Context, stream string, request Get) (stored.Message, error) {
	ctx, cancel := context.WithTimeout(parent, c.Patience())
	defer cancel()
	for {
		message, err := c.atLeaderOnce(ctx, stream, request)
		if err == nil || errors.Is(err, fault.ErrNotFound) {
			return message, err
		}
		if c.Replicas == 1 || c.Conn.IsClosed() {
			return message, fmt.Errorf("eventstore: read at the leader: %w", err)
		}
		if due.Rest(ctx, leaderPause, nil) != nil {
			var answer *Error
			if parent.Err() != nil || errors.As(err, &answer) && answer.ErrCode == codeStreamNotFound {
				return message, fmt.Errorf("eventstore: read at the leader: %w", errors.Join(err, parent.Err()))
			}
			return message, fmt.Errorf("%w: read at the leader: %w", fault.ErrNoMajority, err)
		}
	}
}

func (c *Client) atLeaderOnce(ctx context.Context, stream string, request Get) (stored.Message, error) {
	timeout := c.directTimeout()
	if c.Replicas == 0 { // it may be a cluster, whose servers ignore requests while they elect a leader
		timeout = replicaTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answer struct {
		Error   *Error `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err := c.call(ctx, "$JS.API.STREAM.MSG.GET."+stream, request, &answer)
	switch m := answer.Message; {
	case err != nil:
		return stored.Message{}, err
	case answer.Error == nil:
		return stored.Message{Seq: m.Seq, Subject: m.Subject, Header: m.Header, Body: m.Data}, nil
	case answer.Error.ErrCode == codeNoMessageFound:
		return stored.Message{}, fault.ErrNotFound
	default:
		return stored.Message{}, answer.Error
	}
}
