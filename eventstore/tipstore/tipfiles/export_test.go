package tipfiles

import (
	"io"

	"github.com/cockroachdb/pebble/v2"

	"payledger/eventstore/tipstore"
)

// OpenWatched opens a store. It returns the metrics of Pebble, and the number of reads of Pebble.
func OpenWatched(o tipstore.Options) (s *tipstore.Store, metrics func() *pebble.Metrics, reads *int, err error) {
	w := &watched{reads: new(int)}
	s, err = tipstore.Open(o, w)
	return s, func() *pebble.Metrics { return w.db.Metrics() }, w.reads, err
}

type watched struct {
	library
	db    *pebble.DB
	reads *int
}

func (w *watched) Open(dir string, o tipstore.Options, to tipstore.Events) (tipstore.DB, error) {
	db, err := w.library.Open(dir, o, to)
	if err != nil {
		return nil, err
	}
	w.db = db.(database).db
	return counting{db, w.reads}, nil
}

type counting struct {
	tipstore.DB
	reads *int
}

func (c counting) Get(key []byte) ([]byte, io.Closer, error) { *c.reads++; return c.DB.Get(key) }
func (c counting) Search() (tipstore.Iterator, error)        { *c.reads++; return c.DB.Search() }
func (c counting) NewSnapshot() tipstore.Snapshot {
	return countingView{c.DB.NewSnapshot(), c.reads}
}

type countingView struct {
	tipstore.Snapshot
	reads *int
}

func (c countingView) Get(key []byte) ([]byte, io.Closer, error) {
	*c.reads++
	return c.Snapshot.Get(key)
}

func (c countingView) Range(from, before []byte) (tipstore.Iterator, error) {
	*c.reads++
	return c.Snapshot.Range(from, before)
}
