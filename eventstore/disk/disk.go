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
	// ballastSpace is the size of the ballast. The store makes it again when twice requestSpace is free beside it.
	ballastSpace = 48 << 20
	ballastFile  = "ballast"
	// startSpace is the space that a start needs. A start on a full disk removes a file of three quarters of it.
	startSpace = 8 << 20
	startFile  = "ballast-start"
	// After a measurement with muchSpace free, in bytes, appends measure again only after muchFor: no disk fills that fast.
	muchSpace = 1 << 30
	muchFor   = 20 * time.Millisecond
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
	d.low.Store(free < requestSpace || err != nil && free < requestSpace+ballastSpace)
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
	return errors.Join(d.layFile(startFile, startSpace*3/4, startSpace*3/4), d.layFile(ballastFile, ballastSpace, 2*requestSpace+ballastSpace))
}

// layFile makes a file of n bytes if at least when bytes are free.
func (d *Space) layFile(name string, n int64, when uint64) error {
	path := filepath.Join(d.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if free, err := freeSpace(d.Dir); err != nil || free < when {
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
