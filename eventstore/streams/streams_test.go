package streams_test

import (
	"slices"
	"testing"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// TestNames: Parse is the inverse of Name, and refuses every other name.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, shard := range append(streams.All(3), streams.SecretShard) {
		for _, number := range []uint32{1, 2, 10, 4_000_000_000} {
			name := streams.Name(shard, number)
			if of, n, ok := streams.Parse(name); of != shard || n != number || !ok {
				t.Errorf("%s is segment %d of shard %d, %t", name, n, of, ok)
			}
		}
	}
	for _, name := range []string{
		"", "LEDGER", "LEDGER_", "LEDGER_0", "LEDGER_1_", "LEDGER__1", "LEDGER_x_1", "LEDGER_0_x", "LEDGER_00_1", "LEDGER_0_01", "LEDGER_+1_1", "LEDGER_0_1_1",
		"LEDGER_65534_1", "LEDGER_0_4294967296", "DELIVERIES", "DELIVERIES_", "DELIVERIES_01", "DELIVERIES_0_1", "CHECKPOINTS", "LEDGER_65533_1", "LEDGER_0_0",
		"SECRETS", "SECRETS_", "SECRETS_0", "SECRETS_01", "SECRETS_x", "SECRETS_1_1", "XSECRETS_1", "SECRETS_4294967296", "LEDGER_65532_1",
	} {
		if shard, number, ok := streams.Parse(name); ok {
			t.Errorf("%q is segment %d of shard %d", name, number, shard)
		}
	}
}

// TestKinds: the shards of a log come first, and checkpoints cover only these. Only records of
// deliveries are dropped, and the frames of a key are in the shards of one kind.
func TestKinds(t *testing.T) {
	t.Parallel()
	all := streams.All(2)
	if !slices.Equal(all[:2], []int{0, 1}) || !slices.Equal(all[2:], streams.Beside) {
		t.Errorf("the shards are %v", all)
	}
	for _, shard := range all {
		if streams.KindOf(shard).Events != (shard < 2) || streams.KindOf(shard).Drops() != (shard == streams.DeliveryShard) {
			t.Errorf("shard %d has events: %t; drops segments: %t", shard, streams.KindOf(shard).Events, streams.KindOf(shard).Drops())
		}
		for key, of := range map[format.Key]*streams.Kind{
			{Account: "acct", Aggregate: "payment", ID: "p"}:  streams.KindOf(0),
			{Account: "acct", Aggregate: "delivery", ID: "d"}: streams.KindOf(streams.DeliveryShard),
			streams.KindOf(streams.DeliveryShard).Floor:       streams.KindOf(streams.DeliveryShard),
			checkpoint.Key: streams.KindOf(streams.CheckpointShard),
		} {
			if streams.KindOf(shard).Has(key) != (streams.KindOf(shard) == of) {
				t.Errorf("shard %d and %s", shard, key)
			}
		}
	}
}

// TestSegments: the segments of a shard among names are in the order of their numbers, and the kind
// of a segment is known by its name.
func TestSegments(t *testing.T) {
	t.Parallel()
	names := []string{"SECRETS_10", "LEDGER_0_1", "SECRETS_2", "OTHER"}
	if all := streams.Segments(streams.SecretShard, names); !slices.Equal(all, []string{"SECRETS_2", "SECRETS_10"}) {
		t.Errorf("the segments are %v", all)
	}
	if all := streams.Segments(0, names); !slices.Equal(all, []string{"LEDGER_0_1"}) {
		t.Errorf("the segments are %v", all)
	}
	for name, want := range map[string]streams.Kind{
		"LEDGER_3_1": {Events: true}, "SECRETS_1": {Destroys: true}, "CHECKPOINTS_2": {Covers: true}, "DELIVERIES_9": {}, "OTHER": {},
	} {
		if k := streams.KindIn(name); k.Events != want.Events || k.Destroys != want.Destroys || k.Covers != want.Covers || streams.Ours(name) == (name == "OTHER") {
			t.Errorf("%s is of the kind %+v", name, k)
		}
	}
}
