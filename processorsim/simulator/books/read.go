package books

import (
	"payledger/processorsim/protocol"
)

const chunk = 512

// Entries calls yield with every operation that f selects, in order of creation, until yield
// returns an error. Operations written before the call are durable then. yield runs without a lock.
func (b *Books) Entries(f protocol.Filter, yield func(protocol.Entry) error) error {
	b.mu.Lock()
	all, last := b.order, b.last
	if f.Reference != "" {
		all = b.byReference[f.Reference]
	}
	b.mu.Unlock()
	if err := last.Wait(); err != nil {
		return err
	}
	entries := make([]protocol.Entry, 0, min(chunk, len(all)))
	for start := 0; start < len(all); start += chunk {
		entries = entries[:0]
		b.mu.Lock()
		for _, o := range all[start:min(start+chunk, len(all))] {
			if f.Matches(o.Processor, o.Reference, o.CreatedAt) {
				entries = append(entries, protocol.Entry{Line: o.Line(), Final: o.Final, Answer: o.newest()})
			}
		}
		b.mu.Unlock()
		for _, e := range entries {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}
