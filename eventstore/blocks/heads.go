package blocks

import (
	"fmt"
	"path/filepath"

	"payledger/eventstore/stored"
)

// Outline is what the lengths and sequences of a block's records say, without their checksums.
type Outline struct {
	First, Last uint64 // sequences of the messages, without a gap; 0: there is none. CheckedOutlineOf sets no First
	// Wrong is why the record after Last cannot be right, with its place; "" is none.
	Wrong string
	// Torn means that the file ends within the record after Last: it is being written, or its
	// length is wrong.
	Torn bool
}

// OutlineOf reads a block of a stream without deletes as a running server does, which takes lengths
// and sequences without checksums: after a sequence that is too high the server enters each
// sequence before it as deleted, until it has no memory left, and at an impossible length it cuts
// the file off (filestore.go, indexCacheBuf and loadMsgsWithLock). With an error the Outline has
// the records before it.
func OutlineOf(path, stream string) (o Outline, err error) {
	f, size, err := open(path, false)
	if err != nil {
		return o, err
	}
	defer f.Close() // it was only read
	return outline(newWindow(f, size, nil), path, stream)
}

// CheckedOutlineOf reads a block of a stream with deletes, with its checksums, up to a sequence; 0
// reads all. Gaps are right there, and the marks of deleted messages count as messages.
func CheckedOutlineOf(path, stream string, through uint64) (o Outline, err error) {
	r, err := ReadBlock(path, stream, Options{Deletes: true, Through: through, Handle: func(m stored.Message) error {
		o.Last = max(o.Last, m.Seq)
		return nil
	}})
	if o.Torn = r.Kind == Torn; r.Kind == Damaged {
		o.Wrong = fmt.Sprintf("%s, offset %d: %s", path, r.Faults[0].Offset, r.Faults[0].Reason)
	}
	return o, err
}

func outline(w *window, path, stream string) (o Outline, err error) {
	last := int64(0) // where the message Last is
	for offset := int64(0); offset < w.size; {
		b, err := w.get(offset, headLen)
		if err != nil {
			return o, fmt.Errorf("blocks: %s: %w", path, err)
		}
		if len(b) < headLen {
			return tornAfter(o, last, w, path, stream)
		}
		h := readHead(b)
		switch {
		case h.suspicious != "":
			o.Wrong = fmt.Sprintf("%s, offset %d: %s", path, offset, h.suspicious)
			return o, nil
		case offset+int64(h.length) > w.size:
			return tornAfter(o, last, w, path, stream)
		case h.tombstone: // the server passes over it
		case o.Last != 0 && h.seq != o.Last+1:
			o.Wrong = fmt.Sprintf("%s, offset %d: sequence %d comes after %d", path, offset, h.seq, o.Last)
			return o, nil
		case o.Last == 0:
			o.First, o.Last, last = h.seq, h.seq, offset
		default:
			o.Last, last = h.seq, offset
		}
		offset += int64(h.length)
	}
	return o, nil
}

// tornAfter returns the outline of a file that ends within the record after Last. It checks the
// message Last: if its length is too short, its end looks like a record that is cut off.
func tornAfter(o Outline, last int64, w *window, path, stream string) (Outline, error) {
	if o.Torn = true; o.Last == 0 {
		return o, nil
	}
	n, _ := number(filepath.Base(path))
	_, bad, err := newReader(newWindow(w.src, w.size, nil), stream, n, &Options{}).decode(last)
	if err != nil || bad == nil {
		return o, err
	}
	o.Wrong = fmt.Sprintf("%s, offset %d: %s", path, last, bad.reason)
	if o.Last--; o.Last < o.First {
		o.First, o.Last = 0, 0
	}
	return o, nil
}
