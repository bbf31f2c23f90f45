package nodes

// Wanted reports whether Serve was called.
func (r *Registry) Wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// Owes returns the number of positions that other nodes wait for.
func (r *Registry) Owes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.owed)
}
