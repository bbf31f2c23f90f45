package httpapi

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/commands/users"
	engine "payledger/eventstore/commands/workflows"
	"payledger/httpapi/checkout"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/docs"
	"payledger/httpapi/events"
	"payledger/httpapi/intake"
	"payledger/httpapi/keyuse"
	"payledger/httpapi/live"
	"payledger/httpapi/management"
	"payledger/httpapi/payments"
	"payledger/httpapi/request"
	"payledger/httpapi/traffic"
	"payledger/httpapi/validation"
	"payledger/httpapi/webhooks"
	"payledger/httpapi/workflows"
	"payledger/projections/deliveries"
)

// Commands are the commands of all calls; every method records, or refuses with a domain.Error.
type Commands interface {
	payments.Commands
	management.Commands
	workflows.Commands
	webhooks.Commands
	// Notify records an unsolicited notification of a processor; it is durable when nil is returned
	// (D14.5).
	Notify(ctx context.Context, requestID string, notification processor.SignedNotification) error
}

// Reader is the read side of all calls, and finds the account of a caller.
type Reader interface {
	payments.Reader
	management.Reader
	workflows.Reader
	// SessionAccount returns the account of a client session, false when there is no such session.
	SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error)
	// APIKey returns an API key as this node knows it. It may have been revoked since; its hash and
	// its expiry never change.
	APIKey(id domain.APIKeyID) (account.APIKey, bool)
	// AccountByKey returns the newest state of an API key's account, whichever node changed it. The
	// key may not be valid any more.
	AccountByKey(ctx context.Context, id domain.APIKeyID) (account.State, bool, error)
	Account(id domain.AccountID) (account.State, bool)
}

// Config has the parts behind the API; all but FrameAncestors, RateLimit, OtherCounts,
// OtherRequests, Users, KeyUses, Notifications, Connection, Timed and Intake are required.
type Config struct {
	Commands       Commands
	Reader         Reader
	History        payments.History
	Proofs         payments.Proofs
	Deliveries     webhooks.Deliveries
	Reconciler     reconcile.Reconciler
	Workflows      *engine.Engine
	ClientTokenKey []byte // signs client tokens (D4); clienttoken.MinKey bytes or more
	PublicURL      string // this service as browsers reach it
	Environment    string // account.Sandbox or account.Production
	Now            func() time.Time
	Random         io.Reader // for request ids and access tokens
	Logger         zerolog.Logger
	// Ready returns the reason why the service is not ready, or nil (I1: /readyz).
	Ready func(context.Context) error
	// Lease returns an error while this node must answer no requests, because the other nodes no
	// longer wait for it; nil: never.
	Lease func() error
	// CheckURL refuses addresses that webhooks must not go to (D18); its error's text is shown.
	CheckURL func(ctx context.Context, url string) error
	// TestEndpoint sends the test message to a webhook endpoint, once (§6.1, D20); an error means
	// that it was not sent.
	TestEndpoint func(ctx context.Context, account domain.AccountID, endpoint domain.EndpointID) (deliveries.Attempt, error)
	// Notifications reads a processor's notification, and refuses one that is not signed or
	// malformed (D14.4); nil: all are refused.
	Notifications func(name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error)
	// Connection returns the state of the connection to a processor; nil: the API does not show it.
	Connection func(processor.Name) processor.Connection
	// FrameAncestors are the origins that may show the checkout pages in a frame; none by default.
	FrameAncestors []string
	// RateLimit is the number of requests a second that each API key may make; 0 is no limit (D1).
	RateLimit float64
	// Nodes returns the number of nodes that serve, for the rate limit; nil: there is one. Allowed
	// and AllowedElsewhere connect them.
	Nodes func() int
	// OtherCounts sends a question about counts of requests to each other node that serves, and
	// returns their answers (API.CountsFor), and the number of nodes without one; nil: there is no
	// other node.
	OtherCounts func(ctx context.Context, question []byte) (answers [][]byte, silent int)
	// OtherRequests is the same for questions about single requests (API.RequestsFor).
	OtherRequests func(ctx context.Context, question []byte) (answers [][]byte, silent int)
	// KeyUses has the last uses of API keys (D20); nil: in memory.
	KeyUses *keyuse.Uses
	// Events has the events for analysts (I2).
	Events events.Source
	// Listeners hand webhooks to programs that read them as a stream (D18). ListenerExpiry is the
	// time after which one without a reader is deleted, and WebhookTimeout the time that a program
	// has for its answer.
	Listeners                      live.Listeners
	WebhookTimeout, ListenerExpiry time.Duration
	// Closing is closed when the service begins to stop: open streams of events end. nil: never.
	Closing <-chan struct{}
	// Heartbeat is the time between two messages of a silent stream of events; 0: 15 s.
	Heartbeat time.Duration
	// Users signs staff in to the dashboard; nil: there is no dashboard.
	Users *users.Users
	// Timed gets the duration of each request that was answered, and its trace id: of the header
	// traceparent, else X-Request-Id. route is "METHOD /path" of the route; "" if there is none.
	// nil: durations are logged only.
	Timed func(route string, status int, took time.Duration, trace string)
	// Intake bounds requests and their memory; nothing is bound by default.
	Intake Intake
}

