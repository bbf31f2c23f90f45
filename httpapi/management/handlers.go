package management

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/keyuse"
	"payledger/httpapi/request"
	"payledger/httpapi/traffic"
	"payledger/projections"
	"payledger/projections/auditlog"
	"payledger/projections/deliveries"
	"payledger/projections/listing"
	"payledger/projections/statistics"
)

// Commands are the commands of these calls; every method records, or refuses with a domain.Error.
type Commands interface {
	// CreateAPIKey also returns the key's text, which is shown once.
	CreateAPIKey(ctx context.Context, by commands.Caller, made account.APIKey) (account.APIKey, string, error)
	// RevokeAPIKey returns the key as it was; it is not valid any more.
	RevokeAPIKey(ctx context.Context, by commands.Caller, id domain.APIKeyID) (account.APIKey, error)
	CreateEndpoint(ctx context.Context, by commands.Caller, in accounts.EndpointInput) (account.Endpoint, error)
	ChangeEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID, in account.ChangeEndpoint) (account.Endpoint, error)
	// DeleteEndpoint returns the endpoint as it was.
	DeleteEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error)
	// RotateSigningSecret also returns the new secret's text, which is shown once.
	RotateSigningSecret(ctx context.Context, by commands.Caller) (accounts.RotatedSecret, error)
	ChangeRouting(ctx context.Context, by commands.Caller, in account.Routing) (account.Routing, error)
	ChangeProcessor(ctx context.Context, by commands.Caller, in account.ChangeProcessor) (account.Processor, error)
	ChangeSettings(ctx context.Context, by commands.Caller, in account.ChangeSettings) (account.Settings, error)
	// AddUser also returns the user's password, which is shown once.
	AddUser(ctx context.Context, by commands.Caller, in accounts.UserInput) (account.User, string, error)
	// ChangeUser also returns the user's new password if it was reset, which is shown once.
	ChangeUser(ctx context.Context, by commands.Caller, id domain.UserID, in accounts.UserChange) (account.User, string, error)
	// RemoveUser returns the user as it was.
	RemoveUser(ctx context.Context, by commands.Caller, id domain.UserID) (account.User, error)
	EraseCustomer(ctx context.Context, by commands.Caller, customer string) (person.State, error)
	// EraseGuest erases the guest who made a payment.
	EraseGuest(ctx context.Context, by commands.Caller, id domain.PaymentID) (person.State, error)
	Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error)
	Workflows(ctx context.Context, account domain.AccountID) (workflow.State, error)
}

// Reader reads what these calls show.
type Reader interface {
	request.Lagging
	// ListDisputes reads a page of an account's disputes, newest first or by deadline; nil is the
	// beginning.
	ListDisputes(ctx context.Context, account domain.AccountID, f projections.DisputeFilter, from *listing.Place, limit int) (listing.Page[dispute.State], error)
	// Dispute returns the newest state of an account's dispute; EntityNotFound when the account has
	// no such dispute.
	Dispute(ctx context.Context, account domain.AccountID, id domain.DisputeID) (dispute.State, error)
	// Statistics counts an account's payments that were created on the days of a query.
	Statistics(ctx context.Context, account domain.AccountID, q statistics.Query) (statistics.Report, error)
	// ListAudit reads a page of an account's audit log, newest first; nil is the newest end.
	ListAudit(ctx context.Context, account domain.AccountID, f auditlog.Filter, from *listing.Place, limit int) (listing.Page[auditlog.Entry], error)
	// Payment returns PaymentError when the account has no such payment.
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error)
	ListPayments(ctx context.Context, account domain.AccountID, f projections.PaymentFilter, from *listing.Place, limit int) (projections.PaymentPage, error)
	// PaymentsOfTransaction returns payments with a transaction of this id at a processor, the
	// newest first.
	PaymentsOfTransaction(ctx context.Context, account domain.AccountID, id string, limit int) ([]payment.State, error)
	// FindRun returns the zero state when the account has no such run.
	FindRun(ctx context.Context, account domain.AccountID, id domain.RunID) (workflow.RunState, error)
	// Customers returns a page of an account's customers after from, in the order of their ids.
	Customers(ctx context.Context, account domain.AccountID, from *listing.Place, limit int) (listing.Page[projections.Customer], error)
	// Customer returns a customer; false when the account has none of this id.
	Customer(ctx context.Context, account domain.AccountID, id string) (c projections.Customer, known bool, err error)
	HasCustomer(ctx context.Context, account domain.AccountID, id string) (bool, error)
	// CaughtUp returns when the reads show everything that was recorded before the call.
	CaughtUp(ctx context.Context) error
}

// Handlers serve the calls.
type Handlers struct {
	Commands   Commands
	Reader     Reader
	Deliveries Deliveries // nil: none are sent
	Events     Events     // nil: events have no positions
	Traffic    *traffic.Nodes
	Reconciler Reconciler
	Runs       *ReconciliationRuns
	Closing    <-chan struct{} // closed when the service begins to stop; nil: never
	KeyUses    *keyuse.Uses
	Now        func() time.Time
	Logger     zerolog.Logger
	Sandbox    bool // else production
	// Connection returns the state of the connection to a processor; nil: it is not shown.
	Connection func(processor.Name) processor.Connection
	// CheckURL refuses addresses that webhooks must not go to (D18); its error's text is shown. An
	// error for an address of the service's own machine has a method Loopback() bool that returns
	// true.
	CheckURL func(ctx context.Context, url string) error
	// SendTest sends the test message to a webhook endpoint, once (§6.1, D20); an error means that
	// it was not sent.
	SendTest func(ctx context.Context, account domain.AccountID, endpoint domain.EndpointID) (deliveries.Attempt, error)
}

// Rules are the rules of requests that openapi.yaml cannot express, by operation.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{
		"createApiKey": keyRules, "createUser": userRules, "replaceRouting": routingRules, "listDisputes": disputeRules, "listCustomers": customerRules, "getReconciliation": reconciliationRules, "startReconciliationRun": request.PeriodRule,
		"getStatistics": h.statisticsRules, "listAuditLog": auditRules, "previewRouting": previewRules,
		"search": searchRules,
	}
}

const shownWithin = 5 * time.Second

// shown returns the answer to a change when this node's views show the change, or err: a key works,
// and a list has it, as soon as its creation is answered (D20). Views that do not advance must not
// withhold the answer: only it shows a new key.
func (h *Handlers) shown(c *request.Call, answer any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.Ctx, shownWithin)
	defer cancel()
	if err := h.Reader.CaughtUp(ctx); err != nil {
		h.Logger.Warn().Err(err).Str("requestId", c.ID).Msg("answered before the views show it")
	}
	return answer, nil
}
