package streams

import (
	"time"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

// Kind has the properties in which shards differ. No other code distinguishes the shards of a log:
// each is a sequence of groups in segments, with hashes, tips, a witness and an owner. SECRETS has
// segments, a floor and a witness as a shard, and no groups (Destroys).
type Kind struct {
	// Records is what the frames are called in metrics.
	Records string
	// Events: the frames are events. Checkpoints cover them, and readers of the log get them. The
	// frames of another kind are records beside the log, and there is one shard of it.
	Events bool
	// Covers: a record covers the events up to a moment, and is written after it. So the moment of
	// a back-up does not wait for the end of this shard: its groups are not held meanwhile, and
	// name no group of another shard, which may be from after the moment.
	Covers bool
	// Destroys: single messages are destroyed. A message is no group, has no hash of the one before
	// and a subject of its own: package secretlog has the rules.
	Destroys bool
	// Floor is the key of the record that names the dropped segments: the oldest one may be dropped
	// as a whole. Without a key no segment is dropped: a missing one is damage.
	Floor format.Key
	// GroupBytes is the size of a group that gets no more frames, on an embedded server.
	GroupBytes int
	// Overtaken is how long a later frame of an aggregate lets the first frames of others overtake
	// it while they wait for a group. 0: first come, first served.
	Overtaken time.Duration

	name, root string // begin the names of its segments, and their subjects; the number of a shard of events follows
}

// The numbers of the shards beside the log.
const (
	DeliveryShard   = 0xfffe
	CheckpointShard = 0xfffd
	SecretShard     = 0xfffc // of SECRETS; no group names it
)

// Secrets is the name of the stream of sealed secrets.
const Secrets = "SECRETS"

// The kinds of shards.
var (
	events = Kind{Records: "events", Events: true, GroupBytes: format.MaxGroupBytes, name: "LEDGER_", root: "ledger"}
	// The first record of a delivery overtakes the records of outcomes, because its webhook has not
	// been sent yet.
	deliveries = Kind{
		Records: "deliveries",
		Floor:   format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: "floor"}, GroupBytes: format.MaxRecordBytes, Overtaken: 50 * time.Millisecond,
		name: "DELIVERIES", root: "deliveries",
	}
	checkpoints = Kind{Records: "checkpoints", Covers: true, GroupBytes: format.MaxRecordBytes, name: "CHECKPOINTS", root: "checkpoints"}
	secrets     = Kind{Records: "secrets", Destroys: true, name: Secrets, root: "secrets"}
)

// KindOf returns the kind of a shard.
func KindOf(shard int) *Kind {
	switch shard {
	case DeliveryShard:
		return &deliveries
	case CheckpointShard:
		return &checkpoints
	case SecretShard:
		return &secrets
	}
	return &events
}

// KindIn returns the kind of a segment, by its name; an empty one for another name.
func KindIn(name string) *Kind {
	if shard, _, ours := Parse(name); ours {
		return KindOf(shard)
	}
	return &Kind{}
}

// Drops reports whether the oldest segment may be dropped. The key of SECRETS is a kind of message.
func (k *Kind) Drops() bool { return k.Destroys || k.Floor != format.Key{} }

// Has reports whether the frames of a key are in shards of the kind.
func (k *Kind) Has(key format.Key) bool {
	return !k.Destroys && k.Events == IsEvent(key.Aggregate) && k.Covers == (key == checkpoint.Key)
}

// IsEvent reports whether an aggregate's frames are events of the log.
func IsEvent(aggregate string) bool {
	return aggregate != format.BesideAggregate && aggregate != format.DeliveryAggregate
}

// Beside are the numbers of the shards with groups of records beside the log.
var Beside = []int{DeliveryShard, CheckpointShard}

// All returns the numbers of all shards of groups of a log with n shards of events, those first.
func All(n int) (all []int) {
	for shard := range n {
		all = append(all, shard)
	}
	return append(all, Beside...)
}
