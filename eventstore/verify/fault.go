package verify

import (
	"fmt"

	"payledger/eventstore/format"
)

// Fault is a difference between the log as it stands and the log as it must be.
type Fault struct {
	Stream     string `json:"stream,omitempty"`
	Sequence   uint64 `json:"sequence,omitempty"`
	Aggregate  string `json:"aggregate,omitempty"` // payment, session …
	ID         string `json:"id,omitempty"`        // of the aggregate
	Revision   uint64 `json:"revision,omitempty"`
	Difference string `json:"difference"`
}

// String returns one line.
func (f Fault) String() string {
	var text string
	if f.Stream != "" {
		text = f.Stream
		if f.Sequence > 0 {
			text += fmt.Sprintf(" at sequence %d", f.Sequence)
		}
		text += ": "
	}
	if f.ID != "" {
		text += fmt.Sprintf("%s %s", f.Aggregate, f.ID)
		if f.Revision > 0 {
			text += fmt.Sprintf(" revision %d", f.Revision)
		}
		text += ": "
	}
	return text + f.Difference
}

func faultAt(stream string, key format.Key, seq, revision uint64, difference string, args ...any) Fault {
	return Fault{
		Stream: stream, Sequence: seq, Aggregate: key.Aggregate, ID: key.ID, Revision: revision,
		Difference: fmt.Sprintf(difference, args...),
	}
}

func of(stream string, r *format.Recorded, difference string, args ...any) Fault {
	return faultAt(stream, r.Key, format.GroupOf(r.Seq), r.Revision, difference, args...)
}
