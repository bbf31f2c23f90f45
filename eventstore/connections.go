package eventstore

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// readers are connections for reading alone. The server answers a Direct Get in the loop that reads the
// connection, and waits there while the stream syncs: on a shared connection one look-up would hold up
// every publish behind it. One a shard, so that shards do not wait for each other; the last two are for
// deliveries and for secrets.
type readers []*nats.Conn

func openReaders(c Config, shards int) (readers, error) {
	var all readers
	for range shards + 2 {
		nc, err := connect(c)
		if err != nil {
			all.close()
			return nil, fmt.Errorf("eventstore: connect: %w", err)
		}
		all = append(all, nc)
	}
	return all, nil
}

// shard gives the connection for look-ups in a shard.
func (r readers) shard(h *shard) *nats.Conn {
	if h.n == deliveryShard {
		return r[len(r)-2]
	}
	return r[h.n]
}

// secrets gives the connection for look-ups in the stream of secrets.
func (r readers) secrets() *nats.Conn { return r[len(r)-1] }

// reader gives nc, or the store's own connection while nc is away.
func (s *Store) reader(nc *nats.Conn) *nats.Conn {
	if nc.IsConnected() {
		return nc
	}
	return s.nc
}

func (r readers) close() {
	for _, nc := range r {
		nc.Close()
	}
}
