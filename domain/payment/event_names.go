package payment

// Names of the events in the log (ce-type, I2).

func (Created) Type() string               { return "payment.created" }
func (Authorized) Type() string            { return "payment.authorized" }
func (Declined) Type() string              { return "payment.declined" }
func (AuthorizationPending) Type() string  { return "payment.authorization_pending" }
func (AuthorizationFailed) Type() string   { return "payment.authorization_failed" }
func (AuthorizationTimedOut) Type() string { return "payment.authorization_timed_out" }
func (AuthorizationRerouted) Type() string { return "payment.authorization_rerouted" }
func (ActionRequired) Type() string        { return "payment.action_required" }
func (Resumed) Type() string               { return "payment.resumed" }
func (CompletionFailed) Type() string      { return "payment.completion_failed" }
func (CompletionTimedOut) Type() string    { return "payment.completion_timed_out" }
func (CaptureRequested) Type() string      { return "payment.capture_requested" }
func (CaptureRefused) Type() string        { return "payment.capture_refused" }
func (Captured) Type() string              { return "payment.captured" }
func (CapturePending) Type() string        { return "payment.capture_pending" }
func (CaptureFailed) Type() string         { return "payment.capture_failed" }
func (CaptureTimedOut) Type() string       { return "payment.capture_timed_out" }
func (CancellationIntended) Type() string  { return "payment.cancellation_intended" }
func (VoidRequested) Type() string         { return "payment.void_requested" }
func (Voided) Type() string                { return "payment.voided" }
func (VoidPending) Type() string           { return "payment.void_pending" }
func (VoidFailed) Type() string            { return "payment.void_failed" }
func (VoidTimedOut) Type() string          { return "payment.void_timed_out" }
func (RefundRequested) Type() string       { return "payment.refund_requested" }
func (RefundRefused) Type() string         { return "payment.refund_refused" }
func (Refunded) Type() string              { return "payment.refunded" }
func (RefundPending) Type() string         { return "payment.refund_pending" }
func (RefundFailed) Type() string          { return "payment.refund_failed" }
func (RefundTimedOut) Type() string        { return "payment.refund_timed_out" }
func (AdjustmentRequested) Type() string   { return "payment.adjustment_requested" }
func (AdjustmentUnneeded) Type() string    { return "payment.adjustment_unneeded" }
func (Adjusted) Type() string              { return "payment.adjusted" }
func (AdjustmentPending) Type() string     { return "payment.adjustment_pending" }
func (AdjustmentFailed) Type() string      { return "payment.adjustment_failed" }
func (AdjustmentTimedOut) Type() string    { return "payment.adjustment_timed_out" }
func (KeyClaimed) Type() string            { return "payment.key_claimed" }
func (CapturedOutOfBand) Type() string     { return "payment.capture_found" }
func (VoidedOutOfBand) Type() string       { return "payment.void_found" }
func (RefundedOutOfBand) Type() string     { return "payment.refund_found" }
func (AdjustedOutOfBand) Type() string     { return "payment.adjustment_found" }

func (Answer) paymentEvent()               {}
func (NoAnswer) paymentEvent()             {}
func (OutOfBand) paymentEvent()            {}
func (Created) paymentEvent()              {}
func (Resumed) paymentEvent()              {}
func (CaptureRequested) paymentEvent()     {}
func (CaptureRefused) paymentEvent()       {}
func (CancellationIntended) paymentEvent() {}
func (VoidRequested) paymentEvent()        {}
func (RefundRequested) paymentEvent()      {}
func (RefundRefused) paymentEvent()        {}
func (AdjustmentRequested) paymentEvent()  {}
func (AdjustmentUnneeded) paymentEvent()   {}
func (KeyClaimed) paymentEvent()           {}
