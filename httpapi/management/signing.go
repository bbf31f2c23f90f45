package management

import (
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

type signingAnswer struct {
	Hint               string            `json:"hint"`
	Number             uint64            `json:"number"` // the end of its name in the keys of a delivery's attempts
	CreatedAt          paymentjson.Time  `json:"createdAt"`
	PreviousValidUntil *paymentjson.Time `json:"previousValidUntil,omitempty"` // while the previous one also signs
}

type rotateAnswer struct {
	SigningSecret string `json:"signingSecret"`
	signingAnswer
	Warnings []string `json:"warnings,omitempty"`
}

// GetSigningSecret serves GET /management/signing-secret.
func (h *Handlers) GetSigningSecret(c *request.Call) (any, error) {
	return h.renderSigning(c.Merchant.Signing), nil
}

// RotateSigningSecret serves POST /management/signing-secret/rotate. A second rotation ends the
// overlap of the first, with a warning (D18).
func (h *Handlers) RotateSigningSecret(c *request.Call) (any, error) {
	rotated, err := h.Commands.RotateSigningSecret(c.Ctx, c.Caller())
	a := rotateAnswer{SigningSecret: rotated.Text, signingAnswer: h.renderSigning(rotated.Signing)}
	if ended := rotated.Ended; ended != nil {
		a.Warnings = []string{ended.Warning()}
	}
	if rotated.Elsewhere != nil {
		h.Logger.Warn().Err(rotated.Elsewhere).Msg("a rotation of a signing secret is not confirmed by every node")
		a.Warnings = append(a.Warnings, account.UnconfirmedRotation)
	}
	return h.shown(c, a, err)
}

func (h *Handlers) renderSigning(s account.SigningSecret) signingAnswer {
	a := signingAnswer{Hint: s.Hint, Number: numberOf(s.Secret), CreatedAt: paymentjson.Time{Time: s.CreatedAt}}
	if previous, overlaps := s.Overlap(h.Now()); overlaps {
		a.PreviousValidUntil = &paymentjson.Time{Time: previous.ValidUntil}
	}
	return a
}

// numberOf returns the number at the end of a signing secret's name. Every name has one.
func numberOf(name domain.SecretID) uint64 {
	number, _ := strconv.ParseUint(string(name[strings.LastIndexByte(string(name), '.')+1:]), 10, 64)
	return number
}
