package eventstream

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// limits bound the memory that clients can make the server use.
type limits struct {
	connections int
	consumers   int
}

const (
	// maxPending is the number of bytes that may wait for one connection. The server closes a
	// connection that exceeds it.
	maxPending = 3 * pullBytes
	// consumerSize is the approximate memory of a consumer that reads an old part of the stream.
	consumerSize = 1 << 20
	// Bounds of the number of connections and consumers, for any amount of memory.
	maxConnections, minConnections = 4096, 16
	maxConsumers, minConsumers     = 1024, 16
	// serverPayload is the largest message of the stream, in bytes. The largest event fits several
	// times over: a state has at most 256 KiB in the log.
	serverPayload = 2 << 20
	// authTimeout is the time in which a connection must authenticate itself, in seconds.
	authTimeout = 5
)

// limitsFor returns the limits for a memory, in bytes, of all buffers. Half of it is for
// connections, all of which may read too slowly, and half for consumers. With less than 192 MiB the
// minimum numbers apply, which may take 96 MiB for connections and 16 MiB for consumers.
func limitsFor(memory int64) limits {
	return limits{
		connections: int(min(max(memory/2/maxPending, minConnections), maxConnections)),
		consumers:   int(min(max(memory/2/consumerSize, minConsumers), maxConsumers)),
	}
}

// accountShare divides the connections and consumers: one account may have a quarter of them.
const accountShare = 4

// connectionsOf returns the number of connections of one account's users.
func (l limits) connectionsOf() int { return min(l.connections/accountShare, userConnections) }

// connectionsFrom returns the number of connections from one address.
func (l limits) connectionsFrom() int { return l.connections / 2 }

// consumersOf returns the number of consumers of one account.
func (l limits) consumersOf() int { return min(l.consumers/accountShare, accountConsumers) }

// apply sets the limits of each client in a server's options. The front bounds the number of
// connections.
func apply(o *server.Options) {
	o.MaxPending = maxPending
	o.MaxPayload = serverPayload
	o.MaxControlLine = 4 << 10
	o.AuthTimeout = authTimeout
	o.PingInterval, o.MaxPingsOut = 30*time.Second, 2
	o.WriteDeadline = writeTimeout
}
