package tipstore

import "fmt"

// Batch collects writes that take effect together.
type Batch struct {
	s *Store
	b Writes
}

// NewBatch returns an empty batch.
func (s *Store) NewBatch() Batch { return s.NewBatchOf(0) }

// NewBatchOf returns an empty batch with room for a number of bytes, so that it does not double its
// memory again and again.
func (s *Store) NewBatchOf(size int) Batch { return Batch{s, s.db.NewBatch(size)} }

// Set adds a write.
func (b Batch) Set(key, value []byte) error {
	b.s.damages.written(key)
	return b.b.Set(key, value)
}

// Delete removes a key.
func (b Batch) Delete(key []byte) error {
	b.s.damages.written(key)
	return b.b.Delete(key)
}

// Len is the size of the batch, in bytes.
func (b Batch) Len() int { return b.b.Len() }

// Commit makes the batch visible. It is on the disk after the next Flush.
func (b Batch) Commit() error {
	if err := b.s.write(nil, b.b.Commit); err != nil {
		return fmt.Errorf("tipstore: %w", err)
	}
	return nil
}
