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

// Newest checks the file of the newest messages while the server runs. A consumer skips a damaged
// message of this block without an error. All other blocks are compressed, with checksums: there
// the server reports an error.
type Newest struct {
	server *Server
	seen   fileState
	clean  int    // looks since the file was read
	fault  string // of the look before
}

type fileState struct {
	path    string
	size    int64
	changed time.Time
}

// Newest returns a check of the newest block.
func (s *Server) Newest() *Newest { return &Newest{server: s} }

// rereadAfter is the number of looks after which a file that has not changed is read again.
const rereadAfter = 10

// Check returns a fault of the file that two looks have found, or "". state is the stream's, from
// before the call.
func (n *Newest) Check(ctx context.Context, state State) (fault string, err error) {
	before := n.fault
	n.fault = ""
	if state.First > state.Last || ctx.Err() != nil {
		return "", ctx.Err()
	}
	found, err := n.look(state.Last)
	if err != nil || found == "" {
		return "", err
	}
	n.fault, n.seen = found, fileState{}
	if before == "" {
		return "", nil // perhaps it is being written
	}
	return found, nil
}

func (n *Newest) look(last uint64) (fault string, err error) {
	files, err := blocks.Files(n.server.folder())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return "the files of the messages are missing", nil
	}
	if err != nil {
		return "", err
	}
	newest := files[len(files)-1].Path
	info, err := os.Stat(newest)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s is missing", newest), nil
	}
	if err != nil {
		return "", fmt.Errorf("eventstream: %w", err)
	}
	now := fileState{newest, info.Size(), info.ModTime()}
	if n.clean++; now == n.seen && n.clean < rereadAfter {
		return "", nil
	}
	result, err := blocks.ReadBlock(newest, Name, blocks.Options{Deletes: true, Through: last})
	switch {
	case errors.Is(err, blocks.ErrUnsupported): // compressed meanwhile
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s is missing", newest), nil
	case err != nil:
		return "", err
	case result.Kind == blocks.Damaged && len(result.Faults) > 0:
		return result.Faults[0].String(), nil
	case result.Last < last:
		return fmt.Sprintf("%s ends after message %d, not %d", newest, result.Last, last), nil
	}
	n.seen, n.clean = now, 0
	return "", nil
}
