package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/eventstore/commands"
	"payledger/projections/history"
)

// Reader is what the API reads: one payment linearizably, its history, and what sessions belong to.
type Reader interface {
	// Payment gives the newest state of an account's payment; a domain error when there is none.
	Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error)
	// Personal opens sealed personal data; erased data opens as empty.
	Personal(ctx context.Context, sealed *domain.Sealed) (domain.Personal, error)
	// SessionAccount tells whose session it is.
	SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error)
	AccountByKey(id domain.APIKeyID) (account.State, bool)
	Account(id domain.AccountID) (account.State, bool)
}

// Config is what the API needs.
type Config struct {
	Commands       *commands.Service
	Reader         Reader
	History        *history.Reader
	ClientTokenKey []byte // signs client tokens (D4)
	PublicURL      string // this service as browsers reach it
	Environment    string // account.Sandbox or account.Production
	Now            func() time.Time
	Random         io.Reader
	Logger         zerolog.Logger
	// Ready gives the reason why the service should get no requests, or nil (I1: /readyz).
	Ready func(context.Context) error
	// CheckURL refuses addresses that webhooks must not go to (D18).
	CheckURL func(ctx context.Context, url string) error
	// RateLimit is the number of requests a second that each API key may make; 0 is no limit (D1).
	RateLimit float64
}

// API is the HTTP interface.
type API struct {
	Config
	schemas schemas
	router  *mux.Router
	routes  map[*mux.Route]route
	limits  *limits
}

// New prepares the API; it fails when openapi.yaml and the routes do not fit.
func New(c Config) (*API, error) {
	s, err := loadSchemas()
	if err != nil {
		return nil, err
	}
	a := &API{
		Config: c, schemas: s, router: mux.NewRouter().SkipClean(true), routes: map[*mux.Route]route{},
		limits: newLimits(c.RateLimit, c.Now),
	}
	for _, r := range routes {
		if r.operation != "" && !s.has(r.operation) {
			return nil, errors.New("httpapi: openapi.yaml lacks the operation " + r.operation)
		}
		a.routes[a.router.NewRoute().Methods(r.method).Path(r.path)] = r
	}
	return a, nil
}

// ServeHTTP answers one request: guards in the order of D3, then the handler, then one log line.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := a.Now()
	c := &call{api: a, r: r, w: w, ctx: r.Context()}
	id, err := a.requestID()
	if err != nil {
		a.Logger.Error().Err(err).Msg("no request id")
	}
	c.id = id
	w.Header().Set("X-Request-Id", id)
	status, failure := c.answer()
	a.logRequest(c, status, failure, a.Now().Sub(start))
}

// match finds the route of a request. A trailing slash counts as none, without a redirect (D1).
func (a *API) match(r *http.Request) (route, map[string]string, bool) {
	plain := r.Clone(r.Context())
	if len(plain.URL.Path) > 1 {
		plain.URL.Path = strings.TrimSuffix(plain.URL.Path, "/")
		plain.URL.RawPath = ""
	}
	var m mux.RouteMatch
	if a.router.Match(plain, &m) && m.Route != nil && m.MatchErr == nil {
		return a.routes[m.Route], m.Vars, true
	}
	return route{}, nil, false
}

// allowed lists the methods that the path takes; none for an unknown path.
func (a *API) allowed(r *http.Request) []string {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, _, ok := a.match(other); ok {
			methods = append(methods, method)
		}
	}
	return methods
}
