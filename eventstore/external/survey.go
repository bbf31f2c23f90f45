package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// ServerInfo is the service of the system account that shows the configuration of every server. One
// request has an answer of each.
const ServerInfo = "$SYS.REQ.SERVER.PING.VARZ"

// Server is a NATS server's description of itself.
type Server struct {
	Name       string    `json:"server_name"`
	Version    string    `json:"version"`
	MaxPayload int64     `json:"max_payload"`
	Cluster    Named     `json:"cluster"`
	Tags       []string  `json:"tags"`
	JetStream  JetStream `json:"jetstream"`
}

// Named is a part of a server's description that has a name.
type Named struct {
	Name string `json:"name"`
}

// JetStream is a server's description of its JetStream.
type JetStream struct {
	Config *Config `json:"config"` // nil: JetStream is off
	Stats  struct {
		Storage int64 `json:"storage"` // bytes
	} `json:"stats"`
	Meta *Meta `json:"meta"` // nil: the server is in no JetStream cluster
}

// Config is the configuration of a server's JetStream.
type Config struct {
	SyncAlways bool  `json:"sync_always"`
	MaxStorage int64 `json:"max_storage"` // bytes
}

// Meta is what a server knows of its JetStream cluster.
type Meta struct {
	Leader   string  `json:"leader"`
	Replicas []Named `json:"replicas"` // the other servers
	Size     int     `json:"cluster_size"`
}

// ErrHidden means that the connection's account cannot see the configuration of the servers.
var ErrHidden = errors.New("the NATS account does not see the servers' configuration")

const surveyTimeout = 5 * time.Second

// Survey returns the answers of every server of the JetStream cluster about its configuration. The
// error names the silent servers.
func Survey(ctx context.Context, nc *nats.Conn) ([]Server, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	answers, err := jetapi.Ask(nc, &nats.Msg{Subject: ServerInfo})
	if err != nil {
		return nil, fmt.Errorf("survey of the NATS servers: %w", err)
	}
	defer answers.Unsubscribe() //nolint:errcheck // see Ask
	var all []Server
	for {
		m, err := answers.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders), err == nil && m.Header.Get("Status") == "503":
			return nil, ErrHidden
		case err != nil && len(all) == 0:
			return nil, errors.Join(ErrHidden, ctx.Err())
		case err != nil:
			return all, silence(all)
		}
		var answer struct {
			Data Server `json:"data"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return nil, fmt.Errorf("survey of the NATS servers: %w", err)
		}
		if all = append(all, answer.Data); silence(all) == nil {
			return all, nil
		}
	}
}

// silence returns an error unless every server of the JetStream cluster has answered.
func silence(all []Server) error {
	size, led, names := 0, false, map[string]bool{} // of the servers that others named: whether they answered
	for _, s := range all {
		meta := s.JetStream.Meta
		if meta == nil {
			continue
		}
		size, led = max(size, meta.Size), led || meta.Leader != ""
		for _, peer := range append(slices.Clone(meta.Replicas), Named{meta.Leader}) {
			if peer.Name != "" {
				names[peer.Name] = false
			}
		}
	}
	answered := 0
	for _, s := range all {
		names[s.Name] = true
		if s.JetStream.Config != nil {
			answered++
		}
		if s.Cluster.Name != "" && s.JetStream.Config != nil && s.JetStream.Meta == nil {
			size = max(size, answered+1) // the JetStream cluster is not formed yet
		}
	}
	maps.DeleteFunc(names, func(_ string, there bool) bool { return there })
	silent := slices.Sorted(maps.Keys(names))
	switch {
	case answered == 0:
		return errors.New("no NATS server with JetStream answered: set `jetstream` in the configuration of the servers")
	case len(silent) > 0:
		return fmt.Errorf("no answer from the NATS servers %v: start them, or remove them from the cluster; if the servers run, the export of %s lacks response_type: stream", silent, ServerInfo)
	case size > 0 && !led:
		return errors.New("the JetStream cluster has no leader: start a majority of its NATS servers")
	case answered < size:
		return fmt.Errorf("%d NATS servers of %d answered: start the others; if the servers run, the export of %s lacks response_type: stream", answered, size, ServerInfo)
	}
	return nil
}
