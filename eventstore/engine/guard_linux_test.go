package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// silent is a log whose newest block was not looked at for long.
type silent struct {
	t     *testing.T
	s     *engine.Store
	block string
	bytes []byte // of the block
	stop  func() error
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 0)
	for range 3 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	s.Silence()
	l := &silent{t: t, s: s, block: blocksOf(t, dir, 1)[0], stop: stop}
	var err error
	if l.bytes, err = os.ReadFile(l.block); err != nil {
		t.Fatal(err)
	}
	return l
}

// kept is the block's name while another file stands for it. The server has the block open.
func (l *silent) kept() string { return l.block + ".kept" }

// replace puts another file into the place of the block.
func (l *silent) replace(by func(path string) error) {
	l.t.Helper()
	if err := errors.Join(os.Rename(l.block, l.kept()), by(l.block)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *silent) restore() {
	l.t.Helper()
	if err := errors.Join(os.Remove(l.block), os.Rename(l.kept(), l.block)); err != nil {
		l.t.Fatal(err)
	}
}

// end stops the log, and checks that the block has not changed.
func (l *silent) end() {
	l.t.Helper()
	if err := l.stop(); err != nil {
		l.t.Error(err)
	}
	unchanged(l.t, l.block, l.bytes)
}

// append appends a new aggregate's event.
func (l *silent) append(ctx context.Context) error {
	return l.s.Append(ctx, draft(l.t, l.s, newKey(), nil, added{}))
}

// pipe makes a pipe without a writer: a file that does not answer.
func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }

// beingRead returns when somebody reads a pipe, which waits until the returned writer is closed.
func beingRead(t *testing.T, path string) (writer *os.File) {
	t.Helper()
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return writer
}

// TestEndDuringALook: the store closes, or the caller stops waiting, while the guard looks at the
// newest block before a group is sent, and the disk does not answer. The append is refused at once:
// its group is not sent.
func TestEndDuringALook(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]bool{"the store closes": true, "the caller stops waiting": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newSilent(t)
			l.replace(pipe)
			ctx, stop := context.WithCancel(testContext(t))
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- l.append(ctx) }()
			disk := beingRead(t, l.block)
			if closes {
				if err := l.s.Close(); err != nil {
					t.Error(err)
				}
			} else {
				stop()
			}
			if err := <-ended; !errors.Is(err, eventstore.ErrRefused) || errors.Is(err, eventstore.ErrUnknown) {
				t.Errorf("an append: %v", err)
			}
			l.restore()
			if err := disk.Close(); err != nil {
				t.Error(err)
			}
			l.end()
		})
	}
}

// TestAppendWithoutALook: the newest block cannot be opened before a group is sent. The append is
// refused, because the block may be damaged; the shard is not. When the block can be read, appends
// go on.
func TestAppendWithoutALook(t *testing.T) {
	t.Parallel()
	l := newSilent(t)
	l.replace(func(path string) error { return os.Symlink(path, path) })
	for range 2 {
		if err := l.append(testContext(t)); !errors.Is(err, eventstore.ErrRefused) || !errors.Is(err, syscall.ELOOP) {
			t.Errorf("an append: %v", err)
		}
	}
	unchanged(t, l.kept(), l.bytes)
	if err := l.s.Healthy(); err != nil {
		t.Error(err)
	}
	l.restore()
	if err := errors.Join(l.append(testContext(t)), l.stop()); err != nil {
		t.Error(err)
	}
}

// TestDamageOfALateLook: the disk reports a bad sector of the newest block when nobody waits for
// the look any more. The next append is refused because of it, without another look.
func TestDamageOfALateLook(t *testing.T) {
	t.Parallel()
	l := newSilent(t)
	l.s.ForgetGroups()
	l.replace(func(path string) error { return os.Symlink("/proc/self/mem", path) })
	slow := filepath.Join(filepath.Dir(l.block), "0.blk") // it is looked at first
	if err := pipe(slow); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- l.s.Groups(ctx, 0, 1, 1, func(*format.Group) error { return nil }) }()
	disk := beingRead(t, slow)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a read: %v", err)
	}
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
	if err := l.append(testContext(t)); !errors.Is(err, eventstore.ErrRefused) || !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("an append: %v", err)
	}
	if err := os.Remove(slow); err != nil {
		t.Error(err)
	}
	l.restore()
	l.end()
}

// TestSendWithoutAConnection: the connection is closed while the guard looks at the newest block
// before a group is sent. Nothing of the group leaves, so the append is refused; its outcome is not
// unknown.
func TestSendWithoutAConnection(t *testing.T) {
	t.Parallel()
	l := newSilent(t)
	l.replace(pipe)
	ended := make(chan error, 1)
	go func() { ended <- l.append(testContext(t)) }()
	disk := beingRead(t, l.block)
	l.s.Conn().Close()
	l.restore()
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, eventstore.ErrRefused) || errors.Is(err, eventstore.ErrUnknown) {
		t.Errorf("an append: %v", err)
	}
	l.end()
}
