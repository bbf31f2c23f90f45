package blocks

import (
	"errors"
	"io"
)

const chunk = 256 << 10 // how many bytes are read at a time

// window reads a file once, from front to back, and holds the bytes that the reader needs.
type window struct {
	src   io.ReaderAt
	size  int64 // of the file, when it was opened
	pace  func(n int) error
	bytes []byte // of the file, from offset start on
	start int64
	spare []byte
	held  int64 // nothing from here on is dropped; -1 while nothing is held
}

func newWindow(src io.ReaderAt, size int64, pace func(n int) error) *window {
	return &window{src: src, size: size, pace: pace, held: -1}
}

// get returns n bytes from an offset on, fewer at the end of the file. They are valid until the
// next call. No later call may use a smaller offset, unless held allows it. Memory grows with the
// bytes that were read, never with n alone.
func (w *window) get(offset int64, n int) ([]byte, error) {
	if offset >= w.size {
		return nil, nil
	}
	for w.start+int64(len(w.bytes)) < min(offset+int64(n), w.size) {
		if err := w.read(offset); err != nil {
			return nil, err
		}
	}
	rest := w.bytes[min(offset-w.start, int64(len(w.bytes))):]
	return rest[:min(n, len(rest))], nil
}

// read drops the bytes before the offset, except those that held keeps, and appends a chunk.
func (w *window) read(offset int64) error {
	if w.held >= 0 {
		offset = min(offset, w.held)
	}
	end := w.start + int64(len(w.bytes))
	if offset >= end {
		w.start, w.bytes = offset, w.bytes[:0]
		end = offset
	}
	keep := w.bytes[offset-w.start:]
	n := int(min(chunk, w.size-end))
	if need := len(keep) + n; cap(w.spare) < need {
		w.spare = make([]byte, 0, int(max(int64(need), min(2*chunk+2*int64(len(keep)), w.size))))
	}
	next := w.spare[:len(keep)]
	copy(next, keep)
	got, err := w.src.ReadAt(next[len(next):len(next)+n], end)
	w.spare, w.bytes, w.start = w.bytes[:0], next[:len(next)+got], offset
	if errors.Is(err, io.EOF) { // the file became shorter
		w.size, err = min(w.size, end+int64(got)), nil
	}
	if err == nil && got > 0 && w.pace != nil {
		err = w.pace(got)
	}
	return err
}
