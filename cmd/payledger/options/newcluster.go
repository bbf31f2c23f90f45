package options

import (
	"fmt"
	"strings"

	"payledger/eventstore/external"
)

// NewCluster are the flags of a command that makes a ledger on an external NATS cluster.
type NewCluster struct {
	Replicas         int      `name:"nats-replicas" help:"With --nats-url: the number of servers that hold every stream, 3 or 5." default:"3"`
	PlacementTags    []string `name:"nats-placement-tags" help:"With --nats-url: only servers with all of these server_tags hold the streams." placeholder:"TAG"`
	PlacementCluster string   `name:"nats-placement-cluster" help:"With --nats-url: only servers of the NATS cluster of this name hold the streams." placeholder:"NAME"`
	SystemCreds      string   `name:"nats-system-creds" help:"With --nats-url: credentials file of a system user, if the ledger's NATS account does not see how the servers are configured." type:"path"`
}

// Faults returns the faults of the flags, beside the URL of the cluster. It trims the tags.
func (n *NewCluster) Faults(url string, args Arguments) (faults []string) {
	if n.Replicas != 3 && n.Replicas != 5 {
		faults = append(faults, fmt.Sprintf("--nats-replicas is %d: it must be 3 or 5", n.Replicas))
	}
	if url == "" && (args.Has("--nats-replicas") || n.SystemCreds != "" || len(n.PlacementTags) > 0 || n.PlacementCluster != "") {
		faults = append(faults, "--nats-replicas, --nats-placement-tags, --nats-placement-cluster and --nats-system-creds are for --nats-url, which is missing")
	}
	for i, tag := range n.PlacementTags {
		if n.PlacementTags[i] = strings.TrimSpace(tag); n.PlacementTags[i] == "" {
			faults = append(faults, "--nats-placement-tags has an empty tag")
		}
	}
	return faults
}

// Placement returns which servers may hold the streams.
func (n *NewCluster) Placement() external.Placement {
	return external.Placement{Cluster: n.PlacementCluster, Tags: n.PlacementTags}
}
