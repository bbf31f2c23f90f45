package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/semver"
)

const (
	// MinReplicas is the least number of replicas of every stream. With fewer, the loss of one
	// server stops the ledger or loses it.
	MinReplicas = 3
	// minVersion is the oldest nats-server whose behavior the log was tested with.
	minVersion = "2.15.2"
	// MinPayload is the least max_payload of a server, in bytes: an outcome must always fit.
	MinPayload = 4 << 20
	// minStorage is the least free storage of a server for a new log, in bytes.
	minStorage = 1 << 30
	// minConsumers is the least limit of consumers of a stream: every node and every reader of the
	// log has some.
	minConsumers = 64
)

var errNoJetStream = errors.New("the NATS account has no JetStream: set `jetstream: enabled` in the account, and `jetstream` on the servers")

// Check returns one error with all faults of the servers, or nil.
func Check(servers []Server, replicas int, placement Placement) error {
	var faults []string
	var names []string
	for _, s := range servers {
		faults = append(faults, s.faults()...)
		if s.JetStream.Config != nil && placement.takes(s) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	limits := placement.String()
	if len(names) < replicas && limits != "" {
		faults = append([]string{fmt.Sprintf("%d replicas need as many servers with JetStream that match the placement (%s), and %d match (%s): give more servers these server_tags and this cluster name, change --nats-placement-tags or --nats-placement-cluster, or give fewer --nats-replicas",
			replicas, limits, len(names), strings.Join(names, ", "))}, faults...)
	} else if len(names) < replicas {
		faults = append([]string{fmt.Sprintf("%d replicas need as many servers with JetStream, and the cluster has %d (%s): start more servers, or give fewer --nats-replicas",
			replicas, len(names), strings.Join(names, ", "))}, faults...)
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

func (s Server) faults() (faults []string) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, "NATS server "+s.Name+" "+fmt.Sprintf(format, args...))
		}
	}
	fault(s.MaxPayload < MinPayload, "takes messages of %d bytes: set max_payload to %d or more", s.MaxPayload, MinPayload)
	fault(semver.Compare("v"+s.Version, "v"+minVersion) < 0, "has version %s: %s or newer is needed", s.Version, minVersion)
	if err := s.syncs(); err != nil {
		faults = append(faults, err.Error())
	}
	if c := s.JetStream.Config; c != nil {
		free := c.MaxStorage - s.JetStream.Stats.Storage
		fault(free < minStorage, "has %d bytes of storage left for JetStream: raise max_file_store to leave %d or more", max(free, 0), minStorage)
	}
	return faults
}

func (s Server) syncs() error {
	if c := s.JetStream.Config; c != nil && !c.SyncAlways {
		return fmt.Errorf("NATS server %s does not sync every write, and a power failure would lose payments: set `sync_interval: always` in its block jetstream, and restart it", s.Name)
	}
	return nil
}

// CheckSync returns an error if a server may lose an acknowledged write.
func CheckSync(servers []Server) error {
	for _, s := range servers {
		if err := s.syncs(); err != nil {
			return err
		}
	}
	return nil
}

// CheckAccount returns an error unless the account's limits suffice for a log of some streams with
// some replicas.
func CheckAccount(ctx context.Context, js jetstream.JetStream, streams, replicas int) error {
	info, err := js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errNoJetStream
	case err != nil:
		return fmt.Errorf("limits of the NATS account: %w", err)
	}
	tier, storage := info.Tier, int64(minStorage)
	if len(info.Tiers) > 0 {
		var there bool
		if tier, there = info.Tiers[fmt.Sprintf("R%d", replicas)]; !there {
			return fmt.Errorf("the NATS account has no JetStream limits for %d replicas: add the tier R%d", replicas, replicas)
		}
	} else {
		storage *= int64(replicas) // the server counts every replica
	}
	limits := tier.Limits
	for _, limit := range []struct {
		name              string
		limited           bool
		has, used, needed int64
	}{
		{"streams", limits.MaxStreams > 0, int64(limits.MaxStreams), int64(tier.Streams), int64(streams)},
		{"consumers", limits.MaxConsumers > 0, int64(limits.MaxConsumers), 0, minConsumers},
		{"disk storage", limits.MaxStore >= 0, limits.MaxStore, int64(tier.Store), storage},
	} {
		if limit.limited && limit.has-limit.used < limit.needed {
			return fmt.Errorf("the NATS account's limit of %s leaves %d, and the log needs %d or more: raise the limit", limit.name, max(limit.has-limit.used, 0), limit.needed)
		}
	}
	if limits.MaxBytesRequired {
		return errors.New("the NATS account wants a size limit for every stream, and the log has none: unset max_bytes_required")
	}
	return nil
}
