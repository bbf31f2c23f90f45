package management_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/workflow"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/keyuse"
	"payledger/httpapi/management"
	"payledger/httpapi/request"
	"payledger/httpapi/traffic"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/auditlog"
	"payledger/projections/deliveries"
	"payledger/projections/eventjson"
	"payledger/projections/listing"
	"payledger/projections/statistics"
)

// noon is the time of all calls. noonText is its form in answers.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

const noonText = `"2026-03-14T12:00:00.000000Z"`

// caller is the origin of the commands of the rig's calls.
var caller = commands.Caller{Account: "shop", Actor: "api_key:key-1", RequestID: "request-1", Origin: "192.0.2.7"}

// called is one call of a double.
type called struct {
	Method string
	In     []any
}

func call(method string, in ...any) called { return called{method, in} }

// doubles stand for the commands, the views and all else that the handlers call. They note each
// call, in one order, and return the values that the test has set.
type doubles struct {
	calls []called
	fails map[string]error // by method

	// Results of the commands.
	key       account.APIKey
	shownOnce string // the text of a key, the password of a user
	endpoint  account.Endpoint
	rotated   accounts.RotatedSecret
	routing   account.Routing
	processor account.Processor
	settings  account.Settings
	user      account.User
	erased    person.State
	attempts  map[domain.AttemptID]attempt.State
	workflows workflow.State

	// Results of the views.
	views       func(context.Context) error // the result of CaughtUp; nil: the views show everything
	lag         projections.Lag
	disputes    map[domain.DisputeID]dispute.State
	disputeList listing.Page[dispute.State]
	report      statistics.Report
	audit       listing.Page[auditlog.Entry]
	payments    map[domain.PaymentID]payment.State
	ofFilter    func(projections.PaymentFilter) []projections.PaymentSummary
	transaction []payment.State
	runs        map[domain.RunID]workflow.RunState
	customers   []string

	customerList listing.Page[projections.Customer]

	deliveries map[string]deliveries.Detail
	sent       deliveries.Statistics
	replays    map[string]deliveries.Replay
	events     map[uint64]eventjson.Event
	test       deliveries.Attempt
	reconciles func(report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error)
}

// note notes a call and returns the error of its method.
func (d *doubles) note(method string, in ...any) error {
	d.calls = append(d.calls, call(method, in...))
	return d.fails[method]
}

// entry returns an entry of a map, or the error of a missing one.
func entry[ID ~string, T any](d *doubles, method string, all map[ID]T, owner domain.AccountID, id ID, reason domain.Reason) (T, error) {
	err := d.note(method, owner, id)
	found, known := all[id]
	if err == nil && !known {
		err = domain.Refuse(domain.KindNotFound, reason, "There is none.")
	}
	return found, err
}

func (d *doubles) CreateAPIKey(_ context.Context, by commands.Caller, made account.APIKey) (account.APIKey, string, error) {
	return d.key, d.shownOnce, d.note("CreateAPIKey", by, made)
}

func (d *doubles) RevokeAPIKey(_ context.Context, by commands.Caller, id domain.APIKeyID) (account.APIKey, error) {
	return d.key, d.note("RevokeAPIKey", by, id)
}

func (d *doubles) CreateEndpoint(_ context.Context, by commands.Caller, in accounts.EndpointInput) (account.Endpoint, error) {
	return d.endpoint, d.note("CreateEndpoint", by, in)
}

func (d *doubles) ChangeEndpoint(_ context.Context, by commands.Caller, id domain.EndpointID, in account.ChangeEndpoint) (account.Endpoint, error) {
	return d.endpoint, d.note("ChangeEndpoint", by, id, in)
}

func (d *doubles) DeleteEndpoint(_ context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error) {
	return d.endpoint, d.note("DeleteEndpoint", by, id)
}

