package history

import (
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/projections/paymentjson"
)

// Waiting is an open operation after an event. It waits for its processor (D8) or, in the state
// ACTION, for the customer (D7).
type Waiting struct {
	Operation processor.Kind         `json:"operation"`
	Key       domain.OperationKey    `json:"key"`      // of the operation at its processor (D14.2)
	Revision  uint64                 `json:"revision"` // of the event that requested it
	State     payment.OperationState `json:"state"`
	Since     paymentjson.Time       `json:"since"`               // the time of the request, or of the event that required the action
	ExpiresAt *paymentjson.Time      `json:"expiresAt,omitempty"` // of an action: the time at which it expires
	AskedNext *paymentjson.Time      `json:"askedNext,omitempty"` // newest entry of a running server: the time of the next query
}

func waiting(s payment.State) []Waiting {
	var list []Waiting
	for _, op := range process.Open(s) {
		list = append(list, Waiting{
			Operation: op.Kind, Key: s.OperationKey(op.Revision), Revision: op.Revision, State: op.State,
			Since: paymentjson.Time{Time: op.RequestedAt},
		})
	}
	if action := s.RequiredAction(); action != nil {
		held, _ := s.Operation(action.Revision)
		list = append(list, Waiting{
			Operation: held.Kind, Key: s.OperationKey(held.Revision), Revision: held.Revision, State: held.State,
			Since: paymentjson.Time{Time: requiredSince(held)}, ExpiresAt: &paymentjson.Time{Time: action.ExpiresAt},
		})
	}
	return list
}

func requiredSince(held payment.Operation) (since time.Time) {
	for _, a := range held.Answers {
		if a.State == payment.StateAction {
			since = a.At
		}
	}
	return since
}

func (h *Reader) schedule(newest *Entry) {
	if h.NextLookup == nil {
		return
	}
	for i := range newest.Waiting {
		requested := newest.Waiting[i].Since.Time
		if newest.Waiting[i].ExpiresAt != nil {
			requested = time.Time{} // the operation waits for the customer
		}
		if at, known := h.NextLookup(newest.Waiting[i].Key, requested); known && !at.IsZero() {
			newest.Waiting[i].AskedNext = &paymentjson.Time{Time: at}
		}
	}
}
