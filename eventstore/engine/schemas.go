package engine

import (
	"context"
	"math"

	"payledger/eventstore/nodes"
)

// OpenNodes joins the registry of the nodes that serve this log.
func (s *Store) OpenNodes(ctx context.Context, c nodes.Config) (*nodes.Registry, error) {
	r, err := nodes.Open(ctx, nodes.Server{JS: s.js, API: s.api, Reader: s.shards + 1}, c)
	if err == nil {
		mark, lease := r.Mark, r.Valid
		s.mark.Store(&mark)
		s.lease.Store(&lease)
	}
	return r, err
}

// WriteFor makes the store write each kind of aggregate in a schema that every live node reads: readable returns the newest one, by
// the aggregate's name. It must be called before the first command.
func (s *Store) WriteFor(readable func(aggregate string) int) { s.readers = readable }

// readable returns the newest schema of an aggregate that every live node reads.
func (s *Store) readable(aggregate string) int {
	if s.readers == nil {
		return math.MaxInt
	}
	return s.readers(aggregate)
}
