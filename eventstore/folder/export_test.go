package folder

// Streams returns the number of streams in the guard's memory.
func (g *Guard) Streams() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.streams)
}
