package eventstore

import "payledger/domain/payment"

// About the bytes of memory that an operation, a key hash, details without their texts and an item of an order take.
const operationSize, keySize, detailsSize, itemSize = 600, 80, 600, 400

// preferencesSize is about what the options of a payment method take in memory at most (D21).
const preferencesSize = 32 << 10

// weight estimates the memory that what left the event's state takes, in bytes. Recorded events share it.
func (r *Recorded) weight() int {
	s, ok := r.state.(payment.State)
	if !ok || s.Past == nil {
		return 0
	}
	n := s.Past.Operations*operationSize + s.Past.KeyHashes*keySize
	if d := s.Past.Details; d != nil {
		n += detailsSize
		if d.Order != nil {
			n += itemSize * len(d.Order.LineItems)
		}
		if d.Preferences != nil {
			n += preferencesSize
		}
		if d.Personal != nil {
			n += len(d.Personal.Box)
		}
	}
	return n
}
