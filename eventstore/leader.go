package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// readTimeout bounds one request to the server; the context of the caller bounds all of them together.
const readTimeout = 5 * time.Second

// replicaTimeout bounds the answer of one replica. After it the store reads at the leader.
const replicaTimeout = time.Second

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
	NextBySubject string `json:"next_by_subj,omitempty"` // the first message from Seq on
}

// storedMessage is the answer to a getRequest.
type storedMessage struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Header  []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

// messageAtLeader requests one message from the leader of a stream; api is its STREAM.MSG.GET subject. In a cluster it repeats
// the request, because no server answers during an election.
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
