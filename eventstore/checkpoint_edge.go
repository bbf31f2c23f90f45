package eventstore

import (
	"context"
	"sync"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// edgeKey is where the tip store keeps the edge of a checkpoint, with its number: of the newest that this process wrote
// before the tip store was written last.
const edgeKey = "e"

// keepEdge remembers the edge of the newest checkpoint for the next start.
func (s *Store) keepEdge(c checkpoint.Checkpoint) {
	edge := c.EncodeEdge()
	s.edge.Store(&edge)
}

// keptEdge returns the number of the checkpoint whose edge the tip store has, and that edge; 0 when there is none.
func (s *Store) keptEdge() (number uint64, edge []checkpoint.Node) {
	s.tipsOpen.RLock()
	value, err := s.tips.Get([]byte(edgeKey))
	s.tipsOpen.RUnlock()
	if err != nil {
		return 0, nil
	}
	return checkpoint.ParseEdge(value)
}

// withEdge returns c with the edge of its tree: its own, or one that is made again from the last checkpoint whose edge is
// known, and the events after it.
func (s *Store) withEdge(ctx context.Context, c checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	if c.Size == 0 || len(c.Edge) > 0 {
		return c, nil
	}
	before, path, err := s.knownEdge(ctx, c)
	if err != nil {
		return c, err
	}
	t := before.Tree()
	for i := len(path) - 1; i >= 0; i-- {
		if err := s.grow(ctx, t, before, path[i]); err != nil {
			return c, err
		}
		before = path[i]
	}
	c.Edge = t.Edge()
	if err := c.CheckEdge(); err != nil {
		return c, err
	}
	s.keepEdge(c)
	return c, nil
}

// knownEdge returns the last checkpoint up to c whose edge is known, and those after it, from c down. Without one it
// returns the empty tree.
func (s *Store) knownEdge(ctx context.Context, c checkpoint.Checkpoint) (before checkpoint.Checkpoint, path []checkpoint.Checkpoint, err error) {
	kept, edge := s.keptEdge()
	for before = c; before.Number > 0; {
		if before.Number == kept {
			before.Edge = edge
		}
		if len(before.Edge) > 0 {
			return before, path, before.CheckEdge()
		}
		path = append(path, before)
		if before.Number == 1 {
			break
		}
		if before, err = s.readCheckpoint(ctx, jetapi.Get{Seq: before.Number - 1}); err != nil {
			return before, nil, err
		}
	}
	return checkpoint.Checkpoint{}, path, nil
}

// grow adds the events between two checkpoints to a tree.
func (s *Store) grow(ctx context.Context, t *checkpoint.Tree, before, to checkpoint.Checkpoint) error {
	for _, h := range s.shard {
		err := h.readGroups(ctx, before.LastGroup(h.n)+1, to.LastSeq[h.n], func(g *format.Group) error {
			for _, r := range g.Frames {
				if err := t.Add(r.Hash); err != nil {
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

// durability is the highest sequence of a stream that is known to be on the disk. It is the highest acknowledged sequence,
// because a stream of one replica syncs in order.
type durability struct {
	mu      sync.Mutex
	acked   uint64
	changed chan struct{} // closed and replaced whenever acked grows
}

func newDurability() *durability { return &durability{changed: make(chan struct{})} }

func (d *durability) raise(seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seq <= d.acked {
		return
	}
	d.acked = seq
	close(d.changed)
	d.changed = make(chan struct{})
}

// newest returns the highest sequence that is known to be durable.
func (d *durability) newest() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acked
}

// reached reports whether seq is durable. The channel closes at the next change.
func (d *durability) reached(seq uint64) (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return seq <= d.acked, d.changed
}
