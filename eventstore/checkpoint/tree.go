package checkpoint

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore/format"
)

// Tree is the Merkle tree as far as the next leaf needs it: its right edge.
type Tree struct {
	size  int64
	nodes map[int64]tlog.Hash
}

// Tree returns the tree of the checkpoint, made from its edge.
func (c Checkpoint) Tree() *Tree {
	t := &Tree{size: int64(c.Size), nodes: map[int64]tlog.Hash{}}
	for _, n := range c.Edge {
		t.nodes[n.Index] = tlog.Hash(n.Hash)
	}
	return t
}

// ReadHashes serves tlog from the nodes in memory.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		h, ok := t.nodes[index]
		if !ok {
			return nil, fmt.Errorf("eventstore: checkpoint lacks tree node %d", index)
		}
		hashes[i] = h
	}
	return hashes, nil
}

// Add adds the hash of the next event.
func (t *Tree) Add(leaf format.Hash) error {
	hashes, err := tlog.StoredHashes(t.size, leaf[:], t)
	if err != nil {
		return err
	}
	first := tlog.StoredHashIndex(0, t.size)
	for i, h := range hashes {
		t.nodes[first+int64(i)] = h
	}
	t.size++
	return nil
}

// Edge returns the roots of the complete subtrees that make up the tree, left to right.
func (t *Tree) Edge() []Node {
	var edge []Node
	for level, start := 62, int64(0); level >= 0; level-- {
		if t.size&(1<<level) == 0 {
			continue
		}
		index := tlog.StoredHashIndex(level, start>>level)
		h := t.nodes[index]
		edge = append(edge, Node{Index: index, Hash: h[:]})
		start += 1 << level
	}
	return edge
}

// Root returns the hash of the whole tree.
func (t *Tree) Root() (tlog.Hash, error) { return tlog.TreeHash(t.size, t) }
