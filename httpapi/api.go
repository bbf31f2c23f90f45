package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/httpapi/checkout"
	"payledger/httpapi/keyuse"
	"payledger/projections"
	"payledger/projections/history"
)

// Commands is what the API asks of the ledger; every method records, or refuses with a domain.Error.
type Commands interface {
	CreateSession(ctx context.Context, by commands.Caller, id domain.SessionID, in commands.SessionInput) (session.State, error)
	// Session reads a client session; unknown and expired ones are refused.
	Session(ctx context.Context, account domain.AccountID, id domain.SessionID) (session.State, error)
	// ChangeSession changes a client session; change gives it as it shall be, and may be called again.
	ChangeSession(ctx context.Context, by commands.Caller, id domain.SessionID, change commands.SessionChange) (session.State, error)
	Tokenize(ctx context.Context, by commands.Caller, in commands.TokenizeInput) (instrument.State, error)
	// VaultInstrument keeps a token for a customer; a card that is not verified is refused (D5).
	VaultInstrument(ctx context.Context, by commands.Caller, in commands.VaultInput) (instrument.State, error)
	DeleteInstrument(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	MakeDefault(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error)
	// CreatePayment answers when the outcome is known or the payment timeout is over (D8).
	CreatePayment(ctx context.Context, by commands.Caller, in commands.PaymentInput) (payment.State, error)
	// Resume refuses with NoActionsToHandle what is not finished when the payment timeout is over (D8).
	Resume(ctx context.Context, by commands.Caller, in commands.ResumeInput) (payment.State, error)
	Cancel(ctx context.Context, by commands.Caller, in commands.CancelInput) (payment.State, error)
	Capture(ctx context.Context, by commands.Caller, in commands.CaptureInput) (payment.State, error)
	Refund(ctx context.Context, by commands.Caller, in commands.RefundInput) (payment.State, error)
	Adjust(ctx context.Context, by commands.Caller, in commands.AdjustInput) (payment.State, error)
	// StartAttempt makes the attempt that a MANUAL session waits for (D12).
	StartAttempt(ctx context.Context, by commands.Caller, in commands.AttemptInput) (attempt.State, error)
	Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error)
	AmountChanged(ctx context.Context, a attempt.State) (bool, error)
	// ApproveAttempt also makes the payment, and waits for its authorization (D5).
	ApproveAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID) (attempt.State, error)
	AbortAttempt(ctx context.Context, by commands.Caller, in commands.AbortInput) (attempt.State, error)
	// Notify keeps what a processor told unasked; it is durable when nil is answered (D14).
	Notify(ctx context.Context, requestID string, told processor.SignedNotification) error
	// CreateAPIKey also gives the key's text, which is shown once.
	CreateAPIKey(ctx context.Context, by commands.Caller, in commands.APIKeyInput) (account.APIKey, string, error)
	// RevokeAPIKey gives the key as it was; it works no more when nil is answered.
	RevokeAPIKey(ctx context.Context, by commands.Caller, id domain.APIKeyID) (account.APIKey, error)
	CreateEndpoint(ctx context.Context, by commands.Caller, in commands.EndpointInput) (account.Endpoint, error)
	ChangeEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID, in commands.EndpointChange) (account.Endpoint, error)
	// DeleteEndpoint gives the endpoint as it was.
	DeleteEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error)
	// RotateSigningSecret also gives the new secret's text, which is shown once.
	RotateSigningSecret(ctx context.Context, by commands.Caller) (commands.RotatedSecret, error)
	ChangeRouting(ctx context.Context, by commands.Caller, in account.Routing) (account.Routing, error)
	ChangeProcessor(ctx context.Context, by commands.Caller, in commands.ProcessorInput) (account.Processor, error)
	ChangeSettings(ctx context.Context, by commands.Caller, in commands.SettingsInput) (account.Settings, error)
	Workflows(ctx context.Context, account domain.AccountID) (workflow.State, error)
	CreateWorkflow(ctx context.Context, by commands.Caller, d workflow.Definition, enabled bool) (workflow.Workflow, error)
	// ChangeWorkflow makes a new version of a workflow that does something else; enabled nil leaves that.
	ChangeWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, d workflow.Definition, enabled *bool) (workflow.Workflow, error)
	EnableWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, enabled bool) (workflow.Workflow, error)
}

// Reader is what the API reads: one payment linearizably, who the caller is, whose a session is.
type Reader interface {
	// Payment gives the newest state of an account's payment; PaymentError when it has none of that id.
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error)
	// Settings gives the newest settings of an account.
	Settings(ctx context.Context, id domain.AccountID) (account.Settings, error)
	// ListPayments reads a page of an account's payments, at most limit, from a place on; nil is the newest end.
	ListPayments(ctx context.Context, account domain.AccountID, f projections.PaymentFilter, from *projections.Place, limit int) (projections.PaymentPage, error)
	// Instruments lists a customer's vaulted instruments and names the default one, "" for none.
	Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, domain.Token, error)
	// ListDisputes reads a page of an account's disputes, newest first; nil is the newest end.
	ListDisputes(ctx context.Context, account domain.AccountID, f projections.DisputeFilter, from *projections.DisputePlace, limit int) (projections.DisputePage, error)
	// Dispute gives the newest state of an account's dispute; EntityNotFound when it has none of that id.
	Dispute(ctx context.Context, account domain.AccountID, id domain.DisputeID) (dispute.State, error)
	// Personal opens sealed personal data; erased data opens as empty.
	Personal(ctx context.Context, sealed *domain.Sealed) (domain.Personal, error)
	SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error)
	// Runs reads a page of a workflow's runs, newest first, at most limit, from a place on, and gives the next page's.
	Runs(ctx context.Context, account domain.AccountID, id domain.WorkflowID, from *projections.RunPlace, limit int) ([]workflow.RunState, *projections.RunPlace, error)
	// CaughtUp returns when the reads below show everything that was recorded before the call.
	CaughtUp(ctx context.Context) error
	// APIKey gives an API key as this node knows it. It may have been revoked since; its hash and its end never change.
	APIKey(id domain.APIKeyID) (account.APIKey, bool)
	// AccountByKey finds the account of an API key as it stands at the call, on whichever node it was changed last. The key
	// may have expired, or be none of the account's any more.
	AccountByKey(ctx context.Context, id domain.APIKeyID) (account.State, bool, error)
	Account(id domain.AccountID) (account.State, bool)
}

