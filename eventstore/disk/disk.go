package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// MeasureEvery is the interval of measurements without appends.
const MeasureEvery = time.Second

const (
	// requestSpace is the free space, in bytes, below which no new request is recorded.
	requestSpace = 64 << 20
	// outcomeSpace is the free space below which nothing is recorded.
	outcomeSpace = 16 << 20
	ballastFile  = "ballast"
	// startSpace is the space that a start needs.
	startSpace = 8 << 20
	startFile  = "ballast-start"
	// After a measurement with muchSpace free, in bytes, appends measure again only after muchFor:
	// no disk fills that fast.
	muchSpace = 1 << 30
	muchFor   = 20 * time.Millisecond
)

// The sizes of the two files of ballast, in bytes. Tests of many small logs make them smaller.
var (
	// BallastSpace is for outcomes. The store makes the file again when twice requestSpace is free
	// beside it.
	BallastSpace uint64 = 48 << 20
	// StartBallastSpace is for a start on a full disk, which removes the file.
	StartBallastSpace uint64 = startSpace * 3 / 4
)

// Space is the space of one folder. The zero value watches no folder, and has room.
type Space struct {
	Dir  string
	low  atomic.Bool  // no new requests
	none atomic.Bool  // nothing at all
	next atomic.Int64 // Unix time in nanoseconds of the next measurement by an append
}

// Full reports whether the disk of a folder has no room for a record.
func Full(dir string) bool {
	d := Space{Dir: dir}
	return d.None()
}

// Look measures the space for an append, unless a measurement found much space a moment ago.
func (d *Space) Look() {
	if time.Now().UnixNano() >= d.next.Load() {
		d.Measure()
	}
}

// None reports whether there is no room for any record. It looks first.
func (d *Space) None() bool {
	d.Look()
	return d.none.Load()
}

// Low reports whether there is no room for new requests, by the newest measurement.
func (d *Space) Low() bool { return d.low.Load() }

// SetLow notes a measurement of another kind: the use of an external server's limit.
func (d *Space) SetLow(low bool) { d.low.Store(low) }

// Measure reads the free space, and removes the ballast if outcomes need its space.
func (d *Space) Measure() {
	if d.Dir == "" {
		return
	}
	free, err := freeSpace(d.Dir)
	if err != nil {
		return // the next write reports the fault
	}
	if free < outcomeSpace && os.Remove(filepath.Join(d.Dir, ballastFile)) == nil {
		if free, err = freeSpace(d.Dir); err != nil {
			return
		}
	}
	_, err = os.Stat(filepath.Join(d.Dir, ballastFile))
	d.low.Store(free < requestSpace || err != nil && free < requestSpace+BallastSpace)
	d.none.Store(free < outcomeSpace)
	if free >= muchSpace {
		d.next.Store(time.Now().Add(muchFor).UnixNano())
	}
}

// Writable reports whether there is any room to write.
func (d *Space) Writable() bool {
	free, err := freeSpace(d.Dir)
	return err != nil || free >= 1<<20
}

// MakeRoom makes room for a start on a full disk.
func (d *Space) MakeRoom() {
	if free, err := freeSpace(d.Dir); err == nil && free < startSpace {
		_ = os.Remove(filepath.Join(d.Dir, startFile)) // if it cannot be removed, the start fails with the error of the disk
	}
	d.Measure()
}

// Lay makes the two files of ballast if there is room.
func (d *Space) Lay() error {
	if d.Dir == "" {
		return nil
	}
	return errors.Join(d.layFile(startFile, StartBallastSpace, StartBallastSpace), d.layFile(ballastFile, BallastSpace, 2*requestSpace+BallastSpace))
}

// layFile makes a file of n bytes if at least when bytes are free.
func (d *Space) layFile(name string, n, when uint64) error {
	path := filepath.Join(d.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if free, err := freeSpace(d.Dir); err != nil || free < when {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(reserve(f, int64(n)), f.Close())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("eventstore: ballast: %w", err), os.Remove(path))
	}
	return nil
}
