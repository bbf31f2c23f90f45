package tipstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// markIfCorrupt marks the folder as damaged if a file is not as it was written. The next start then
// rebuilds the store.
func (s *Store) markIfCorrupt(err error) error {
	if err == nil {
		return nil
	}
	if s.library.IsCorruption(err) || errors.Is(err, os.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.Condemn()
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("tipstore: %w", err)
}

// damages are the look-ups that met damage. Pebble searches a damaged block for a flipped bit: up
// to a second of CPU time, each time. Until the restart that makes the store again, such a look-up
// gets its error at once when it comes again, unless its key was written again meanwhile.
type damages struct {
	some atomic.Bool
	mu   sync.Mutex
	errs map[span]error
}

// span is a key, or a range of keys.
type span struct{ from, before string }

const maxDamages = 1024 // look-ups; then all are forgotten, and met again

func (d *damages) find(from, before []byte) error {
	if !d.some.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errs[span{string(from), string(before)}]
}

// met returns the error of a look-up, and notes it if it is damage.
func (s *Store) met(from, before []byte, err error) error {
	if err = s.markIfCorrupt(err); !errors.Is(err, ErrDamaged) {
		return err
	}
	d := &s.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.errs == nil || len(d.errs) == maxDamages {
		d.errs = map[span]error{}
	}
	d.errs[span{string(from), string(before)}] = err
	d.some.Store(true)
	return err
}

// written forgets the look-up of a key that is written again: the new value lies in another block.
func (d *damages) written(key []byte) {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.errs, span{from: string(key)})
}

// Condemn marks the store as damaged: the next Open returns ErrDamaged.
func (s *Store) Condemn() {
	if s.dir != "" {
		// Without the mark the next start or a later read detects the damage.
		_ = os.WriteFile(filepath.Join(s.dir, damagedMark), nil, 0o600)
	}
}

// retryPause is the wait before a failed background write is repeated: Pebble itself does not wait.
const retryPause = 50 * time.Millisecond

func (s *Store) retried(err error) {
	s.park()
	defer s.park()
	select {
	case s.broken <- err:
	default:
	}
	s.report(err)
	if s.hurried.Load() && s.stalled.Load() {
		s.losing.Do(func() {
			s.failure = err
			s.stop(s.lost)
		})
	}
	<-time.After(retryPause)
}

// park holds up the background writes of a store whose files Close has left open.
func (s *Store) park() {
	if s.left.Load() {
		select {}
	}
}

// stop closes a channel for which calls and Close wait.
func (s *Store) stop(c chan struct{}) {
	close(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.Broadcast()
}

// patient reports whether a write on a full disk waits, and a fatal error stops the process.
func (s *Store) patient() bool { return s.opened.Load() && !s.hurried.Load() }

// waitForRoom waits until the disk has room, or Hurry is called.
func (s *Store) waitForRoom() {
	for s.patient() && !s.room() {
		<-time.After(retryPause)
	}
}

// write runs a call that Pebble may hold up while its background writes fail. The wait ends with
// the first of these failures after Hurry, and with a failure that failed delivers; the call itself
// may end later.
func (s *Store) write(failed <-chan error, call func() error) error {
	if !s.enter() {
		return ErrClosed
	}
	if over(s.lost) {
		s.leave()
		return s.failure
	}
	done := make(chan error, 1)
	go func() {
		defer s.leave()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case err := <-failed:
		return err
	case <-s.lost:
		return s.failure
	case <-s.ended:
		return s.end
	}
}

func (s *Store) report(err error) {
	err = s.markIfCorrupt(err)
	if s.failed != nil {
		s.failed(err)
	}
}

// corrupt marks the folder. Pebble would end the process at a damaged file; here the read of the
// file returns ErrDamaged.
func (s *Store) corrupt(path string, details error) {
	s.Condemn()
	if s.failed != nil {
		s.failed(fmt.Errorf("%w: %s: %w", ErrDamaged, path, details))
	}
}

// fail stops the store after a failure after which its files cannot be used. It never returns: a
// goroutine of the library would go on.
func (s *Store) fail(err error) {
	s.report(err)
	if s.fatal != nil && s.patient() {
		s.fatal(err)
	}
	s.ending.Do(func() {
		s.end = err
		s.stop(s.ended)
	})
	select {}
}

// events are the Events of a store.
type events struct{ s *Store }

func (e events) Retried(err error)                  { e.s.retried(err) }
func (e events) Corrupt(path string, details error) { e.s.corrupt(path, details) }
func (e events) Stalled(held bool)                  { e.s.stalled.Store(held) }
func (e events) WaitForRoom()                       { e.s.waitForRoom() }
func (e events) Fatal(err error)                    { e.s.fail(err) }

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Remedy returns the advice for an error of a read. It condemns a damaged store.
func (s *Store) Remedy(err error) string {
	if !errors.Is(err, ErrDamaged) {
		return "check its disk, and restart the service"
	}
	s.Condemn()
	return "a restart makes it again from the log"
}
