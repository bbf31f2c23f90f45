package workflows

import "time"

// InFlight counts the runs in memory.
func (e *Engine) InFlight() int {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return len(e.active.byID)
}

// Parked counts the runs that wait without a place.
func (e *Engine) Parked() int {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return len(e.active.parked.byID)
}

// SaveOften saves the position every quarter of a second, so a crash finds it as new as it can be;
// before Run.
func (e *Engine) SaveOften() { e.position.Events = 0 }

// SetPatience shortens how long an event is tried that cannot be read; before Run.
func (e *Engine) SetPatience(d time.Duration) { e.patience = d }
