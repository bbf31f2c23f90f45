package tipstore

import "io"

// Memory returns how many bytes of memory the store uses, and the bytes of its files.
func (s *Store) Memory() (memory, disk uint64) {
	return s.db.memory()
}

// Count makes the store count its reads of Pebble.
func (s *Store) Count() (reads *int) {
	reads = new(int)
	s.db = counting{s.db, reads}
	return reads
}

type counting struct {
	engine
	reads *int
}

func (c counting) Get(key []byte) ([]byte, io.Closer, error) { *c.reads++; return c.engine.Get(key) }
func (c counting) search() (iterator, error)                 { *c.reads++; return c.engine.search() }
func (c counting) snapshot() snapshot                        { return countingView{c.engine.snapshot(), c.reads} }

type countingView struct {
	snapshot
	reads *int
}

func (c countingView) Get(key []byte) ([]byte, io.Closer, error) {
	*c.reads++
	return c.snapshot.Get(key)
}

func (c countingView) between(from, before []byte) (iterator, error) {
	*c.reads++
	return c.snapshot.between(from, before)
}
