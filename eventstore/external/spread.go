package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// Spread moves the leaders of the shards, so that every server leads about as many. The servers
// choose the first leaders by chance. Later elections move leaders again.
func Spread(ctx context.Context, a Access) error {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	nc, js, err := a.jetStream(nats.Name("payledger init"))
	if err != nil {
		return err
	}
	defer nc.Close()
	var shards []*jetstream.StreamInfo
	list, err := jetapi.ListStreams(ctx, js, "")
	if err := listed(err); err != nil {
		return err
	}
	for _, info := range list {
		if _, _, ours := streams.Parse(info.Config.Name); ours && info.Cluster != nil && info.Cluster.Leader != "" {
			shards = append(shards, info)
		}
	}
	for stream, server := range moves(shards) {
		request, err := json.Marshal(map[string]any{"placement": map[string]string{"preferred": server}})
		if err != nil {
			return fmt.Errorf("NATS: %w", err)
		}
		if _, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, request); err != nil {
			return fmt.Errorf("NATS: leader of %s: %w", stream, err)
		}
	}
	return nil
}

// moves returns the new leaders of streams whose leader leads at least two more streams than
// another replica.
func moves(all []*jetstream.StreamInfo) map[string]string {
	leads := map[string]int{}
	for _, info := range all {
		leads[info.Cluster.Leader]++
	}
	to := map[string]string{}
	slices.SortFunc(all, func(x, y *jetstream.StreamInfo) int { return leads[y.Cluster.Leader] - leads[x.Cluster.Leader] })
	for _, info := range all {
		from, best := info.Cluster.Leader, ""
		for _, r := range info.Cluster.Replicas {
			if !r.Offline && (best == "" || leads[r.Name] < leads[best]) {
				best = r.Name
			}
		}
		if best != "" && leads[from]-leads[best] >= 2 {
			leads[from]--
			leads[best]++
			to[info.Config.Name] = best
		}
	}
	return to
}
