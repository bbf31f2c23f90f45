package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/management"
	"payledger/httpapi/request"
)

// asUser implements frame.API: it calls the API in the name of a signed-in dashboard user, in this
// process (D20). It runs the guards of D3, but for the credential and the gate, which the browser's
// request has passed.
func (a *API) asUser(ctx context.Context, by frame.Identity, r frame.Request) frame.Answer {
	w := &held{header: http.Header{}, status: http.StatusOK}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			a.Logger.Error().Err(err).Msg("a request of the dashboard does not encode")
		}
	}
	ctx, recorded := eventstore.WithRecorded(ctx)
	inner := (&http.Request{
		Method: r.Method, URL: &url.URL{Path: r.Path, RawQuery: r.Query.Encode()}, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(ctx)
	if r.Body != nil {
		inner.Header.Set("Content-Type", "application/json")
	}
	if r.IdempotencyKey != "" {
		inner.Header.Set("X-Idempotency-Key", r.IdempotencyKey)
	}
	c := &call{
		recorded: recorded, api: a, r: inner, w: w, user: &by, client: by.Client,
		Call: request.Call{Ctx: ctx, ID: by.RequestID, Header: inner.Header, CursorKey: a.ClientTokenKey, AnswerHeader: w.header, Seen: r.Seen},
	}
	defer c.releaseMemory()
	if done := c.answer(); done.abort || done.cut != nil || w.full {
		return frame.Answer{Status: http.StatusInternalServerError, Body: []byte(`{"error":{"errorId":"InternalError","description":"The answer broke off."}}`)}
	}
	return frame.Answer{Status: w.status, Body: w.body.Bytes(), Lag: w.header.Get(request.HeaderLag), Revision: c.Revision}
}

// authenticateUser makes the signed-in user the caller, with the scopes of the user's role.
func (c *call) authenticateUser() {
	c.Merchant, c.Actor, c.UserSession = c.user.Merchant, users.Actor(c.user.User.ID), c.user.Session
	if shown, known := c.api.Reader.Account(c.Merchant.ID); known && shown.Revision > c.Merchant.Revision { // an earlier call of the page changed it
		c.Merchant = shown
	}
	c.Key = account.APIKey{Name: c.user.User.Name, Scopes: c.user.User.Role.Scopes()}
}

func (c *call) checkRole() error {
	role := c.user.User.Role
	if management.Allows(role, c.route.scope, c.route.operation) {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope, "The role %s does not allow this.", role)
}

const heldMost = 32 << 20

type held struct {
	header http.Header
	status int
	body   bytes.Buffer
	full   bool // a part of the answer did not fit
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (h *held) Header() http.Header    { return h.header }
func (h *held) WriteHeader(status int) { h.status = status }
func (h *held) Write(b []byte) (int, error) {
	if h.body.Len()+len(b) > heldMost {
		h.full = true
		return 0, fmt.Errorf("httpapi: an answer for the dashboard is larger than %d bytes", heldMost)
	}
	return h.body.Write(b)
}

// Flush implements http.Flusher.
func (h *held) Flush() {}

func isDashboard(r *http.Request) bool {
	return r.URL.Path == dashboard.Path || strings.HasPrefix(r.URL.Path, dashboard.Path+"/")
}

const (
	maxForm = 512 << 10
	// maxFields bounds the fields of a form before it is parsed: the largest form, of routing
	// rules, has some hundreds (D22.14).
	maxFields = 4000
	// pageSize is the memory of a page while it is made and written, about, in bytes.
	pageSize = 2 << 20
	// LargestAnswer is the most memory that one request reserves in Config's Intake.Answers, about,
	// in bytes: an exported list takes it while it is made and written. A budget must have twice as
	// much, or every export is refused.
	LargestAnswer = 16 << 20
)

// dashboardPage answers a request for a page of the dashboard. It takes one place in the gate for
// all calls that the page makes, as for a call of the API: after the form is read, and until the
// answer is made but not written.
func (c *call) dashboardPage() outcome {
	c.route.access = byPage
	if dashboard.NeedsNoPlace(c.r) {
		return c.servePage(c.w)
	}
	size := int64(pageSize)
	if strings.HasSuffix(c.r.URL.Path, ".csv") {
		size = LargestAnswer
	}
	if err := c.reserve(c.api.Intake.Answers, size); err != nil {
		return c.failPage(err)
	}
	form, err := c.readWithin(http.MaxBytesReader(c.w, c.r.Body, maxForm), maxForm)
	if errors.Is(err, errOverloaded) {
		return c.failPage(err)
	}
	if err != nil || encoded(c.r.Header) || bytes.Count(form, []byte("&")) > maxFields { // too large, or cut: the page says so
		form = nil
		c.r.Header.Set("Content-Type", "application/octet-stream")
	}
	c.r.Body = io.NopCloser(bytes.NewReader(form))
	answer := &held{header: c.w.Header(), status: http.StatusOK}
	done, shed := c.madePage(answer)
	if shed != nil {
		return c.failPage(shed)
	}
	if done.abort || answer.full { // a half answer must not look like a whole one
		done.abort = true
		return done
	}
	c.w.WriteHeader(answer.status)
	if _, err := c.w.Write(answer.body.Bytes()); err != nil {
		done.cut = err
	}
	return done
}

func (c *call) madePage(to http.ResponseWriter) (done outcome, shed error) {
	if c.api.Intake.Gate != nil {
		place, ok := c.api.Intake.Gate.Enter(c.Ctx, c.placeOwner())
		if !ok {
			return done, c.refuseOverload()
		}
		defer place.Leave()
		c.Ctx = commands.WithPlace(c.Ctx, place)
	}
	return c.servePage(to), nil
}

func (c *call) servePage(to http.ResponseWriter) outcome {
	client, _ := netip.ParseAddr(clientAddress(c)) // the zero address: unknown
	served := c.api.dashboard.Serve(to, c.r.WithContext(frame.WithClient(c.Ctx, client, c.ID)))
	c.route.path, c.Merchant, c.Actor = served.Route, served.Account, served.Actor
	return outcome{status: served.Status, failure: served.Failure, cut: served.Gone, abort: served.Abort}
}
