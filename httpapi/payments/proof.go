package payments

import (
	"errors"
	"io"

	"payledger/domain"
	"payledger/eventstore/prover"
	"payledger/httpapi/request"
)

// GetPaymentProof serves GET /payments/{id}/proof, the file of `payledger prove` (I1).
func (h *Handlers) GetPaymentProof(c *request.Call) (any, error) {
	made, err := h.Proofs.Payment(c.Ctx, c.Merchant.ID, paymentID(c))
	if errors.Is(err, prover.ErrNotCovered) {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "The proof is not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	if err != nil {
		return nil, err
	}
	return request.Text(func(to io.Writer) error { return made.Write(c.Ctx, to) }), nil
}

// verifierKey is the answer of GET /verifier-key (I1).
type verifierKey struct {
	VerifierKey string `json:"verifierKey"`
}

// GetVerifierKey serves GET /verifier-key.
func (h *Handlers) GetVerifierKey(*request.Call) (any, error) {
	return verifierKey{h.Proofs.VerifierKey()}, nil
}
