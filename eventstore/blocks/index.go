package blocks

import (
	"encoding/binary"
	"os"
	"path/filepath"
)

// index is index.db. It may be older than the blocks.
type index struct {
	last   uint64 // the stream's last sequence
	newest extent // of the newest block
	state  []byte // all of it, which ends with the number and the end of the newest block
}

// extent is the part of a stream that a block holds, by index.db: no message if first > last.
type extent struct {
	block       int // number of the block file
	first, last uint64
}

// readIndex reads index.db; false if it is missing, bad, or of an unknown version: the server then
// reads the blocks, so this is no damage.
func readIndex(folder, stream string) (index, bool) {
	b, err := os.ReadFile(filepath.Join(folder, "msgs", "index.db"))
	if err != nil || len(b) < 32 {
		return index{}, false
	}
	b, sum := b[:len(b)-sumLen], b[len(b)-sumLen:]
	d := keyed(stream)
	_, _ = d.Write(b)
	if string(d.Sum(nil)) != string(sum) || b[0] != 11 || b[1] < 1 || b[1] > 4 {
		return index{}, false
	}
	n := numbers{rest: b[2:]}
	n.pass(4) // messages, bytes, first sequence, its time
	read := index{last: n.next(), state: b}
	n.pass(1) // time of the last sequence
	n.passSubjects(b[1])
	for i := n.next(); i > 0 && !n.bad; i-- {
		read.newest = n.block(b[1])
	}
	return read, !n.bad
}

// numbers reads the numbers of index.db, one after the other.
type numbers struct {
	rest []byte
	bad  bool // index.db ended, or a number was none; all later numbers are 0
}

func (n *numbers) next() uint64 {
	v, size := binary.Uvarint(n.rest)
	if n.bad = n.bad || size <= 0; n.bad {
		return 0
	}
	n.rest = n.rest[size:]
	return v
}

// pass passes over some numbers.
func (n *numbers) pass(count int) {
	for range count {
		n.next()
	}
}

func (n *numbers) passBytes(count uint64) {
	if n.bad = n.bad || count > uint64(len(n.rest)); !n.bad {
		n.rest = n.rest[count:]
	}
}

// passSubjects passes over the subjects of the messages, given the version of index.db.
func (n *numbers) passSubjects(version byte) {
	for i := n.next(); i > 0 && !n.bad; i-- {
		length := n.next()
		if length == 0 {
			continue
		}
		n.passBytes(length)
		messages := n.next()
		n.pass(1) // the first block with the subject
		if messages > 1 || version >= 4 {
			n.pass(1) // the last one
		}
	}
}

// block reads the entry of a block, given the version of index.db.
func (n *numbers) block(version byte) extent {
	e := extent{block: int(n.next())}
	n.pass(1) // bytes
	e.first = n.next()
	n.pass(1) // time of the first message
	e.last = n.next()
	n.pass(1) // time of the last message
	deleted := n.next()
	n.pass(min(int(version)-1, 2)) // messages that expire, and scheduled ones
	if deleted > 0 {
		n.passSet()
	}
	return e
}

// passSet passes over the set of a block's deleted sequences: nodes of 32 numbers, in the first
// version of 64.
func (n *numbers) passSet() {
	const head = 10 // bytes: a mark, the version, the number of nodes, that of sequences
	if len(n.rest) < head {
		n.bad = true
		return
	}
	perNode := uint64(64)
	if n.rest[1] > 1 {
		perNode = 32
	}
	n.passBytes(head + uint64(binary.LittleEndian.Uint32(n.rest[2:]))*((perNode+1)*8+2))
}