func (d *doubles) RotateSigningSecret(_ context.Context, by commands.Caller) (accounts.RotatedSecret, error) {
	return d.rotated, d.note("RotateSigningSecret", by)
}

func (d *doubles) ChangeRouting(_ context.Context, by commands.Caller, in account.Routing) (account.Routing, error) {
	return d.routing, d.note("ChangeRouting", by, in)
}

func (d *doubles) ChangeProcessor(_ context.Context, by commands.Caller, in account.ChangeProcessor) (account.Processor, error) {
	return d.processor, d.note("ChangeProcessor", by, in)
}

func (d *doubles) ChangeSettings(_ context.Context, by commands.Caller, in account.ChangeSettings) (account.Settings, error) {
	return d.settings, d.note("ChangeSettings", by, in)
}

func (d *doubles) AddUser(_ context.Context, by commands.Caller, in accounts.UserInput) (account.User, string, error) {
	return d.user, d.shownOnce, d.note("AddUser", by, in)
}

func (d *doubles) ChangeUser(_ context.Context, by commands.Caller, id domain.UserID, in accounts.UserChange) (account.User, string, error) {
	return d.user, d.shownOnce, d.note("ChangeUser", by, id, in)
}

func (d *doubles) RemoveUser(_ context.Context, by commands.Caller, id domain.UserID) (account.User, error) {
	return d.user, d.note("RemoveUser", by, id)
}

func (d *doubles) EraseCustomer(_ context.Context, by commands.Caller, customer string) (person.State, error) {
	return d.erased, d.note("EraseCustomer", by, customer)
}

func (d *doubles) EraseGuest(_ context.Context, by commands.Caller, id domain.PaymentID) (person.State, error) {
	return d.erased, d.note("EraseGuest", by, id)
}

func (d *doubles) Attempt(_ context.Context, owner domain.AccountID, id domain.AttemptID) (attempt.State, error) {
	return entry(d, "Attempt", d.attempts, owner, id, domain.ReasonEntityNotFound)
}

func (d *doubles) Workflows(_ context.Context, owner domain.AccountID) (workflow.State, error) {
	return d.workflows, d.note("Workflows", owner)
}

func (d *doubles) CaughtUp(ctx context.Context) error {
	err := d.note("CaughtUp")
	if d.views != nil {
		return d.views(ctx)
	}
	return err
}

func (d *doubles) Lag(context.Context) (projections.Lag, error) { return d.lag, d.note("Lag") }

func (d *doubles) Fresh(context.Context) (time.Time, error) { return noon, d.note("Fresh") }

func (d *doubles) Customers(_ context.Context, owner domain.AccountID, from *listing.Place, limit int) (listing.Page[projections.Customer], error) {
	return d.customerList, d.note("Customers", owner, from, limit)
}

func (d *doubles) Customer(_ context.Context, owner domain.AccountID, id string) (projections.Customer, bool, error) {
	i := slices.IndexFunc(d.customerList.Data, func(c projections.Customer) bool { return c.ID == id })
	err := d.note("Customer", owner, id)
	if i < 0 {
		return projections.Customer{}, false, err
	}
	return d.customerList.Data[i], true, err
}

func (d *doubles) ListDisputes(_ context.Context, owner domain.AccountID, f projections.DisputeFilter, from *listing.Place, limit int) (listing.Page[dispute.State], error) {
	return d.disputeList, d.note("ListDisputes", owner, f, from, limit)
}

func (d *doubles) Dispute(_ context.Context, owner domain.AccountID, id domain.DisputeID) (dispute.State, error) {
	return entry(d, "Dispute", d.disputes, owner, id, domain.ReasonEntityNotFound)
}

func (d *doubles) Statistics(_ context.Context, owner domain.AccountID, q statistics.Query) (statistics.Report, error) {
	return d.report, d.note("Statistics", owner, q)
}

