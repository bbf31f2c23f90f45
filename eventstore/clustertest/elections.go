package clustertest

import (
	"time"
	_ "unsafe" // for the names below
)

// The server's Raft timings, which it makes no option of. Its own tests shorten them in the same
// way.
var (
	//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
	minElectionTimeout time.Duration
	//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
	maxElectionTimeout time.Duration
	//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
	hbInterval time.Duration
)

func init() {
	minElectionTimeout, maxElectionTimeout = 1500*time.Millisecond, 3500*time.Millisecond
	hbInterval = 100 * time.Millisecond
}
