package eventstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"payledger/eventstore/blocks"
)

// cutDamaged cuts off the uncompressed blocks at their first bad record. The server must not run. A
// server that starts cuts at a wrong checksum, too. It trusts the length of a header, which the
// checksum does not cover, and reports nothing.
func (s *Server) cutDamaged() error {
	files, _ := blocks.Files(s.folder()) // none: there is no stream, or the server cannot read it either
	for i, f := range files {
		result, err := blocks.ReadBlock(f.Path, Name, blocks.Options{Deletes: true})
		if err != nil || result.Kind < blocks.Torn { // compressed; if it cannot be read, the server leaves the stream out
			continue
		}
		if err := os.Truncate(f.Path, result.End); err != nil {
			return fmt.Errorf("eventstream: %w", err)
		}
		torn := result.Kind == blocks.Torn && i == len(files)-1 // by a power failure
		if s.config.Cut != nil && !torn {
			s.config.Cut(result.Faults[0].String())
		}
	}
	return nil
}

// Uncompressed checks the uncompressed blocks while the server runs: the newest block, and blocks
// that a killed process did not compress. The server reads them without a check of all records. A
// consumer then skips a damaged message without an error. After a damaged sequence the server
// enters each sequence before the false one as deleted, until it has no memory left (nats-server
// filestore.go, indexCacheBuf). Other blocks are compressed, with checksums: there the server
// reports an error.
type Uncompressed struct {
	server     *Server
	compressed map[int]bool      // by the number of the block
	seen       map[int]fileState // of blocks without a fault, by the number of the block
	looks      int
	fault      string // of the look before
}

type fileState struct {
	size    int64
	changed time.Time
}

// Finding is a fault of a block, or the zero value.
type Finding struct {
	Fault string
	Sure  bool // two looks have found a fault; otherwise the block is perhaps being written
}

// Uncompressed returns a check of the uncompressed blocks.
func (s *Server) Uncompressed() *Uncompressed {
	return &Uncompressed{server: s, compressed: map[int]bool{}, seen: map[int]fileState{}}
}

// rereadAfter is the number of looks after which files that have not changed are read again.
const rereadAfter = 10

// Check looks at the blocks once. state is the stream's, from before the call.
func (u *Uncompressed) Check(ctx context.Context, state State) (Finding, error) {
	before := u.fault
	u.fault = ""
	if state.First > state.Last || ctx.Err() != nil {
		return Finding{}, ctx.Err()
	}
	if u.looks++; u.looks%rereadAfter == 0 {
		clear(u.seen)
	}
	fault, err := u.look(state.Last)
	if err != nil {
		return Finding{}, err
	}
	u.fault = fault
	return Finding{Fault: fault, Sure: fault != "" && before != ""}, nil
}

// look returns the first fault of the blocks, or "". last is the stream's newest message.
func (u *Uncompressed) look(last uint64) (fault string, err error) {
	files, err := blocks.Files(u.server.folder())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return "the files of the messages are missing", nil
	}
	for i, f := range files {
		newest := i == len(files)-1
		fault, err = u.block(f, last, newest)
		if errors.Is(err, fs.ErrNotExist) {
			if !newest {
				continue // its messages are older than the retention
			}
			return fmt.Sprintf("%s is missing", f.Path), nil
		}
		if err != nil || fault != "" {
			break
		}
	}
	return fault, err
}

func (u *Uncompressed) block(f blocks.File, last uint64, newest bool) (fault string, err error) {
	if u.compressed[f.Number] {
		return "", nil
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return "", fmt.Errorf("eventstream: %w", err)
	}
	now := fileState{info.Size(), info.ModTime()}
	if now == u.seen[f.Number] {
		return "", nil
	}
	result, err := blocks.ReadBlock(f.Path, Name, blocks.Options{Deletes: true, Through: last})
	switch {
	case errors.Is(err, blocks.ErrUnsupported):
		u.compressed[f.Number] = true
		return "", nil
	case err != nil:
		return "", err
	case result.Kind == blocks.Damaged, result.Kind == blocks.Torn && !newest:
		return result.Faults[0].String(), nil
	case newest && result.Last < last:
		return fmt.Sprintf("%s ends after message %d, not %d", f.Path, result.Last, last), nil
	}
	u.seen[f.Number] = now
	return "", nil
}
