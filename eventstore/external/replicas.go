package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// CheckReplicas returns an error if a stream of the log has fewer than MinReplicas replicas, or
// fewer than another stream. If planned is not nil, the log is about to be made: streams that exist
// must have as many replicas, and the same placement.
func CheckReplicas(ctx context.Context, js jetstream.JetStream, planned *Plan) error {
	most, counts, order := 0, map[string]int{}, []string{}
	list, err := jetapi.ListStreams(ctx, js, "")
	if err := listed(err); err != nil {
		return err
	}
	for _, info := range list {
		name := info.Config.Name
		if !streams.Ours(name) {
			continue
		}
		most = max(most, info.Config.Replicas)
		counts[name], order = info.Config.Replicas, append(order, name)
		placement := cmp.Or(info.Config.Placement, &jetstream.Placement{})
		if has := (Placement{placement.Cluster, placement.Tags}).String(); planned != nil && has != planned.Placement.String() {
			return fmt.Errorf("an earlier init made stream %s with another placement (%s): give the same one, or delete the stream", name, cmp.Or(has, "none"))
		}
	}
	for _, name := range order {
		switch n := counts[name]; {
		case planned != nil && n != planned.Replicas:
			return fmt.Errorf("an earlier init made stream %s with %d replicas: give --nats-replicas %d, or delete the stream", name, n, n)
		case n < MinReplicas:
			return fmt.Errorf("stream %s has %d replica(s), and the loss of one server would stop or lose the ledger: give every stream %d (`nats stream edit %s --replicas %d`), or make a new ledger with `payledger init`", name, n, max(most, MinReplicas), name, max(most, MinReplicas))
		case n < most:
			return fmt.Errorf("stream %s has %d replicas, and other streams of the ledger have %d: give it as many (`nats stream edit %s --replicas %d`)", name, n, most, name, most)
		}
	}
	return nil
}

// Messages returns the number of messages in the shards of the log.
func Messages(ctx context.Context, a Access) (n uint64, err error) {
	nc, js, err := a.jetStream(nats.Name("payledger init"))
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	list, err := jetapi.ListStreams(ctx, js, "")
	for _, info := range list {
		if _, _, ours := streams.Parse(info.Config.Name); ours {
			n += info.State.Msgs
		}
	}
	return n, listed(err)
}

func listed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errNoJetStream
	default:
		return fmt.Errorf("NATS: list of streams: %w", err)
	}
}
