package checkpoint

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore/format"
)

// Tree is the Merkle tree as far as the next leaf needs it: its right edge. It keeps one node for
// each level, whatever its size.
type Tree struct {
	size  uint64
	nodes [64]tlog.Hash // by level: the root of the complete subtree of 2^level leaves, if the size has that bit
	lacks error         // the checkpoint's edge has not all nodes
}

// Tree returns the tree of the checkpoint, made from its edge.
func (c Checkpoint) Tree() *Tree {
	t := &Tree{size: c.Size}
	given := map[int64]tlog.Hash{}
	for _, n := range c.Edge {
		given[n.Index] = tlog.Hash(n.Hash)
	}
	t.each(func(level int, index int64) {
		h, there := given[index]
		if !there {
			t.lacks = fmt.Errorf("eventstore: checkpoint lacks tree node %d", index)
		}
		t.nodes[level] = h
	})
	return t
}

// each calls do with the level and the index of each node of the edge, left to right.
func (t *Tree) each(do func(level int, index int64)) {
	start := uint64(0)
	for level := len(t.nodes) - 1; level >= 0; level-- {
		if t.size&(1<<level) == 0 {
			continue
		}
		do(level, tlog.StoredHashIndex(level, int64(start>>level)))
		start += 1 << level
	}
}

// Add adds the hash of the next event.
func (t *Tree) Add(leaf format.Hash) error {
	h, level := tlog.RecordHash(leaf[:]), 0
	for ; t.size&(1<<level) != 0; level++ {
		h = tlog.NodeHash(t.nodes[level], h)
	}
	t.nodes[level] = h
	t.size++
	return t.lacks
}

// Edge returns the roots of the complete subtrees that make up the tree, left to right.
func (t *Tree) Edge() []Node {
	var edge []Node
	t.each(func(level int, index int64) {
		h := t.nodes[level] // a copy: Add changes the node
		edge = append(edge, Node{Index: index, Hash: h[:]})
	})
	return edge
}

// Root returns the hash of the whole tree.
func (t *Tree) Root() (tlog.Hash, error) {
	if t.size == 0 {
		return tlog.TreeHash(0, nil)
	}
	level := bits.TrailingZeros64(t.size)
	root := t.nodes[level]
	for level++; level < len(t.nodes); level++ {
		if t.size&(1<<level) != 0 {
			root = tlog.NodeHash(t.nodes[level], root)
		}
	}
	return root, t.lacks
}
