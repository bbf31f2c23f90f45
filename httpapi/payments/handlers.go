package payments

import (
	"context"
	"io"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/proof"
	"payledger/eventstore/prover"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
	"payledger/projections"
	"payledger/projections/history"
	"payledger/projections/listing"
)

// Commands executes the commands of these calls. A method returns a domain.Error for a command that
// it refuses.
type Commands interface {
	CreateSession(ctx context.Context, by commands.Caller, id domain.SessionID, in sessions.SessionInput) (session.State, error)
	// Session returns a client session; an error if the session is unknown or has expired.
	Session(ctx context.Context, account domain.AccountID, id domain.SessionID) (session.State, error)
	// ChangeSession records the fields that change returns. It calls change again after a
	// concurrent change.
	ChangeSession(ctx context.Context, by commands.Caller, id domain.SessionID, change sessions.SessionChange) (session.State, error)
	Tokenize(ctx context.Context, by commands.Caller, in instruments.TokenizeInput) (instrument.State, error)
	// VaultInstrument vaults a token for a customer; an error if the card fails a requested
	// verification (D5.11).
	VaultInstrument(ctx context.Context, by commands.Caller, in instruments.VaultInput) (instrument.State, error)
	DeleteInstrument(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	MakeDefault(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	// CreatePayment returns when the outcome is known or the payment timeout is over (D8).
	CreatePayment(ctx context.Context, by commands.Caller, in payments.PaymentInput) (payment.State, error)
	// Resume refuses with NoActionsToHandle when the payment is not finished within the payment
	// timeout (D8).
	Resume(ctx context.Context, by commands.Caller, in payments.ResumeInput) (payment.State, error)
	// ActionPage returns the address of the processor's page for a required action; "" if there is
	// none.
	ActionPage(ctx context.Context, p payment.State, action payment.RequiredAction) (string, error)
	Cancel(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Cancel) (payment.State, error)
	Capture(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Capture) (payment.State, error)
	Refund(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Refund) (payment.State, error)
	Adjust(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Adjust) (payment.State, error)
	// StartAttempt creates a payment attempt in a MANUAL session (D12).
	StartAttempt(ctx context.Context, by commands.Caller, in approvals.AttemptInput) (attempt.State, error)
	Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error)
	AmountChanged(ctx context.Context, a attempt.State) (bool, error)
	// ApproveAttempt also creates the payment and waits for its authorization (D5.15).
	ApproveAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID) (attempt.State, error)
	AbortAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID, reason string) (attempt.State, error)
}

// Reader reads the data of the answers.
type Reader interface {
	request.Lagging
	// Payment returns the newest state of an account's payment; PaymentError if the account has no
	// such payment.
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error)
	// DisputesBesideRefund returns the disputes of a payment that are open or lost (D22.2), with
	// everything that was recorded before the call.
	DisputesBesideRefund(ctx context.Context, account domain.AccountID, id domain.PaymentID) ([]dispute.State, error)
	// Settings returns the newest settings of an account.
	Settings(ctx context.Context, id domain.AccountID) (account.Settings, error)
	// ListPayments returns a page of at most limit payments of an account at from; nil means the
	// newest payments.
	ListPayments(ctx context.Context, account domain.AccountID, f projections.PaymentFilter, from *listing.Place, limit int) (projections.PaymentPage, error)
	// TotalPayments returns the totals of the newest most payments of an account that fit.
	TotalPayments(ctx context.Context, account domain.AccountID, f projections.PaymentFilter, most int) (projections.Totals, error)
	// ListInstruments returns a page of at most limit vaulted instruments of a customer after from,
	// the oldest first.
	ListInstruments(ctx context.Context, account domain.AccountID, customer string, from *listing.Place, limit int) (listing.Page[instrument.State], error)
	// NewestInstruments returns the newest vaulted instruments of a customer that fit, at most so
	// many, the oldest first. The default is among them if it fits. more reports that there are
	// others.
	NewestInstruments(ctx context.Context, account domain.AccountID, customer string, most int, fits func(instrument.State) bool) (
		found []instrument.State, more bool, err error)
	// WaitingAttempts returns a page of the payment attempts of an account that wait for a decision
	// at a time, after from: those that expire first come first.
	WaitingAttempts(ctx context.Context, account domain.AccountID, now time.Time, from *listing.Place, limit int) (listing.Page[projections.AttemptWithTerms], error)
	// AttemptWithTerms returns the newest state of an account's payment attempt; EntityNotFound if
	// the account has no such attempt.
	AttemptWithTerms(ctx context.Context, account domain.AccountID, id domain.AttemptID) (projections.AttemptWithTerms, error)
	// DefaultInstrument returns the token of a customer's default instrument; "" if there is none.
	DefaultInstrument(ctx context.Context, account domain.AccountID, customer string) (domain.Token, error)
	// Personal opens sealed personal data; erased data opens as empty.
	Personal(ctx context.Context, sealed *domain.Sealed) (domain.Personal, error)
	// Erasures returns a number that changes whenever Personal may return less than before.
	Erasures() uint64
}

// History replays one payment and passes its entries to hand; next is the revision after which more
// follow, or 0. Payment returns history.ErrNotThere, before the first entry, for a revision or time
// that the payment does not have.
type History interface {
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, part history.Part, hand func(history.Entry) error) (next uint64, err error)
}

// Proofs makes proofs of payments. Payment returns prover.ErrNotCovered if no checkpoint covers an
// event of the payment yet, and prover.ErrAhead if the log has fewer events than since. Checkpoints
// passes the checkpoints after a number to emit; next is the number after which more follow, or 0.
type Proofs interface {
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, since uint64) (*prover.Proof, error)
	Checkpoints(ctx context.Context, after uint64, limit int, emit func(proof.Checkpoint) error) (next uint64, err error)
	VerifierKey() string
}

// Handlers serve the calls.
type Handlers struct {
	Commands    Commands
	Reader      Reader
	History     History
	Proofs      Proofs
	Tokens      *clienttoken.Tokens
	Environment string
	Now         func() time.Time
	Random      io.Reader // for access tokens

	rendered rendered
}

// Rules returns, by operation, the rules of requests that openapi.yaml cannot express.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{
		"createClientSession": h.sessionRules, "changeClientSession": h.sessionRules,
		"createPayment": paymentRules, "capturePayment": metadataRules, "refundPayment": metadataRules,
		"createPaymentInstrument": h.cardRules, "createCheckoutPayment": priceRules, "createPaymentAttempt": priceRules,
		"listPaymentInstruments": instrumentListRules, "listPayments": listRules, "listManagedPayments": listRules, "getPaymentTotals": listRules,
		"listPaymentAttempts":   attemptListRules,
		"captureManagedPayment": metadataRules, "refundManagedPayment": metadataRules,
	}
}
