package payments

import (
	"errors"
	"io"

	"payledger/domain"
	"payledger/eventstore/proof"
	"payledger/eventstore/prover"
	"payledger/httpapi/request"
)

// GetPaymentProof serves GET /payments/{id}/proof, the file of `payledger prove` (I1).
func (h *Handlers) GetPaymentProof(c *request.Call) (any, error) {
	made, err := h.Proofs.Payment(c.Ctx, c.Merchant.ID, paymentID(c), uint64(request.Integer(c.Query, "since", 0)))
	if errors.Is(err, prover.ErrNotCovered) {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "The proof is not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	if errors.Is(err, prover.ErrAhead) {
		refusal := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The log has fewer events than the old checkpoint.")
		refusal.Recovery = "Use a checkpoint of this log: GET /checkpoints. If this ledger signed the old one, keep it: it shows that events are missing."
		err = refusal
	}
	if err != nil {
		return nil, err
	}
	return request.Text(func(to io.Writer) error { return made.Write(c.Ctx, to) }), nil
}

// ListCheckpoints serves GET /checkpoints, the signed checkpoints for a witness (I1).
func (h *Handlers) ListCheckpoints(c *request.Call) (any, error) {
	return request.Listing(func(element func(any) error) (uint64, error) {
		return h.Proofs.Checkpoints(c.Ctx, uint64(request.Integer(c.Query, "after", 0)), request.Integer(c.Query, "limit", 0),
			func(one proof.Checkpoint) error { return element(one) })
	}), nil
}

// GetVerifierKey serves GET /verifier-key (I1).
func (h *Handlers) GetVerifierKey(*request.Call) (any, error) {
	return map[string]string{"verifierKey": h.Proofs.VerifierKey()}, nil
}