// API is the HTTP interface.
type API struct {
	Config
	operations map[string]*validation.Operation
	rules      map[string]request.Rule
	pages      *checkout.Pages
	dashboard  *dashboard.Dashboard
	docs       *docs.Docs
	routing    *routing
	table      []route
	limits     *limits
	answered   answers
	feeds      *intake.Shares[domain.AccountID] // open streams of events
	tokens     *clienttoken.Tokens
	payments   payments.Handlers
	management management.Handlers
	webhooks   webhooks.Handlers
	workflows  workflows.Handlers
	events     events.Handlers
	live       live.Handlers
	requests   *live.RequestLog
	traffic    *traffic.Counts
}

// New prepares the API. It fails when openapi.yaml and the routes differ, and on an unsafe
// configuration.
func New(c Config) (*API, error) {
	if len(c.ClientTokenKey) < clienttoken.MinKey {
		return nil, errors.New("httpapi: the client token key is too short")
	}
	if clienttoken.Environments[c.Environment] == "" {
		return nil, errors.New("httpapi: unknown environment " + c.Environment)
	}
	if c.KeyUses == nil {
		c.KeyUses = keyuse.InMemory()
	}
	operations, err := loadOperations()
	if err != nil {
		return nil, err
	}
	pages, err := checkout.New(c.FrameAncestors)
	if err != nil {
		return nil, err
	}
	a := &API{
		Config: c, operations: operations, pages: pages, docs: newDocs(c),
		limits: newLimits(c.RateLimit, c.Nodes, c.Now), feeds: intake.NewShares[domain.AccountID](maxFeeds, feedsPerAccount),
		answered: answers{count: map[int]uint64{}}, traffic: traffic.New(c.Now()),
	}
	a.connect()
	if c.Users != nil {
		a.dashboard, err = dashboard.New(dashboard.Config{
			Config: frame.Config{API: a.asUser, Environment: c.Environment, Now: c.Now}, Users: c.Users,
		})
		if err != nil {
			return nil, err
		}
	}
	if err := checkRoutes(a.table, operations); err != nil {
		return nil, err
	}
	a.routing = routingOf(a.table)
	return a, nil
}

// CountsFor answers another node's question about the requests that this node answered; nil if the
// question cannot be read.
func (a *API) CountsFor(question []byte) []byte { return a.traffic.Answer(question, a.Now()) }

// RequestsFor answers another node's question about the single requests that this node answered;
// nil if the question cannot be read.
func (a *API) RequestsFor(question []byte) []byte { return a.requests.Answer(question) }

func (a *API) connect() {
	c := a.Config
	a.tokens = &clienttoken.Tokens{Key: c.ClientTokenKey, Environment: c.Environment, PublicURL: c.PublicURL, Now: c.Now}
	if c.Reader != nil && c.Commands != nil {
		a.tokens.Owner, a.tokens.Session = c.Reader.SessionAccount, c.Commands.Session
	}
	a.payments = payments.Handlers{
		Commands: c.Commands, Reader: c.Reader, History: c.History, Proofs: c.Proofs, Tokens: a.tokens, Environment: c.Environment, Now: c.Now, Random: c.Random,
	}
	a.management = management.Handlers{
		Commands: c.Commands, Reader: c.Reader, Reconciler: c.Reconciler, Runs: &management.ReconciliationRuns{}, Closing: c.Closing, KeyUses: c.KeyUses, Now: c.Now, Logger: c.Logger,
		CheckURL: c.CheckURL, SendTest: c.TestEndpoint, Deliveries: c.Deliveries, Events: c.Events, Traffic: &traffic.Nodes{Own: a.traffic, Others: c.OtherCounts},
		Sandbox: c.Environment == account.Sandbox, Connection: c.Connection,
	}
	a.webhooks = webhooks.Handlers{Commands: c.Commands, Deliveries: c.Deliveries}
	a.workflows = workflows.Handlers{Commands: c.Commands, Reader: c.Reader, Engine: c.Workflows, CheckURL: c.CheckURL}
	a.events = events.Handlers{Source: c.Events}
	a.requests = live.NewRequestLog()
	a.live = live.Handlers{
		Commands: c.Commands, Listeners: c.Listeners, Log: a.requests, Requests: &live.Nodes{Own: a.requests, Others: c.OtherRequests}, Timeout: c.WebhookTimeout, Expiry: c.ListenerExpiry,
	}
	if c.Reader != nil {
		a.live.CaughtUp, a.live.Account = c.Reader.CaughtUp, c.Reader.Account
	}
	a.table, a.rules = a.routeTable(), map[string]request.Rule{}
	for _, part := range []interface {
		Rules() map[string]request.Rule
	}{&a.payments, &a.management, &a.webhooks, &a.workflows, &a.events, &a.live} {
		maps.Copy(a.rules, part.Rules())
	}
}

