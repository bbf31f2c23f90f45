package account

import (
	"fmt"
	"time"

	"payledger/domain"
)

// SigningOverlap is the time after a rotation in which webhooks also have the previous secret's
// signature (§5.2 rule 3).
const SigningOverlap = 24 * time.Hour

// UnconfirmedRotation is the warning for a rotation that not every node has confirmed yet.
const UnconfirmedRotation = "Not every node of the service has confirmed the rotation yet: for a moment, webhooks may still be signed with the previous secret alone."

// SigningSecret names the secret that webhooks are signed with (§5.2).
type SigningSecret struct {
	Secret    domain.SecretID `json:"secret"`             // names the secret in the stream of secrets
	Hint      string          `json:"hint"`               // its last characters
	CreatedAt time.Time       `json:"createdAt"`          // UTC
	Previous  *PreviousSecret `json:"previous,omitempty"` // the one before it; nil before the first rotation
}

// PreviousSecret names the replaced secret. Webhooks are also signed with it until ValidUntil. It
// is destroyed after that, or at the next rotation (D18).
type PreviousSecret struct {
	Secret     domain.SecretID `json:"secret"`     // names the secret in the stream of secrets
	ValidUntil time.Time       `json:"validUntil"` // webhooks have its signature until then, UTC
	Hint       string          `json:"hint"`       // its last characters
}

// Warning returns the warning for an overlap that a rotation ended early (D18).
func (p PreviousSecret) Warning() string {
	return fmt.Sprintf("Webhooks are no longer signed with the secret that ends in %s, which was valid until %s: receivers that hold no newer one refuse them.",
		p.Hint, p.ValidUntil.UTC().Format(time.RFC3339))
}

// Overlap returns the previous secret while webhooks also have its signature (§5.2 rules 2 and 3).
func (s SigningSecret) Overlap(now time.Time) (PreviousSecret, bool) {
	if s.Previous == nil || !now.Before(s.Previous.ValidUntil) {
		return PreviousSecret{}, false
	}
	return *s.Previous, true
}

// SigningSecretRotated says that webhooks are signed with a new secret and, until
// PreviousValidUntil, also with the previous one.
type SigningSecretRotated struct {
	At                 time.Time       `json:"at"`                 // when it was decided, UTC
	Secret             domain.SecretID `json:"secret"`             // names the new secret in the stream of secrets
	Hint               string          `json:"hint"`               // its last characters
	PreviousValidUntil time.Time       `json:"previousValidUntil"` // webhooks have the previous secret's signature until then, UTC
}

func (SigningSecretRotated) Type() string  { return "account.signing_secret_rotated" }
func (SigningSecretRotated) accountEvent() {}

// RotateSigningSecret is the command to use a new signing secret, which is stored already.
type RotateSigningSecret struct {
	At       time.Time
	Replaces domain.SecretID // the secret that the new one follows
	Secret   domain.SecretID
	Hint     string
}

// DecideRotateSigningSecret makes the new secret the current one, and ends the overlap of an
// earlier rotation (D18). Of two simultaneous rotations one fails: secrets follow each other in the
// order of their names, so that older ones can be destroyed.
func DecideRotateSigningSecret(s State, c RotateSigningSecret) (Event, error) {
	if s.Signing.Secret != c.Replaces {
		err := domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The signing secret was rotated at the same moment.")
		err.Recovery = "Use the secret of the other rotation: GET /management/signing-secret shows its hint. Another rotation now would end the overlap with the older secret."
		return nil, err
	}
	return SigningSecretRotated{At: c.At, Secret: c.Secret, Hint: c.Hint, PreviousValidUntil: c.At.Add(SigningOverlap)}, nil
}