// History replays one payment, and hands on the entries of a part as it reads them; next is the revision behind which
// more follow, 0 when none do. history.ErrNotThere, before the first entry, when it has no such revision or time.
type History interface {
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, part history.Part, hand func(history.Entry) error) (next uint64, err error)
}

// Config is what the API needs; everything but FrameAncestors, RateLimit, KeyUses and Notifications is required.
type Config struct {
	Commands       Commands
	Reader         Reader
	History        History
	Deliveries     Deliveries
	Reconciler     Reconciler
	Workflows      Workflows
	ClientTokenKey []byte // signs client tokens and makes sessions' ids of their access tokens (D4); 32 bytes or more
	PublicURL      string // this service as browsers reach it
	Environment    string // account.Sandbox or account.Production
	Now            func() time.Time
	Random         io.Reader // for request ids and access tokens
	Logger         zerolog.Logger
	// Ready gives the reason why the service should get no requests, or nil (I1: /readyz).
	Ready func(context.Context) error
	// CheckURL refuses addresses that webhooks must not go to (D18); its error's text is shown.
	CheckURL func(ctx context.Context, url string) error
	// TestEndpoint sends the test message to a webhook endpoint, once, and tells how that ended (§6.1, D20); an
	// error means that it was not sent.
	TestEndpoint func(ctx context.Context, account domain.AccountID, endpoint domain.EndpointID) (EndpointTest, error)
	// Notifications reads what a processor of that name sent, and refuses what is not signed or not well
	// formed (D14); nil: none are taken.
	Notifications func(name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error)
	// FrameAncestors are the origins that may show the checkout pages in a frame; none by default.
	FrameAncestors []string
	// RateLimit is the number of requests a second that each API key may make; 0 is no limit (D1).
	RateLimit float64
	// KeyUses is where the last uses of API keys are noted (D20); nil: in memory.
	KeyUses *keyuse.Uses
	// Intake bounds requests and their memory; nothing is bound by default.
	Intake Intake
}

// minTokenKey is the shortest key that client tokens may be signed with, in bytes: HS256's own size.
const minTokenKey = 32

// API is the HTTP interface.
type API struct {
	Config
	operations map[string]*operation
	pages      *checkout.Pages
	router     *mux.Router
	routes     map[*mux.Route]route
	limits     *limits
	answered   answers
}

// New prepares the API; it fails when openapi.yaml and the routes do not fit each other, and on a
// configuration that would be unsafe.
func New(c Config) (*API, error) {
	if len(c.ClientTokenKey) < minTokenKey {
		return nil, errors.New("httpapi: the client token key is too short")
	}
	if tokenEnvironments[c.Environment] == "" {
		return nil, errors.New("httpapi: unknown environment " + c.Environment)
	}
	if c.KeyUses == nil {
		c.KeyUses = keyuse.InMemory()
	}
	operations, err := loadOperations()
	if err != nil {
		return nil, err
	}
	if err := checkRoutes(routes, operations); err != nil {
		return nil, err
	}
	pages, err := checkout.New(c.FrameAncestors)
	if err != nil {
		return nil, err
	}
	a := &API{
		Config: c, operations: operations, pages: pages, router: mux.NewRouter().SkipClean(true), routes: map[*mux.Route]route{},
		limits: newLimits(c.RateLimit, c.Now),
	}
	for _, r := range routes {
		a.routes[a.router.NewRoute().Methods(r.method).Path(r.path)] = r
	}
	return a, nil
}

// ServeHTTP answers one request: guards in the order of D3, then the handler, then one log line.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := a.Now()
	id, err := eventstore.NewUUID(a.Random)
	if err != nil {
		a.Logger.Error().Err(err).Msg("no request id")
	}
	w.Header().Set("X-Request-Id", id)
	c := &call{api: a, r: r, w: w, ctx: r.Context(), id: id}
	done := c.taken()
	a.answered.add(done.status)
	a.logRequest(c, done, a.Now().Sub(start))
	if done.abort {
		panic(http.ErrAbortHandler)
	}
}

// taken answers a request, or refuses it because there is too much already.
func (c *call) taken() outcome {
	leave, err := c.admit()
	defer leave()
	defer c.giveBack()
	switch {
	case err == nil:
		return c.answer()
	case c.forPage():
		return c.failPage(err)
	default:
		return c.failed(err)
	}
}

// match finds the route of a request, were it made with method. A trailing slash counts as none, without a
// redirect (D1).
func (a *API) match(r *http.Request, method string) (route, map[string]string, bool) {
	path := r.URL.Path
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	var m mux.RouteMatch
	plain := http.Request{Method: method, URL: &url.URL{Path: path}} // the router looks at nothing else
	if a.router.Match(&plain, &m) && m.Route != nil && m.MatchErr == nil {
		return a.routes[m.Route], m.Vars, true
	}
	return route{}, nil, false
}