// ServeHTTP answers one request: guards in the order of D3, then the handler, then one log line.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := a.Now()
	id, err := a.idOf(r)
	if err != nil {
		a.Logger.Error().Err(err).Msg("no request id")
	}
	w.Header().Set("X-Request-Id", id)
	r, head := asGet(r)
	ctx, recorded := eventstore.WithRecorded(r.Context())
	c := &call{headOnly: head, recorded: recorded, Call: request.Call{Ctx: ctx, ID: id, Header: r.Header, CursorKey: a.ClientTokenKey, AnswerHeader: w.Header()}, api: a, r: r, w: w}
	done := c.serve()
	a.answered.add(done.status)
	took := a.Now().Sub(start)
	a.logRequest(c, done, took)
	a.noteRequest(c, done, start, took)
	a.timeRequest(c, done.status, took)
	if done.abort {
		panic(http.ErrAbortHandler)
	}
}

type idKey struct{}

// WithID returns a context for a request that another node of the service has given an id to.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

// idOf returns the id that another node gave to a request, or a new one.
func (a *API) idOf(r *http.Request) (string, error) {
	if id, given := r.Context().Value(idKey{}).(string); given {
		return id, nil
	}
	return eventstore.NewUUID(a.Random)
}

func (c *call) serve() outcome {
	leave, err := c.admit()
	defer leave()
	defer c.releaseMemory()
	switch {
	case err == nil && c.api.dashboard != nil && isDashboard(c.r):
		return c.dashboardPage()
	case err == nil:
		return c.answer()
	case c.forPage():
		return c.failPage(err)
	case c.r.Header.Get("Origin") != "": // a page must be able to read why
		c.find()
		c.allowOrigin()
		return c.failed(err)
	default:
		return c.failed(err)
	}
}

// asGet returns a HEAD request as the GET that it implies (D22.7), and whether it was one. The
// server leaves the body of its answer out.
func asGet(r *http.Request) (got *http.Request, head bool) {
	if r.Method != http.MethodHead {
		return r, false
	}
	plain := *r
	plain.Method = http.MethodGet
	return &plain, true
}

// firstSegment returns the first segment of a path, which no route leaves open: each router then
// has few routes to try.
func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// routing finds the place of a call in the table of routes. It is never changed.
type routing struct {
	routers map[string]*mux.Router // by the first segment of the path
	places  map[*mux.Route]int
}

// routings are those of this process, by the methods and paths of their tables: an expression for
// each path takes long to prepare.
var routings sync.Map

func routingOf(table []route) *routing {
	var all strings.Builder
	for _, r := range table {
		all.WriteString(r.method + " " + r.path + "\n")
	}
	known, found := routings.Load(all.String())
	if found {
		return known.(*routing)
	}
	made := &routing{routers: map[string]*mux.Router{}, places: map[*mux.Route]int{}}
	for i, r := range table {
		path := strings.Replace(r.path, "{customerId}", "{customerId:(?s:.+)}", 1) // a merchant's text: it may have slashes and line ends
		router := made.routers[firstSegment(path)]
		if router == nil {
			router = mux.NewRouter().SkipClean(true)
			made.routers[firstSegment(path)] = router
		}
		made.places[router.NewRoute().Methods(r.method).Path(path)] = i
	}
	known, _ = routings.LoadOrStore(all.String(), made)
	return known.(*routing)
}

// match returns the route for the path of a request and a method. A trailing slash is ignored,
// without a redirect (D1), unless it may belong to a merchant's text at the end of the path.
func (a *API) match(r *http.Request, method string) (route, map[string]string, bool) {
	path := r.URL.Path
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	found, vars, ok := a.find(path, method)
	if path != r.URL.Path && (!ok || strings.HasSuffix(found.path, "{customerId}")) {
		return a.find(r.URL.Path, method)
	}
	return found, vars, ok
}

func (a *API) find(path, method string) (route, map[string]string, bool) {
	router := a.routing.routers[firstSegment(path)]
	if router == nil {
		return route{}, nil, false
	}
	var m mux.RouteMatch
	plain := http.Request{Method: method, URL: &url.URL{Path: path}} // the router looks at nothing else
	if router.Match(&plain, &m) && m.Route != nil && m.MatchErr == nil {
		return a.table[a.routing.places[m.Route]], m.Vars, true
	}
	return route{}, nil, false
}
