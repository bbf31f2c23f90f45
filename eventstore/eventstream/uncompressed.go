package eventstream

import (
	"context"

	"payledger/eventstore/folder"
)

// Uncompressed checks the uncompressed blocks while the server runs. The server reads them without
// a check of all records. A consumer then skips a damaged message without an error. After a damaged
// sequence the server enters each sequence before the false one as deleted, until it has no memory
// left (nats-server filestore.go, indexCacheBuf).
type Uncompressed struct {
	files *folder.Uncompressed
	fault string // of the look before
}

// Finding is a fault of a block, or the zero value.
type Finding struct {
	Fault string
	Sure  bool // two looks have found a fault; otherwise the block is perhaps being written
}

// Uncompressed returns a check of the uncompressed blocks.
func (s *Server) Uncompressed() *Uncompressed {
	return &Uncompressed{files: folder.NewUncompressed(s.folder(), Name)}
}

// Check looks at the blocks once. state is the stream's, from before the call.
func (u *Uncompressed) Check(ctx context.Context, state State) (Finding, error) {
	before := u.fault
	u.fault = ""
	if state.First > state.Last || ctx.Err() != nil {
		return Finding{}, ctx.Err()
	}
	fault, err := u.files.Look(state.Last)
	if err != nil {
		return Finding{}, err
	}
	u.fault = fault
	return Finding{Fault: fault, Sure: fault != "" && before != ""}, nil
}
