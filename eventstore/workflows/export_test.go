package workflows

import "time"

// InFlight counts the runs in memory.
func (e *Engine) InFlight() int {
	e.inFlight.mu.Lock()
	defer e.inFlight.mu.Unlock()
	return len(e.inFlight.by)
}

// Parked counts the runs that wait without a place.
func (e *Engine) Parked() int {
	e.inFlight.mu.Lock()
	defer e.inFlight.mu.Unlock()
	return len(e.inFlight.parked.by)
}

// SetPatience shortens how long an event is tried that cannot be read; before Run.
func (e *Engine) SetPatience(d time.Duration) { e.patience = d }
