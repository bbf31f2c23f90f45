package eventstoretest

import (
	"context"

	"payledger/eventstore/position"
)

// SavePosition saves the position of a reader. It must not be behind the stored one in any shard.
func SavePosition(ctx context.Context, s position.Stream, reader string, at []uint64) error {
	p, err := position.Open(ctx, s, reader, len(at))
	if err == nil {
		p.Raise(at)
		_, err = p.Save(ctx)
	}
	return err
}
