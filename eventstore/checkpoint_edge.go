package eventstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// edgeKey is where the tip store keeps the edge of the newest checkpoint that this process wrote.
const edgeKey = "e"

// keepEdge remembers the edge of the newest checkpoint for the next start.
func (s *Store) keepEdge(c Checkpoint) {
	s.side.Lock()
	defer s.side.Unlock()
	s.edge = appendEdge(binary.AppendUvarint(nil, c.Size), c.Edge)
}

// withEdge returns c with the edge of its tree: its own, the one in the tip store, or one that is made again from the
// last checkpoint that has one and the events after it.
func (s *Store) withEdge(ctx context.Context, c Checkpoint) (Checkpoint, error) {
	if c.Size == 0 || len(c.Edge) > 0 {
		return c, nil
	}
	s.tipsOpen.RLock()
	value, err := s.tips.Get([]byte(edgeKey))
	s.tipsOpen.RUnlock()
	if p := (checkpointParser{b: value}); err == nil && p.number() == c.Size {
		if c.Edge = p.edge(); !p.failed && len(c.Edge) > 0 {
			return c, c.fits()
		}
	}
	return s.growEdge(ctx, c)
}

// growEdge makes the edge of c.
func (s *Store) growEdge(ctx context.Context, c Checkpoint) (Checkpoint, error) {
	var path []Checkpoint // from c down to the first one with an edge
	before := c
	for len(before.Edge) == 0 && before.Number > 1 {
		path = append(path, before)
		var err error
		if before, err = s.checkpoint(ctx, getRequest{Seq: before.Number - 1}); err != nil {
			return c, err
		}
	}
	if len(before.Edge) == 0 { // the first of all
		path = append(path, before)
		before = Checkpoint{}
	}
	t := newTree(before)
	for i := len(path) - 1; i >= 0; i-- {
		if err := s.grow(ctx, t, before, path[i]); err != nil {
			return c, err
		}
		before = path[i]
	}
	c.Edge = t.edge()
	return c, c.fits()
}

// grow adds the events between two checkpoints to a tree.
func (s *Store) grow(ctx context.Context, t *tree, before, to Checkpoint) error {
	for _, h := range s.shard {
		err := h.readGroups(ctx, before.lastSeq(h.n)+1, to.LastSeq[h.n], func(g *group) error {
			for _, r := range g.frames {
				if err := t.add(r.Hash); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fits checks that the edge is that of the checkpoint's root.
func (c Checkpoint) fits() error {
	root, err := newTree(c).root()
	if err == nil && string(root[:]) != string(c.Root) {
		err = errors.New("the events it covers have another root")
	}
	if err != nil {
		return fmt.Errorf("%w: %s at sequence %d: %w", ErrUnhealthy, checkpointStream, c.Number, err)
	}
	return nil
}
