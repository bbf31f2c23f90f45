package connector

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
)

// notSupported returns the answer to an operation that the vendor's declaration excludes; nil if
// the vendor decides. It is recorded before the vendor gets anything, so a repeat has it for ever.
func (k *Connector) notSupported(ctx context.Context, op processor.Operation) (*processor.Answer, error) {
	needed, err := k.needs(ctx, op)
	if needed == "" || err != nil {
		return nil, err
	}
	return k.lacking(needed), nil
}

// lacking returns the answer to an operation that needs a capability; nil if the vendor has it, or
// decides.
func (k *Connector) lacking(needed protocol.Capability) *processor.Answer {
	for _, lack := range k.Vendor.Declaration().Cannot {
		if lack.Capability == needed && !lack.Tried {
			return &processor.Answer{State: processor.Failed, At: k.now(), Code: protocol.CodeNotSupported, Message: lack.Instead}
		}
	}
	return nil
}

// noToken returns the answer to an operation whose card is a token, if the vendor takes none; else
// nil.
func (k *Connector) noToken(card *processor.Card) *processor.Answer {
	if card == nil || card.Token == "" {
		return nil
	}
	return k.lacking(protocol.CanTokenize)
}

// refusal returns the answer to an operation that the vendor did certainly not get so far, and does
// not get now: its card is a token and the vendor takes none, or the vendor refuses it by itself.
// Else it returns nil. The caller records it in the place of the request, so a crash leaves no
// doubt.
func (k *Connector) refusal(ctx context.Context, o *book.Operation, card *processor.Card) (*processor.Answer, error) {
	if no := k.noToken(card); no != nil {
		return no, nil
	}
	refuser, can := k.Vendor.(Refuser)
	if !can {
		return nil, nil //nolint:nilnil // the vendor decides
	}
	order, err := k.order(ctx, o, card)
	if err != nil {
		return nil, err
	}
	no := refuser.Refuse(order)
	if no == nil {
		return nil, nil //nolint:nilnil // the vendor decides
	}
	if !undone(*no) || no.Code == "" {
		return nil, fmt.Errorf("the vendor refuses an operation with %q %q instead of a failure", no.State, no.Code)
	}
	if no.At.IsZero() {
		no.At = k.now()
	}
	return no, nil
}

// needs returns the capability that an operation needs beyond those of every connector; "" for
// none, or if only the vendor can tell.
func (k *Connector) needs(ctx context.Context, op processor.Operation) (protocol.Capability, error) {
	switch op.Kind {
	case processor.Adjust:
		return protocol.CanAdjust, nil
	case processor.Void:
		return protocol.CanVoid, nil
	case processor.Capture, processor.Refund:
	default:
		return "", nil
	}
	parent, err := k.book.ByTransaction(ctx, op.ParentID, parents(op.Kind)...)
	if err == nil && parent == nil && op.Kind == processor.Refund {
		return k.needsElsewhere(ctx, op)
	}
	if err != nil || parent == nil || parent.Reference != op.Reference {
		return "", err
	}
	of, err := k.totals(ctx, parent)
	if err == nil && op.Kind == processor.Refund && parent.Kind == processor.Authorize && k.lacking(protocol.CanRefundPartly) != nil {
		var elsewhere domain.Amount
		elsewhere, err = k.capturedElsewhere(ctx, op.Reference, op.ParentID)
		of.captured += elsewhere
	}
	switch {
	case err != nil:
		return "", err
	case op.Kind == processor.Refund && op.Amount < of.captured:
		return protocol.CanRefundPartly, nil
	case op.Kind == processor.Capture && op.Amount < of.held && !op.Final:
		return protocol.CanCaptureAgain, nil
	case op.Kind == processor.Capture && op.Amount < of.held && !of.earlier:
		return protocol.CanCapturePartly, nil
	}
	return "", nil
}

// needsElsewhere is needs for a refund of a capture that only the vendor's list may have.
func (k *Connector) needsElsewhere(ctx context.Context, op processor.Operation) (protocol.Capability, error) {
	if k.lacking(protocol.CanRefundPartly) == nil {
		return "", nil // the answer makes no difference
	}
	capture, err := k.captureElsewhere(ctx, &book.Operation{Operation: op})
	if err != nil || capture == nil || op.Amount >= capture.Amount {
		return "", err
	}
	return protocol.CanRefundPartly, nil
}

// totals are the amounts of an authorization, or of one capture.
type totals struct {
	held, captured domain.Amount
	earlier        bool // there is a capture, perhaps without an outcome
}

func (k *Connector) totals(ctx context.Context, parent *book.Operation) (totals, error) {
	of := totals{held: parent.Amount}
	if parent.Kind == processor.Capture {
		of.captured = parent.Amount
		return of, nil
	}
	transaction := parent.Newest().ProcessorTransactionID
	err := k.book.Each(ctx, protocol.Filter{Reference: parent.Reference}, func(o *book.Operation) error {
		newest := o.Newest()
		succeeded := newest != nil && newest.State == processor.Succeeded
		switch {
		case o.ParentID != transaction || newest != nil && undone(*newest):
		case o.Kind == processor.Adjust && succeeded:
			of.held = o.Amount
		case o.Kind == processor.Capture:
			of.earlier = true
			if succeeded {
				of.captured += o.Amount
			}
		}
		return nil
	})
	return of, err
}
