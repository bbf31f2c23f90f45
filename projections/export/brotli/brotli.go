// Package brotli takes the place of github.com/andybalholm/brotli, which parquet-go imports for one of its six compressions. Exports are
// compressed with zstd, and nothing here reads a Parquet file. The build took 5 seconds of CPU time more. This package has the names that
// parquet-go uses, and each use is an error.
package brotli

import (
	"errors"
	"io"
)

var errNone = errors.New("brotli: this program does not have it")

// WriterOptions are the settings of a Writer.
type WriterOptions struct {
	Quality int // 0 to 11
	LGWin   int // the window's size in bits
}

// Writer refuses what is written.
type Writer struct{}

// NewWriterOptions returns a Writer.
func NewWriterOptions(io.Writer, WriterOptions) *Writer { return &Writer{} }

func (*Writer) Write([]byte) (int, error) { return 0, errNone }
func (*Writer) Close() error              { return errNone }

// Reset does nothing.
func (*Writer) Reset(io.Writer) {}

// Reader reads nothing.
type Reader struct{}

// NewReader returns a Reader.
func NewReader(io.Reader) *Reader { return &Reader{} }

func (*Reader) Read([]byte) (int, error) { return 0, errNone }

// Reset does nothing else.
func (*Reader) Reset(io.Reader) error { return nil }
