package eventstoretest

import (
	"context"

	"payledger/eventstore/position"
)

// SavePosition saves the position of a reader. It must not be behind the stored one in any shard.
func SavePosition(ctx context.Context, s position.Stream, reader string, addresses []uint64) error {
	p, err := position.Open(ctx, s, reader, len(addresses))
	if err == nil {
		p.Raise(addresses)
		_, err = p.Save(ctx)
	}
	return err
}
