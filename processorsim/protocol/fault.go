package protocol

import (
	"errors"
	"fmt"
	"slices"

	"payledger/domain/processor"
)

// Mode is a way in which a processor misbehaves on demand (D14.13).
type Mode string

const (
	Latency               Mode = "latency"                // wait DelayMs, then go on
	TechnicalError        Mode = "error"                  // answer FAILED, retryable; nothing was done
	DropBefore            Mode = "drop_before"            // cut the connection, nothing recorded
	DropAfter             Mode = "drop_after"             // record durably, then cut
	DuplicateNotification Mode = "duplicate_notification" // send the notification twice
	Reorder               Mode = "reorder"                // let the next notification overtake this one
)

// Modes lists every mode.
var Modes = []Mode{Latency, TechnicalError, DropBefore, DropAfter, DuplicateNotification, Reorder}

// Kinds lists every operation (D14.16).
var Kinds = []processor.Kind{
	processor.Authorize, processor.Complete, processor.Capture,
	processor.Void, processor.Refund, processor.Adjust,
}

// Fault is an order to misbehave: `POST /sim/faults`.
type Fault struct {
	Processor processor.Name `json:"processor,omitempty"` // empty: all
	Operation processor.Kind `json:"operation,omitempty"` // empty: all; "dispute": dispute notifications
	Mode      Mode           `json:"mode"`
	Rate      *float64       `json:"rate,omitempty"`    // share of operations hit, 0–1; nil: all
	Count     *int           `json:"count,omitempty"`   // remaining hits; nil: until cleared
	DelayMs   int            `json:"delayMs,omitempty"` // latency: the delay; reorder: its maximum
}

const maxDelayMs = 3_600_000 // one hour, longer than every timeout of the service

// Check returns an error for the first invalid field.
func (f Fault) Check() error {
	switch {
	case !slices.Contains(Modes, f.Mode):
		return fmt.Errorf("mode must be one of %v", Modes)
	case f.Processor != "" && !slices.Contains(processor.Names, f.Processor):
		return fmt.Errorf("processor must be one of %v", processor.Names)
	case f.Operation != "" && f.Operation != processor.Dispute && !slices.Contains(Kinds, f.Operation):
		return fmt.Errorf("operation must be one of %v, or %s", Kinds, processor.Dispute)
	case f.Operation == processor.Dispute && (f.Mode == TechnicalError || f.Mode == DropAfter):
		return errors.New("dispute notifications have the modes drop_before, latency, duplicate_notification and reorder only")
	case f.Rate != nil && !(*f.Rate >= 0 && *f.Rate <= 1):
		return errors.New("rate must be from 0 to 1")
	case f.Count != nil && *f.Count < 1:
		return errors.New("count must be at least 1")
	case f.DelayMs < 0 || f.DelayMs > maxDelayMs:
		return fmt.Errorf("delayMs must be from 0 to %d", maxDelayMs)
	case f.Mode == Latency && f.DelayMs == 0:
		return errors.New("latency needs delayMs")
	case f.DelayMs != 0 && f.Mode != Latency && f.Mode != Reorder:
		return errors.New("delayMs belongs to latency and reorder only")
	}
	return nil
}
