package eventstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// ErrFull means that the disk is full: nothing new is recorded until there is room. Reads go on.
var ErrFull = errors.New("read-only: disk full")

// Space on the disk of an embedded server. Requests end first, so that outcomes of what was requested before still fit;
// a file of ballast is given up for them when others have filled the disk.
const (
	// requestSpace is the free space, in bytes, below which no new request is recorded.
	requestSpace = 64 << 20
	// outcomeSpace is the free space below which nothing is recorded.
	outcomeSpace = 16 << 20
	// ballastSpace is the size of the ballast; it is laid down again when twice as much as requests need is free.
	ballastSpace = 48 << 20
	ballastFile  = "ballast"
	// startSpace is what a start on a full disk needs. A file of three quarters of it is given up then, and made again.
	startSpace = 8 << 20
	startFile  = "ballast-start"
	// measureEvery is how often the disk is measured while nothing is appended.
	measureEvery = time.Second
	// With muchSpace free, in bytes, appends look again only after muchFor: no disk is filled that fast.
	muchSpace = 1 << 30
	muchFor   = 20 * time.Millisecond
)

// disk watches the space of one folder.
type disk struct {
	dir  string // "": not ours to watch
	free func(dir string) (uint64, error)
	low  atomic.Bool  // no new requests
	none atomic.Bool  // nothing at all
	next atomic.Int64 // Unix time in nanoseconds before which an append need not look: there was much room
}

// look measures the disk for an append, unless there was much room a moment ago.
func (d *disk) look() {
	if time.Now().UnixNano() >= d.next.Load() {
		d.measure()
	}
}

// measure looks at the free space, and gives the ballast up when outcomes need it.
func (d *disk) measure() {
	if d.dir == "" {
		return
	}
	free, err := d.free(d.dir)
	if err != nil {
		return // the next write tells
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

// begin makes room for a start.
func (d *disk) begin() {
	if free, err := d.free(d.dir); err == nil && free < startSpace {
		_ = os.Remove(filepath.Join(d.dir, startFile)) // if it cannot be removed, the start fails with the error of the disk
	}
	d.measure()
}

// lay lays the ballast down if there is room.
func (d *disk) lay() error {
	if d.dir == "" {
		return nil
	}
	return errors.Join(d.layFile(startFile, startSpace*3/4, startSpace*3/4), d.layFile(ballastFile, ballastSpace, 2*requestSpace+ballastSpace))
}

// layFile makes a file that takes n bytes of the disk if so many are free.
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

// noRoom reports whether the disk of an embedded server is so full that nothing is written.
func (s *Store) noRoom() bool {
	s.disk.look()
	return s.disk.none.Load()
}

// room returns ErrRefused while nothing can be written: a server that meets a full disk stops all its streams for good.
func (s *Store) room() error {
	full := s.noRoom()
	if s.starting.Load() { // a start has room of its own
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
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	info, err := s.js.AccountInfo(ctx)
	if err != nil || info.Limits.MaxStore <= 0 {
		return
	}
	s.disk.low.Store(float64(info.Store) > float64(info.Limits.MaxStore)*fullPercent/100)
}
