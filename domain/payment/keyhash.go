package payment

// KeyHashOf gives the idempotency key that a capture, cancellation or refund was asked for with, as the payment
// remembers it (D9); "" for any other event.
func KeyHashOf(e Event) string {
	switch e := e.(type) {
	case CaptureRequested:
		return e.KeyHash
	case CaptureRefused:
		return e.KeyHash
	case CancellationIntended:
		return e.KeyHash
	case VoidRequested:
		return e.KeyHash
	case RefundRequested:
		return e.KeyHash
	case RefundRefused:
		return e.KeyHash
	default:
		return ""
	}
}