func (d *doubles) ListAudit(_ context.Context, owner domain.AccountID, f auditlog.Filter, from *listing.Place, limit int) (listing.Page[auditlog.Entry], error) {
	return d.audit, d.note("ListAudit", owner, f, from, limit)
}

func (d *doubles) Payment(_ context.Context, owner domain.AccountID, id domain.PaymentID) (payment.State, error) {
	return entry(d, "Payment", d.payments, owner, id, domain.ReasonPayment)
}

func (d *doubles) ListPayments(_ context.Context, owner domain.AccountID, f projections.PaymentFilter, from *listing.Place, limit int) (page projections.PaymentPage, err error) {
	if d.ofFilter != nil {
		page.Data = d.ofFilter(f)
	}
	return page, d.note("ListPayments", owner, f, from, limit)
}

func (d *doubles) PaymentsOfTransaction(_ context.Context, owner domain.AccountID, id string, limit int) ([]payment.State, error) {
	return d.transaction, d.note("PaymentsOfTransaction", owner, id, limit)
}

func (d *doubles) FindRun(_ context.Context, owner domain.AccountID, id domain.RunID) (workflow.RunState, error) {
	return d.runs[id], d.note("FindRun", owner, id)
}

func (d *doubles) HasCustomer(_ context.Context, owner domain.AccountID, id string) (bool, error) {
	return slices.Contains(d.customers, id), d.note("HasCustomer", owner, id)
}

func (d *doubles) Counts(_ context.Context, owner domain.AccountID, p deliveries.Period) (deliveries.Statistics, error) {
	return d.sent, d.note("Counts", owner, p)
}

func (d *doubles) Delivery(_ context.Context, owner domain.AccountID, id string) (deliveries.Detail, error) {
	return entry(d, "Delivery", d.deliveries, owner, id, domain.ReasonEntityNotFound)
}

func (d *doubles) Replay(_ context.Context, owner domain.AccountID, id string) (deliveries.Replay, error) {
	return entry(d, "Replay", d.replays, owner, id, domain.ReasonEntityNotFound)
}

func (d *doubles) At(_ context.Context, owner domain.AccountID, position uint64) (eventjson.Event, bool, error) {
	err := d.note("At", owner, position)
	e, is := d.events[position]
	return e, is, err
}

func (d *doubles) Run(_ context.Context, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
	d.note("Run", q)
	return d.reconciles(report, progress)
}

func (d *doubles) sendTest(_ context.Context, owner domain.AccountID, id domain.EndpointID) (deliveries.Attempt, error) {
	return d.test, d.note("SendTest", owner, id)
}

func (d *doubles) checkURL(_ context.Context, url string) error { return d.note("CheckURL", url) }

// rig has the handlers on doubles. Calls are made with an API key that has every scope and does not
// expire.
type rig struct {
	*doubles
	t        *testing.T
	h        *management.Handlers
	merchant account.State
	key      account.APIKey // of the call
	log      bytes.Buffer
}

func newRig(t *testing.T) *rig {
	r := &rig{doubles: &doubles{fails: map[string]error{}}, t: t}
	r.merchant = account.State{ID: "shop", CreatedAt: noon.AddDate(-1, 0, 0)}
	r.key = account.APIKey{ID: "key-1", Scopes: account.Scopes}
	r.h = &management.Handlers{
		Commands: r.doubles, Reader: r.doubles, Deliveries: r.doubles, Events: r.doubles, Reconciler: r.doubles, Runs: &management.ReconciliationRuns{}, KeyUses: keyuse.InMemory(),
		Now: func() time.Time { return noon }, Logger: zerolog.New(&r.log), CheckURL: r.checkURL, SendTest: r.sendTest,
		Traffic: &traffic.Nodes{Own: traffic.New(noon.AddDate(0, 0, 1))},
	}
	return r
}

