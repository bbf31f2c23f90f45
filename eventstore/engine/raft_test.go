package engine_test

import (
	"time"
	_ "unsafe" // for the names below
)

// The server's Raft timings that package clustertest leaves as they are. The server makes no
// options of them.
var (
	//go:linkname lostQuorumInterval github.com/nats-io/nats-server/v2/server.lostQuorumInterval
	lostQuorumInterval time.Duration
	//go:linkname lostQuorumCheck github.com/nats-io/nats-server/v2/server.lostQuorumCheck
	lostQuorumCheck time.Duration
)

func init() {
	lostQuorumInterval, lostQuorumCheck = 3*time.Second, 400*time.Millisecond
}
