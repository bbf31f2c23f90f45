package dispute

import (
	"slices"

	"payledger/domain/processor"
)

// Place is a stage of a dispute with its status.
type Place struct {
	Type   processor.DisputeType
	Status processor.DisputeStatus
}

func (p Place) String() string { return string(p.Type) + " " + string(p.Status) }

// steps lists the statuses that may follow a status of the same type (D16).
var steps = map[processor.DisputeType]map[processor.DisputeStatus][]processor.DisputeStatus{
	processor.Retrieval: {
		processor.DisputeOpen:       {processor.DisputeChallenged, processor.DisputeExpired, processor.DisputeCancelled},
		processor.DisputeChallenged: nil, processor.DisputeExpired: nil, processor.DisputeCancelled: nil,
	},
	processor.Chargeback:     decided,
	processor.Prearbitration: decided,
}

var decided = map[processor.DisputeStatus][]processor.DisputeStatus{
	processor.DisputeOpen: {
		processor.DisputeAccepted, processor.DisputeExpired, processor.DisputeCancelled, processor.DisputeChallenged,
	},
	processor.DisputeChallenged: {processor.DisputeWon, processor.DisputeLost},
	processor.DisputeAccepted:   nil, processor.DisputeExpired: nil, processor.DisputeCancelled: nil,
	processor.DisputeWon: nil, processor.DisputeLost: nil,
}

// Known reports whether the type can have the status.
func (p Place) Known() bool {
	_, known := steps[p.Type][p.Status]
	return known
}

// next returns the places that may follow in one step. A type begins with OPEN (D16).
func (p Place) next() []Place {
	var out []Place
	for _, status := range steps[p.Type][p.Status] {
		out = append(out, Place{p.Type, status})
	}
	escalates := p.Status == processor.DisputeLost || p.Status == processor.DisputeChallenged
	switch {
	case p.Type == processor.Retrieval:
		out = append(out, Place{processor.Chargeback, processor.DisputeOpen})
	case p.Type == processor.Chargeback && escalates:
		out = append(out, Place{processor.Prearbitration, processor.DisputeOpen})
	}
	return out
}

// LeadsTo reports whether there follows p in any number of steps, or equals p.
func (p Place) LeadsTo(there Place) bool {
	return p == there || slices.ContainsFunc(p.next(), func(next Place) bool { return next.LeadsTo(there) })
}
