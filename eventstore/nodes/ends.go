package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/due"
	"payledger/eventstore/jetapi"
)

const (
	endsSubject = "payledger.ends"
	// endsPatience is how long Ends waits for the answers of the other nodes.
	endsPatience = 300 * time.Millisecond
)

// errUncounted means that a node may have appended events which no node that answers counts.
var errUncounted = errors.New("not every node that appended has said how far it is")

// counted are the nodes that Ends no longer has to ask.
type counted struct {
	// This node has all of their events; the sequences of their ends, because a node that was ended
	// joins again under its id.
	ended map[string]uint64
	at    time.Duration // as of the newest success; 0: none since the last join
}

// answers are the newest ends of all nodes, and the nodes that did not tell theirs.
type answers struct {
	asOf   time.Duration
	ends   []uint64
	failed time.Duration     // of the newest question without an answer of each node
	silent map[string]uint64 // the newest records of nodes that did not answer
}

// place is the answer to a question for ends.
type place struct {
	Node string   `json:"node"`
	Ends []uint64 `json:"ends"` // by shard: the address of the newest event that it knows to be durable
}

// Ends returns an address for each shard. When this node has applied the log up to there, it has
// every event that any node acknowledged before asOf, a reading of Clock after the call. Ends asks
// the nodes, and appends nothing to the log. hurry: it beats at once, all callers of a moment
// together; else it waits for the next beat.
//
// The beat proves which nodes there were: every node that can have acknowledged an event before the
// beat has a record. The question follows the beat, so each node answers with everything that it
// acknowledged before. If a node does not answer, or has ended since the last call, Ends waits for
// CatchUp instead, and the addresses are 0.
func (r *Registry) Ends(ctx context.Context, hurry bool) (ends []uint64, asOf time.Duration, err error) {
	began := r.Clock()
	if ends, asOf, err = r.askAll(ctx, began, hurry); !errors.Is(err, errUncounted) {
		return ends, asOf, err
	}
	r.Logger.Debug().Err(err).Msg("the end of the log is read from the log")
	ended, asOf := r.endedNodes(), r.Clock()
	if err := r.CatchUp(ctx); err != nil {
		return nil, 0, err
	}
	r.count(ended, asOf)
	return make([]uint64, len(r.Applied())), asOf, nil
}

// askAll asks all nodes after the next beat. Callers that wait for the same beat share the answers.
func (r *Registry) askAll(ctx context.Context, began time.Duration, hurry bool) (ends []uint64, asOf time.Duration, err error) {
	within := r.ReadTime
	if !hurry { // the next beat is due; without one the log itself may still answer
		within = r.Beat + 2*endsPatience
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if asOf, err = r.roundAfter(ctx, began, hurry); err != nil {
		return nil, 0, err
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("%w: %w", errUncounted, ctx.Err())
	}
	r.mu.Lock()
	newest := r.answers
	r.mu.Unlock()
	switch {
	case newest.asOf >= asOf:
		return slices.Clone(newest.ends), newest.asOf, nil
	case newest.failed >= asOf:
		return nil, 0, fmt.Errorf("%w: a question after the same beat had no answer", errUncounted)
	}
	if err := r.complete(ctx); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errUncounted, err)
	}
	asked, err := r.toAsk()
	if err == nil {
		ends, err = r.askEnds(ctx, asked)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.answers.failed = asOf
		for id, seq := range asked { // those that answered are no longer in it
			r.answers.silent[id] = seq
		}
		return nil, 0, err
	}
	r.counted.at, r.answers = max(r.counted.at, asOf), answers{asOf: asOf, ends: slices.Clone(ends), silent: map[string]uint64{}}
	return ends, asOf, nil
}

// roundAfter returns when all records as of a beat that was sent after a moment were read, and when
// that beat was sent.
func (r *Registry) roundAfter(ctx context.Context, moment time.Duration, hurry bool) (time.Duration, error) {
	if hurry {
		due.Signal(r.kick)
	}
	for {
		r.mu.Lock()
		asOf, next := r.work.recordsAsOf, r.rounded
		r.mu.Unlock()
		if asOf > moment {
			return asOf, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: no beat was acknowledged: %w", errUncounted, ctx.Err())
		}
	}
}

// toAsk returns the other nodes that have not ended, with the sequences of their records. It fails
// if a node has ended whose events nobody counted, or has written no record since it left a
// question without an answer.
func (r *Registry) toAsk() (map[string]uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted.at == 0 || r.work.recordsAsOf-r.counted.at > r.Tenure { // only keptEnds records of ended nodes are kept
		return nil, fmt.Errorf("%w: this node has not asked for a while", errUncounted)
	}
	for _, record := range r.ended {
		if r.counted.ended[record.Node] != record.seq {
			return nil, fmt.Errorf("%w: %s has ended", errUncounted, record.Node)
		}
	}
	asked := map[string]uint64{}
	for id, p := range r.peers {
		if r.answers.silent[id] == p.seq {
			return nil, fmt.Errorf("%w: %s is silent", errUncounted, id)
		}
		asked[id] = p.seq
	}
	return asked, nil
}

// askEnds asks the nodes, takes those that answer out of asked, and returns the largest of their
// ends and this node's.
func (r *Registry) askEnds(ctx context.Context, asked map[string]uint64) ([]uint64, error) {
	ends := r.Acknowledged()
	if len(asked) == 0 {
		return ends, nil
	}
	sub, err := jetapi.Ask(r.API.Conn, &nats.Msg{Subject: endsSubject})
	if err == nil {
		defer sub.Unsubscribe() //nolint:errcheck // see Ask
	}
	ctx, cancel := context.WithTimeout(ctx, endsPatience)
	defer cancel()
	for err == nil && len(asked) > 0 {
		var m *nats.Msg
		if m, err = sub.NextMsgWithContext(ctx); err != nil {
			break
		}
		var p place
		if json.Unmarshal(m.Data, &p) != nil || len(p.Ends) != len(ends) {
			continue // a node of another build, or nobody: it counts as silent
		}
		delete(asked, p.Node)
		for shard, end := range p.Ends {
			ends[shard] = max(ends[shard], end)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %d nodes do not answer: %w", errUncounted, len(asked), err)
	}
	return ends, nil
}

func (r *Registry) endedNodes() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := map[string]uint64{}
	for _, record := range r.ended {
		ended[record.Node] = record.seq
	}
	return ended
}

// count notes that this node has every event of nodes that had ended, as of a reading of Clock.
func (r *Registry) count(ended map[string]uint64, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = counted{ended, max(r.counted.at, at)}
}

// answerEnds answers the questions of other nodes.
func (r *Registry) answerEnds(m *nats.Msg) {
	data, err := json.Marshal(place{r.Self.Node, r.Acknowledged()})
	if err == nil && m.Reply != "" {
		_ = m.Respond(data) // without a connection the other node reads the log itself
	}
}
