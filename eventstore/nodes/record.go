package nodes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// State is what a node does.
type State string

// The states of a node.
const (
	Starting State = "starting" // it reads the log, and answers no requests
	Serving  State = "serving"
	Ended    State = "ended" // it left, or another node ended it
)

// Role is which part of the work a node does.
type Role string

// The roles of nodes. A record without a role is that of an older build, which does everything.
const (
	RoleAll   Role = "all"
	RoleAPI   Role = "api"   // it answers commands and single reads: it keeps no views, and plans nothing on account of events
	RoleViews Role = "views" // it owns no shard while another node serves that may
)

// KeepsViews reports whether nodes of the role have views, plan webhooks and run workflows.
func (r Role) KeepsViews() bool { return r != RoleAPI }

// OwnsShards reports whether nodes of the role own shards.
func (r Role) OwnsShards() bool { return r != RoleViews }

// recordSchema is the schema of the records that this build writes. Newer builds may add fields.
const recordSchema = 1

// Build is the build of a node.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Schemas are the newest schemas that the build reads, by aggregate.
	Schemas map[string]int `json:"schemas"`
	// Header is the level of the header of groups that the build reads (format.HeaderLevel); 0 of a
	// build that does not say it, which reads the first one.
	Header int `json:"header,omitempty"`
}

// Record is what a node says about itself.
type Record struct {
	Schema  int    `json:"schema"`
	Node    string `json:"node"` // id of the process: a restart gets another one
	State   State  `json:"state"`
	Address string `json:"address"` // of its API
	Role    Role   `json:"role,omitempty"`
	Build   Build  `json:"build"`
	// Applied is how far the node has applied each shard: the address of an event.
	Applied []uint64 `json:"applied"`
	// Term is the node's newest term: the number of its tenures (work.go).
	Term uint64 `json:"term,omitempty"`
	// EndedBy is the node that ended this one; "" for a node that left by itself.
	EndedBy string `json:"endedBy,omitempty"`

	seq    uint64    // of the record in the stream
	stored time.Time // by the clock of the NATS server; zero: unknown
}

func decode(seq uint64, data []byte) (Record, error) {
	r := Record{}
	if err := json.Unmarshal(data, &r); err != nil || r.Node == "" {
		return r, fmt.Errorf("record %d of %s is no record of a node: %w", seq, Stream, err)
	}
	r.seq = seq
	return r, nil
}

// has reports whether the node has applied the log up to a position; 0 is before all events of a
// shard.
func (r Record) has(position []uint64) bool {
	for shard, address := range position {
		if address > 0 && (shard >= len(r.Applied) || r.Applied[shard] < address) {
			return false
		}
	}
	return true
}

func (r Record) clone() Record {
	r.Applied, r.Build.Schemas = slices.Clone(r.Applied), maps.Clone(r.Build.Schemas)
	return r
}
