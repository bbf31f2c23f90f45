package blocks

import "fmt"

// Misleads returns why a running server must not read a block of a stream without deletes, or "". A
// server that runs takes the lengths and sequences of records without their checksums. After a
// sequence that is too high it enters each sequence before it as deleted, until it has no memory
// left. At an impossible length it cuts the file off (filestore.go, indexCacheBuf and
// loadMsgsWithLock). Misleads reads no record as a whole, and accepts an incomplete one at the end.
func Misleads(path string) (reason string, err error) {
	f, size, err := open(path, false)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	w := newWindow(f, size, nil)
	for at, last := int64(0), uint64(0); ; {
		b, err := w.get(at, headLen)
		if err != nil {
			return "", fmt.Errorf("blocks: %s: %w", path, err)
		}
		if len(b) < headLen {
			return "", nil
		}
		h := readHead(b)
		switch {
		case h.suspicious != "":
			return fmt.Sprintf("%s, offset %d: %s", path, at, h.suspicious), nil
		case h.tombstone: // the server passes over it
		case last != 0 && h.seq != last+1:
			return fmt.Sprintf("%s, offset %d: sequence %d comes after %d", path, at, h.seq, last), nil
		default:
			last = h.seq
		}
		at += int64(h.length)
	}
}
