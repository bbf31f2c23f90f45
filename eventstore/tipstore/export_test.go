package tipstore

// Memory returns how many bytes of memory the store uses, and the bytes of its files.
func (s *Store) Memory() (memory, disk uint64) {
	return s.db.memory()
}
