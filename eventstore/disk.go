package eventstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"payledger/eventstore/jetapi"
)

// ErrFull means that the disk is full: the store records no new request until there is room. Reads continue.
var ErrFull = errors.New("read-only: disk full")

// Space on the disk of an embedded server. The store refuses requests first, so that outcomes of earlier requests still fit.
// If other programs fill the disk, the store removes a file, the ballast, to make room for outcomes.
const (
	// requestSpace is the free space, in bytes, below which no new request is recorded.
	requestSpace = 64 << 20
	// outcomeSpace is the free space below which nothing is recorded.
	outcomeSpace = 16 << 20
	// ballastSpace is the size of the ballast. The store makes it again when twice requestSpace is free beside it.
	ballastSpace = 48 << 20
	ballastFile  = "ballast"
	// startSpace is the space that a start needs. A start on a full disk removes a file of three quarters of it.
	startSpace = 8 << 20
	startFile  = "ballast-start"
	// measureEvery is the interval of measurements of the disk without appends.
	measureEvery = time.Second
	// After a measurement with muchSpace free, in bytes, appends measure again only after muchFor: no disk fills that fast.
	muchSpace = 1 << 30
	muchFor   = 20 * time.Millisecond
)

// disk watches the space of one folder.
type disk struct {
	dir  string // "": none is watched
	free func(dir string) (uint64, error)
	low  atomic.Bool  // no new requests
	none atomic.Bool  // nothing at all
	next atomic.Int64 // Unix time in nanoseconds of the next measurement by an append
}

// look measures the disk for an append, unless next is in the future.
func (d *disk) look() {
	if time.Now().UnixNano() >= d.next.Load() {
		d.measure()
	}
}

// measure reads the free space, and removes the ballast if outcomes need its space.
func (d *disk) measure() {
	if d.dir == "" {
		return
	}
	free, err := d.free(d.dir)
	if err != nil {
		return // the next write reports the fault
	}
	if free < outcomeSpace && os.Remove(filepath.Join(d.dir, ballastFile)) == nil {
		if free, err = d.free(d.dir); err != nil {
			return
		}
	}
	_, err = os.Stat(filepath.Join(d.dir, ballastFile))
	d.low.Store(free < requestSpace || err != nil && free < requestSpace+ballastSpace)
	d.none.Store(free < outcomeSpace)
	if free >= muchSpace {
		d.next.Store(time.Now().Add(muchFor).UnixNano())
	}
}

// writable reports whether there is any room to write.
func (d *disk) writable() bool {
	free, err := d.free(d.dir)
	return err != nil || free >= 1<<20
}

// begin makes room for a start on a full disk.
func (d *disk) begin() {
	if free, err := d.free(d.dir); err == nil && free < startSpace {
		_ = os.Remove(filepath.Join(d.dir, startFile)) // if it cannot be removed, the start fails with the error of the disk
	}
	d.measure()
}

// lay makes the two files of ballast if there is room.
func (d *disk) lay() error {
	if d.dir == "" {
		return nil
	}
	return errors.Join(d.layFile(startFile, startSpace*3/4, startSpace*3/4), d.layFile(ballastFile, ballastSpace, 2*requestSpace+ballastSpace))
}

// layFile makes a file of n bytes if at least when bytes are free.
func (d *disk) layFile(name string, n int64, when uint64) error {
	path := filepath.Join(d.dir, name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if free, err := d.free(d.dir); err != nil || free < when {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(reserve(f, n), f.Close())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("eventstore: ballast: %w", err), os.Remove(path))
	}
	return nil
}

// noRoom reports whether the disk of an embedded server is too full for any record.
func (s *Store) noRoom() bool {
	s.disk.look()
	return s.disk.none.Load()
}

// room returns ErrRefused while nothing can be written: on a full disk the server stops all its streams for good.
func (s *Store) room() error {
	full := s.noRoom()
	if s.starting.Load() { // a start may use the space of its ballast
		full = s.disk.dir != "" && !s.disk.writable()
	}
	if full {
		return fmt.Errorf("%w: %w", ErrRefused, ErrFull)
	}
	return nil
}

// Full returns ErrFull while the disk has no room for new requests.
func (s *Store) Full() error {
	if s.disk.low.Load() {
		return ErrFull
	}
	return nil
}

// measure looks at the space of an embedded server's disk, or at the limit of an external server's account.
func (s *Store) measure(ctx context.Context) {
	if s.embedded != nil {
		s.disk.measure()
		if err := s.disk.lay(); err != nil && !s.readOnly {
			s.log.Warn().Err(err).Msg("no space could be set aside for outcomes")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, jetapi.ReadTimeout)
	defer cancel()
	info, err := s.js.AccountInfo(ctx)
	if err != nil || info.Limits.MaxStore <= 0 {
		return
	}
	s.disk.low.Store(float64(info.Store) > float64(info.Limits.MaxStore)*fullPercent/100)
}
