package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"payledger/eventstore/folder"
)

// TestGuardOfALostDisk: looks at a file that does not answer fail, and the first one goes on when
// the file answers. A pipe without a writer stands for the file.
func TestGuardOfALostDisk(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	pipe := filepath.Join(g.msgs, "1.blk")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	guard := folder.NewGuard(g.dir, account, time.Millisecond, func() time.Time { return g.now })
	span := folder.Span{Stream: stream, First: 1, From: 1, Through: 1}
	for range 3 {
		if _, err := guard.Check(t.Context(), span); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a look: %v", err)
		}
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
