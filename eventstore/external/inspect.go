package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Plan is a log that is about to be made.
type Plan struct {
	Access
	SystemCreds string // credentials of a system user; "" if the account of Access imports ServerInfo
	Replicas    int    // of every stream
	Placement   Placement
	Streams     int // of the log
}

// Placement limits which servers hold the streams.
type Placement struct {
	Cluster string   // name of the NATS cluster; "": any
	Tags    []string // a server must have all of them
}

// Config returns the placement for the configuration of a stream; nil without limits.
func (p Placement) Config() *jetstream.Placement {
	if p.Cluster == "" && len(p.Tags) == 0 {
		return nil
	}
	return &jetstream.Placement{Cluster: p.Cluster, Tags: p.Tags}
}

// takes reports whether a server may hold streams. Servers compare tags without regard to case.
func (p Placement) takes(s Server) bool {
	return (p.Cluster == "" || p.Cluster == s.Cluster.Name) && !slices.ContainsFunc(p.Tags, func(tag string) bool {
		return !slices.ContainsFunc(s.Tags, func(has string) bool { return strings.EqualFold(has, tag) })
	})
}

func (p Placement) String() string {
	var limits []string
	if p.Cluster != "" {
		limits = append(limits, "cluster "+p.Cluster)
	}
	if len(p.Tags) > 0 {
		limits = append(limits, "tags "+strings.Join(p.Tags, ", "))
	}
	return strings.Join(limits, " and ")
}

// Inspect returns an error unless the cluster can hold the planned log. It changes nothing.
func Inspect(ctx context.Context, p Plan) error {
	nc, js, err := p.jetStream(nats.Name("payledger init"))
	if err != nil {
		return err
	}
	defer nc.Close()
	servers, err := p.survey(ctx, nc)
	if err == nil {
		err = Check(servers, p.Replicas, p.Placement)
	}
	if err == nil {
		err = CheckReplicas(ctx, js, &p)
	}
	if err == nil {
		err = CheckAccount(ctx, js, p.Streams, p.Replicas)
	}
	return err
}

// Ready returns an error if a node must not serve the log of the cluster. seen reports whether it
// was checked that the servers sync every write.
func Ready(ctx context.Context, a Access) (seen bool, err error) {
	nc, js, err := a.jetStream(nats.Name("payledger serve"))
	if err != nil {
		return false, err
	}
	defer nc.Close()
	if err := CheckReplicas(ctx, js, nil); err != nil {
		return false, err
	}
	servers, err := Survey(ctx, nc)
	if errors.Is(err, ErrHidden) {
		return false, nil
	}
	return err == nil, CheckSync(servers) // a server may be away: its stream replicas catch up later
}

func (p Plan) survey(ctx context.Context, own *nats.Conn) ([]Server, error) {
	if p.SystemCreds == "" {
		servers, err := Survey(ctx, own)
		if errors.Is(err, ErrHidden) {
			err = fmt.Errorf("it cannot be checked that the NATS servers sync every write: let the system account export the service %s with response_type: stream, and the account of the ledger import it; or give the credentials of a system user with --nats-system-creds", ServerInfo)
		}
		return servers, err
	}
	nc, err := p.System(p.SystemCreds).Connect(nats.Name("payledger init"))
	if err != nil {
		return nil, fmt.Errorf("--nats-system-creds: %w", err)
	}
	defer nc.Close()
	servers, err := Survey(ctx, nc)
	if errors.Is(err, ErrHidden) {
		err = errors.New("--nats-system-creds is not of a user of the NATS system account")
	}
	return servers, err
}
