package clienttoken

import (
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// intentAction is the intent of the token that starts a required action: the one action there is
// (D4, D13).
const intentAction = "3DS_AUTHENTICATION"

// Action is the required action of an action's client token.
type Action struct {
	Payment  domain.PaymentID
	Revision uint64
}

// SignAction makes the client token of the action that a payment waits for, "" for none (D6). The
// same state gives the same token.
func (t *Tokens) SignAction(p payment.State) (string, error) {
	required := p.RequiredAction()
	if required == nil {
		return "", nil
	}
	// The access token is a uuid like a session's. By itself it opens nothing.
	access := AccessToken(t.keyedUUID("action " + string(p.ID) + " " + strconv.FormatUint(required.Revision, 10)))
	c := t.claims(access, intentAction, p.Account, required.ExpiresAt)
	c.PaymentID, c.Action = p.ID, required.Revision
	return t.sign(c)
}

// ReadAction returns the required action of an action's client token, and the payment's account.
func (t *Tokens) ReadAction(text string) (domain.AccountID, Action, error) {
	read, err := t.read(text)
	if err != nil || read.Intent != intentAction {
		return "", Action{}, Refused()
	}
	return read.AccountID, Action{read.PaymentID, read.Action}, nil
}

// resumeClaims are the content of a resume token. The audience, and no environment and intent,
// distinguish it from a client token.
type resumeClaims struct {
	AccountID domain.AccountID  `json:"accountId"`
	PaymentID domain.PaymentID  `json:"paymentId"`
	Action    uint64            `json:"action"`            // revision that names the required action
	Outcome   processor.Outcome `json:"outcome,omitempty"` // "": the processor knows it
	jwt.RegisteredClaims
}

const resumeAudience = "resume"

// SignResume makes the token with which a payment continues after its action. It has the outcome in
// the sandbox only (D12).
func (t *Tokens) SignResume(p payment.State, action *payment.RequiredAction, outcome processor.Outcome) (string, error) {
	if t.Environment != account.Sandbox {
		outcome = ""
	}
	return t.sign(resumeClaims{
		AccountID: p.Account, PaymentID: p.ID, Action: action.Revision, Outcome: outcome,
		RegisteredClaims: jwt.RegisteredClaims{
			Audience: jwt.ClaimStrings{resumeAudience}, ExpiresAt: jwt.NewNumericDate(action.ExpiresAt.Truncate(time.Second)),
		},
	})
}

// ReadResume reads a resume token for a payment: the revision of its action, 0 when the token is
// not ours or another payment's, and in the sandbox the outcome. The payment checks the expiry,
// because it knows the action: a token that is too late is a failed challenge (D7).
func (t *Tokens) ReadResume(text string, owner domain.AccountID, id domain.PaymentID) (action uint64, outcome processor.Outcome) {
	var read resumeClaims
	err := t.verify(text, &read, jwt.WithoutClaimsValidation())
	ours := err == nil && len(read.Audience) == 1 && read.Audience[0] == resumeAudience
	if !ours || read.AccountID != owner || read.PaymentID != id {
		return 0, ""
	}
	if t.Environment != account.Sandbox {
		return read.Action, ""
	}
	return read.Action, read.Outcome
}
