package eventstore

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is the Merkle tree as far as the next leaf needs it: its right edge.
type tree struct {
	size  int64
	nodes map[int64]tlog.Hash
}

func newTree(c Checkpoint) *tree {
	t := &tree{size: int64(c.Size), nodes: map[int64]tlog.Hash{}}
	for _, h := range c.Edge {
		t.nodes[h.Index] = tlog.Hash(h.Hash)
	}
	return t
}

// ReadHashes serves tlog from the nodes at hand.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
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

func (t *tree) add(leaf Hash) error {
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

// edge lists the roots of the complete subtrees that make up the tree, left to right.
func (t *tree) edge() []StoredHash {
	var edge []StoredHash
	for level, start := 62, int64(0); level >= 0; level-- {
		if t.size&(1<<level) == 0 {
			continue
		}
		index := tlog.StoredHashIndex(level, start>>level)
		h := t.nodes[index]
		edge = append(edge, StoredHash{Index: index, Hash: h[:]})
		start += 1 << level
	}
	return edge
}

// root is the hash of the whole tree.
func (t *tree) root() (tlog.Hash, error) { return tlog.TreeHash(t.size, t) }
