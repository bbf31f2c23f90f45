package prover

import (
	"context"
	"fmt"

	"payledger/eventstore/proof"
)

// Checkpoints calls emit with the checkpoints after a number, oldest first, at most limit of them;
// 0 is no limit. It ends with the newest one. next is the number after which more follow; 0 if
// there are no more.
func (p *Prover) Checkpoints(ctx context.Context, after uint64, limit int, emit func(proof.Checkpoint) error) (next uint64, err error) {
	order, err := p.Store.Checkpoints().Order(ctx)
	if err != nil {
		return 0, fmt.Errorf("prover: %w", err)
	}
	for n := after + 1; n <= order.Checkpoint(); n++ {
		if limit > 0 && n-after > uint64(limit) {
			return n - 1, nil
		}
		c, err := p.Store.Checkpoints().At(ctx, n)
		if err != nil {
			return 0, fmt.Errorf("prover: checkpoint %d: %w", n, err)
		}
		if err := emit(proof.Checkpoint{Number: n, Size: c.Size, Root: c.Root, Note: c.Text() + "\n" + c.Signature}); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
