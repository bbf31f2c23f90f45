package folder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"payledger/eventstore/folder"
)

// TestGuardOfALostDisk: looks at a file that does not answer fail, and one goroutine waits for it.
// When the file answers, the next look is made. A pipe without a writer stands for the file. No
// other test runs at the same time.
func TestGuardOfALostDisk(t *testing.T) {
	g := newGuarded(t)
	pipe := filepath.Join(g.msgs, "1.blk")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	guard := folder.NewGuard(g.dir, time.Millisecond, func() time.Time { return g.now })
	span := folder.Span{Stream: stream, First: 1, From: 1, Through: 1}
	for range 3 {
		if _, err := guard.Check(t.Context(), span); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a look: %v", err)
		}
	}
	if n := looking(); n != 1 {
		t.Errorf("%d goroutines wait for the disk", n)
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(os.Remove(pipe), writer.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for err = context.DeadlineExceeded; errors.Is(err, context.DeadlineExceeded); {
		_, err = guard.Check(t.Context(), span)
	}
	if err != nil {
		t.Errorf("a look at a disk that answers: %v", err)
	}
}

// failed returns the error of a Check.
func failed(_ folder.Damage, err error) error { return err }

// looking returns the number of goroutines that read files for a guard.
func looking() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "created by payledger/eventstore/folder.(*Guard).Check ")
}

// TestGuardOfASlowBadSector: the disk takes long to report a bad sector: nobody waits for the look
// any more. The next Check of the block returns the damage, without another look, and other blocks
// are not refused because of it. A pipe with a writer that writes nothing stands for the slow disk.
// No other test runs at the same time.
func TestGuardOfASlowBadSector(t *testing.T) {
	g := newGuarded(t)
	pipe, bad := filepath.Join(g.msgs, "1.blk"), filepath.Join(g.msgs, "2.blk")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/proc/self/mem", bad)); err != nil {
		t.Fatal(err)
	}
	g.write(3, block(4, 6))
	check := func(ctx context.Context, seq uint64) (folder.Damage, error) {
		return g.guard.Check(ctx, folder.Span{Stream: stream, First: 1, From: seq, Through: seq, Stored: 6})
	}
	waits, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- failed(check(waits, 2)) }()
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when the look reads
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the look that nobody waits for: %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // another look waits for the pipe
	defer cancel()
	if found, err := check(ctx, 2); err != nil || found.Seq != 2 || !strings.Contains(found.Reason, "input/output error") {
		t.Errorf("the next one: %+v, %v", found, err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if found, err := check(ctx, 5); err != nil || found.Reason != "" {
		t.Errorf("another block: %+v, %v", found, err)
	}
}

// TestGuardOfAnUnreadableBlock: the disk has lost a part of a block. That is damage for reads of
// this block; others can be read. Address 0 of this process, which nobody can read, stands for the
// block.
func TestGuardOfAnUnreadableBlock(t *testing.T) {
	t.Parallel()
	lose := func(g *guarded, n int) {
		t.Helper()
		path := filepath.Join(g.msgs, fmt.Sprintf("%d.blk", n))
		if err := errors.Join(os.Remove(path), os.Symlink("/proc/self/mem", path)); err != nil {
			t.Fatal(err)
		}
	}
	const eio = "input/output error"
	for lost := 1; lost < 5; lost++ {
		g := newGuarded(t)
		for n := 1; n < 5; n++ {
			g.write(n, block(uint64(3*n-2), uint64(3*n)))
		}
		lose(g, lost)
		for n := 1; n < 5; n++ {
			first, last := uint64(3*n-2), uint64(3*n)
			if n == lost {
				g.check(first, first, 12, first, eio)
				g.check(last, last, 12, last, eio)
				g.check(first, 12, 12, first, eio)
				continue
			}
			g.check(first, last, 12, 0, "")
			g.checkSpan(folder.Span{From: first, Through: last, Stored: 12, On: true}, 0, "")
		}
	}
	g := newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, block(4, 6))
	g.check(4, 6, 6, 0, "")
	lose(g, 2)
	g.check(4, 6, 6, 0, "") // it was read
	g.later()
	g.check(5, 6, 6, 5, eio)
	g.write(1, block(1, 1))
	if err := os.Remove(filepath.Join(g.msgs, "2.blk")); err != nil {
		t.Fatal(err)
	}
	g.write(2, block(2, 2)) // blocks of one message need those before
	g.write(3, block(3, 3))
	lose(g, 2)
	g.later()
	g.check(3, 3, 3, 0, "")
	g.check(2, 2, 3, 2, eio)
}
