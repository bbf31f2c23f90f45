package payments

import (
	"context"
	"io"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/commands"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
	"payledger/projections"
	"payledger/projections/history"
)

// Commands are the commands of these calls; every method records, or refuses with a domain.Error.
type Commands interface {
	CreateSession(ctx context.Context, by commands.Caller, id domain.SessionID, in commands.SessionInput) (session.State, error)
	// Session reads a client session; unknown and expired ones are refused.
	Session(ctx context.Context, account domain.AccountID, id domain.SessionID) (session.State, error)
	// ChangeSession changes a client session; change returns the changed input, and may be called again.
	ChangeSession(ctx context.Context, by commands.Caller, id domain.SessionID, change commands.SessionChange) (session.State, error)
	Tokenize(ctx context.Context, by commands.Caller, in commands.TokenizeInput) (instrument.State, error)
	// VaultInstrument keeps a token for a customer; a card that is not verified is refused (D5.11).
	VaultInstrument(ctx context.Context, by commands.Caller, in commands.VaultInput) (instrument.State, error)
	DeleteInstrument(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	MakeDefault(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	// CreatePayment returns when the outcome is known or the payment timeout is over (D8).
	CreatePayment(ctx context.Context, by commands.Caller, in commands.PaymentInput) (payment.State, error)
	// Resume refuses with NoActionsToHandle when the payment is not finished within the payment timeout (D8).
	Resume(ctx context.Context, by commands.Caller, in commands.ResumeInput) (payment.State, error)
	Cancel(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Cancel) (payment.State, error)
	Capture(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Capture) (payment.State, error)
	Refund(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Refund) (payment.State, error)
	Adjust(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Adjust) (payment.State, error)
	// StartAttempt makes the attempt that a MANUAL session waits for (D12).
	StartAttempt(ctx context.Context, by commands.Caller, in commands.AttemptInput) (attempt.State, error)
	Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error)
	AmountChanged(ctx context.Context, a attempt.State) (bool, error)
	// ApproveAttempt also makes the payment, and waits for its authorization (D5.15).
	ApproveAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID) (attempt.State, error)
	AbortAttempt(ctx context.Context, by commands.Caller, in commands.AbortInput) (attempt.State, error)
}

// Reader reads what these calls show.
type Reader interface {
	// Payment returns the newest state of an account's payment; PaymentError when the account has no such payment.
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error)
	// Settings returns the newest settings of an account.
	Settings(ctx context.Context, id domain.AccountID) (account.Settings, error)
	// ListPayments reads a page of an account's payments, at most limit, from a place on; nil is the newest end.
	ListPayments(ctx context.Context, account domain.AccountID, f projections.PaymentFilter, from *projections.Place, limit int) (projections.PaymentPage, error)
	// Instruments lists a customer's vaulted instruments and names the default one, "" for none.
	Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, domain.Token, error)
	// Personal opens sealed personal data; erased data opens as empty.
	Personal(ctx context.Context, sealed *domain.Sealed) (domain.Personal, error)
}

// History replays one payment and passes its entries to hand as it reads them. next is the revision after which more entries
// follow, 0 when none do. A revision or time that the payment does not have is history.ErrNotThere, before the first entry.
type History interface {
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, part history.Part, hand func(history.Entry) error) (next uint64, err error)
}

// Handlers serve the calls.
type Handlers struct {
	Commands    Commands
	Reader      Reader
	History     History
	Tokens      *clienttoken.Tokens
	Environment string
	Now         func() time.Time
	Random      io.Reader // for access tokens
}

// Rules are the rules of requests that openapi.yaml cannot express, by operation.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{
		"createClientSession": h.sessionRules, "changeClientSession": h.sessionRules,
		"createPayment": paymentRules, "capturePayment": metadataRules, "refundPayment": metadataRules,
		"createPaymentInstrument": h.cardRules, "createCheckoutPayment": priceRules, "createPaymentAttempt": priceRules,
		"listPayments": listRules,
	}
}
