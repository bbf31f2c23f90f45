package payment

import "time"

// Evolve folds one event into the state. It cannot fail: an event is a fact. An event that it does not
// know leaves the state as it is; the codec refuses those before they get here.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Created:
		return s.created(e).at(e.At)
	case Authorized:
		return s.answered(e.Answer, StateSucceeded, "").at(e.At)
	case Declined:
		return s.answered(e.Answer, StateDeclined, "").at(e.At)
	case AuthorizationPending:
		return s.answered(e.Answer, StatePending, "").at(e.At)
	case AuthorizationFailed:
		return s.answered(e.Answer, StateFailed, e.Failure).at(e.At)
	case AuthorizationTimedOut:
		return s.withOperation(e.Request, func(op *Operation) { op.State = StateUnknown }).at(e.At)
	}
	return s
}

// at moves dateUpdated forward; it never goes back, whatever two nodes' clocks say (§6.1: receivers
// compare it to find the newest state).
func (s State) at(t time.Time) State {
	if !t.After(s.UpdatedAt) {
		t = s.UpdatedAt.Add(time.Microsecond)
	}
	s.UpdatedAt = t
	return s
}
