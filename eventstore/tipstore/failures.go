package tipstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// damaged marks the folder when err means that a file does not hold what was written, so that the next start makes
// the store again.
func (s *Store) damaged(err error) error {
	if err == nil {
		return nil
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.Condemn()
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("tipstore: %w", err)
}

// Condemn marks the store as damaged: the next Open returns ErrDamaged.
func (s *Store) Condemn() {
	if s.dir != "" {
		// Without the mark the next start finds the damage by itself, or a read does.
		_ = os.WriteFile(filepath.Join(s.dir, damagedMark), nil, 0o600)
	}
}

// retryPause is the wait before a background write that failed is tried again: Pebble itself does not wait.
const retryPause = 50 * time.Millisecond

// retried reports a background write that failed, and slows its next try down.
func (s *Store) retried(err error) {
	select {
	case s.broken <- err:
	default:
	}
	s.report(err)
	<-time.After(retryPause)
}

func (s *Store) report(err error) {
	err = s.damaged(err)
	if s.failed != nil {
		s.failed(err)
	}
}

// corrupt marks the folder. Pebble's own answer to a damaged file would be to end the process; here the read that met
// it returns ErrDamaged.
func (s *Store) corrupt(info pebble.DataCorruptionInfo) {
	s.Condemn()
	if s.failed != nil {
		s.failed(fmt.Errorf("%w: %s: %w", ErrDamaged, info.Path, info.Details))
	}
}

// logger drops Pebble's messages, but for what it cannot go on after.
type logger struct{ s *Store }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf reports a failure that Pebble cannot go on after, and never returns, as Pebble expects: the process stops.
func (l logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("tipstore: "+format, args...)
	l.s.report(err)
	if l.s.fatal != nil && l.s.patient.Load() {
		l.s.fatal(err)
	}
	l.s.once.Do(func() {
		l.s.end = err
		close(l.s.ended)
	})
	select {}
}
