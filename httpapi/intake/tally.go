package intake

import "sync/atomic"

// Limit names a limit that refused a request or cut a connection.
type Limit int

// The limits.
const (
	Connections        Limit = iota // in all
	AddressConnections              // of one client address
	Reserved                        // requests beyond the caps, but for probes
	Evicted                         // connections that were idle, or took no byte, when others came
	WriteTimeout                    // connections that took no byte of their answer
	Headers                         // requests with too long headers
	Body                            // requests with too long bodies
	Requests                        // requests that are processed, and those that wait
	AddressRequests                 // requests of one client address behind a proxy
	Memory                          // bodies and answers
	limits
)

var limitNames = [limits]string{
	"connections", "address_connections", "reserved", "evicted", "write_timeout", "headers", "body", "requests", "address_requests", "memory",
}

func (l Limit) String() string { return limitNames[l] }

// Tally counts refusals since the start, by limit. A nil Tally counts nothing.
type Tally struct{ counts [limits]atomic.Uint64 }

// Add counts one refusal.
func (t *Tally) Add(l Limit) {
	if t != nil {
		t.counts[l].Add(1)
	}
}

// Of returns the number of refusals by a limit.
func (t *Tally) Of(l Limit) uint64 { return t.counts[l].Load() }

// All calls each with every limit and its count.
func (t *Tally) All(each func(Limit, uint64)) {
	for l := range limits {
		each(l, t.Of(l))
	}
}
