package blocks

import "fmt"

// Outline is what the lengths and sequences of a block's records say, without their checksums.
type Outline struct {
	First, Last uint64 // sequences of the messages, without a gap; 0: there is none
	// Wrong is why the record after Last cannot be right, with its place; "" is none.
	Wrong string
	// Torn means that the file ends within the record after Last: it is being written, or its
	// length is wrong.
	Torn bool
}

// OutlineOf reads a block of a stream without deletes as a running server does, which takes lengths
// and sequences without checksums: after a sequence that is too high the server enters each
// sequence before it as deleted, until it has no memory left, and at an impossible length it cuts
// the file off (filestore.go, indexCacheBuf and loadMsgsWithLock).
func OutlineOf(path string) (o Outline, err error) {
	f, size, err := open(path, false)
	if err != nil {
		return o, err
	}
	defer f.Close() // it was only read
	return outline(newWindow(f, size, nil), path)
}

func outline(w *window, path string) (o Outline, err error) {
	for at := int64(0); at < w.size; {
		b, err := w.get(at, headLen)
		if err != nil {
			return o, fmt.Errorf("blocks: %s: %w", path, err)
		}
		if len(b) < headLen {
			o.Torn = true
			return o, nil
		}
		h := readHead(b)
		switch {
		case h.suspicious != "":
			o.Wrong = fmt.Sprintf("%s, offset %d: %s", path, at, h.suspicious)
			return o, nil
		case at+int64(h.length) > w.size:
			o.Torn = true
			return o, nil
		case h.tombstone: // the server passes over it
		case o.Last != 0 && h.seq != o.Last+1:
			o.Wrong = fmt.Sprintf("%s, offset %d: sequence %d comes after %d", path, at, h.seq, o.Last)
			return o, nil
		case o.Last == 0:
			o.First, o.Last = h.seq, h.seq
		default:
			o.Last = h.seq
		}
		at += int64(h.length)
	}
	return o, nil
}