// with returns a call without a body. vars are the names and the values of the variable parts of
// the path.
func (r *rig) with(vars ...string) *request.Call {
	c := &request.Call{
		Ctx: r.t.Context(), ID: caller.RequestID, Actor: caller.Actor, Origin: caller.Origin, Merchant: r.merchant, Key: r.key, Query: url.Values{},
		Vars: map[string]string{}, CursorKey: []byte("key of cursors"), AnswerHeader: http.Header{},
	}
	for pair := range slices.Chunk(vars, 2) {
		c.Vars[pair[0]] = pair[1]
	}
	return c
}

// query returns a call with a query.
func (r *rig) query(text string) *request.Call {
	r.t.Helper()
	c := r.with()
	var err error
	c.Query, err = url.ParseQuery(text)
	must(r.t, err)
	return c
}

// body returns a call with a body of the schema "Body".
func (r *rig) body(text string, vars ...string) *request.Call {
	r.t.Helper()
	c := r.with(vars...)
	c.Model = "Body"
	var err error
	c.Body, err = validation.Parse([]byte(text))
	must(r.t, err)
	return c
}

// faults returns the violations that the rule of an operation adds to those already found, as "path
// description".
func (r *rig) faults(operation string, c *request.Call, already ...domain.Violation) (all []string) {
	r.t.Helper()
	v := validation.Violations(slices.Clone(already))
	r.h.Rules()[operation](&v, c)
	for _, fault := range v[len(already):] {
		all = append(all, fault.Path+" "+fault.Description)
	}
	return all
}

// made fails unless these were the calls of the doubles since the last time.
func (r *rig) made(want ...called) {
	r.t.Helper()
	if d := cmp.Diff(want, r.calls); d != "" {
		r.t.Errorf("calls (-want +got): %s", d)
	}
	r.calls = nil
}

// changed fails unless one command was called by the caller, and the views were waited for after
// it.
func (r *rig) changed(command string, in ...any) {
	r.t.Helper()
	r.made(call(command, append([]any{caller}, in...)...), call("CaughtUp"))
}

// answered fails unless a handler answered with this JSON.
func (r *rig) answered(want string) func(any, error) {
	return func(got any, err error) {
		r.t.Helper()
		must(r.t, err)
		if text := asJSON(r.t, got); text != want {
			r.t.Errorf("answered\n%s\nwant\n%s", text, want)
		}
	}
}

// page fails unless a handler answered a page that begins like this, and has a cursor, which it
// returns.
func (r *rig) page(want string) func(any, error) string {
	return func(got any, err error) string {
		r.t.Helper()
		must(r.t, err)
		cursor := cursorOf(r.t, got)
		if text := asJSON(r.t, got); cursor == "" || text != want+`,"nextCursor":"`+cursor+`"}` {
			r.t.Errorf("answered\n%s\nwant\n%s", text, want)
		}
		return cursor
	}
}

// refused fails unless a handler refused the call, for this reason and with all of these texts in
// the error.
func (r *rig) refused(reason domain.Reason, texts ...string) func(any, error) {
	return func(_ any, err error) {
		r.t.Helper()
		if err == nil || domain.ReasonOf(err) != reason {
			r.t.Fatalf("refused with %v, want %s", err, reason)
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				r.t.Errorf("refused with %q, without %q", err, text)
			}
		}
	}
}

// invalid fails unless a handler refused the call with one violation of the model.
func (r *rig) invalid(model, path, description string) func(any, error) {
	return func(got any, err error) {
		r.t.Helper()
		r.refused(domain.ReasonRequestValidation)(got, err)
		e, _ := errors.AsType[*domain.Error](err)
		if d := cmp.Diff([]domain.Violation{{Path: path, Description: description}}, e.Violations); d != "" || e.Model != model {
			r.t.Errorf("of %s (-want +got): %s", e.Model, d)
		}
	}
}

func asJSON(t *testing.T, answer any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	must(t, encoder.Encode(answer))
	return strings.TrimSpace(b.String())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails unless the texts are equal.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
