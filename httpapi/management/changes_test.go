package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/request"
)

// changes are all calls that change the account, by their command. Each needs a body that passes
// the handler's own checks.
func changes(r *rig) map[string]func() (any, error) {
	r.merchant.Users = []account.User{ada()}
	of := func(handle func(*request.Call) (any, error), body string) func() (any, error) {
		return func() (any, error) { return handle(r.body(body, "id", "ada")) }
	}
	return map[string]func() (any, error){
		"CreateAPIKey":        of(request.WithBody(r.h.CreateAPIKey), `{}`),
		"RevokeAPIKey":        of(r.h.RevokeAPIKey, `{}`),
		"CreateEndpoint":      of(request.WithBody(r.h.CreateEndpoint), `{}`),
		"ChangeEndpoint":      of(request.WithBody(r.h.ChangeEndpoint), `{}`),
		"DeleteEndpoint":      of(r.h.DeleteEndpoint, `{}`),
		"RotateSigningSecret": of(r.h.RotateSigningSecret, `{}`),
		"ChangeRouting":       of(request.WithBody(r.h.PutRouting), `{}`),
		"ChangeProcessor":     of(request.WithBody(r.h.ChangeProcessor), `{}`),
		"ChangeSettings":      of(request.WithBody(r.h.ChangeSettings), `{}`),
		"AddUser":             of(request.WithBody(r.h.CreateUser), `{"role":"admin"}`),
		"ChangeUser":          of(request.WithBody(r.h.ChangeUser), `{}`),
		"RemoveUser":          of(r.h.RemoveUser, `{}`),
		"EraseCustomer":       of(r.h.EraseCustomer, `{}`),
		"EraseGuest":          of(r.h.EraseGuest, `{}`),
	}
}

// TestRefusedChanges checks that each call passes the command's error on as it is, without an
// answer and without waiting for the views.
func TestRefusedChanges(t *testing.T) {
	r := newRig(t)
	r.shownOnce = "secret"
	for command, change := range changes(r) {
		for _, refused := range []error{
			domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The account was changed at the same moment."),
			domain.Invalid("UserChange", domain.Violation{Path: "$.role", Description: "must stay admin"}),
			domain.Unavailable(errors.New("no log")),
			errors.New("a fault of the service"),
		} {
			r.calls, r.fails[command] = nil, refused
			got, err := change()
			if got != nil || err != refused { //nolint:errorlint // the same error, not a wrapped one
				t.Errorf("%s: %v, %v", command, got, err)
			}
			if last := r.calls[len(r.calls)-1].Method; last != command {
				t.Errorf("%s was refused, and %s was called", command, last)
			}
		}
	}
}

// TestChangesAreShown checks that each change is answered after the views show it: a new key works,
// and lists have it, at once (D20).
func TestChangesAreShown(t *testing.T) {
	for command := range changes(newRig(t)) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			shown := false
			r.views = func(context.Context) error {
				<-time.After(3 * time.Second) // of the test's own clock
				shown = true
				return nil
			}
			got, err := changes(r)[command]()
			if must(t, err); got == nil || !shown || r.log.Len() > 0 {
				t.Errorf("%s answered %v; shown: %t, log: %s", command, got, shown, r.log.String())
			}
		})
	}
}

// TestChangesThatAreNotShown checks that each change is answered after five seconds if the views do
// not advance, with its secrets: only this answer shows them. The log then has a line (D20).
func TestChangesThatAreNotShown(t *testing.T) {
	for command := range changes(newRig(t)) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.shownOnce = "shown once"
			r.views = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
			began := time.Now()
			got, err := changes(r)[command]()
			if must(t, err); got == nil || time.Since(began) != 5*time.Second {
				t.Errorf("%s answered %v after %s", command, got, time.Since(began))
			}
			var line struct{ Level, Error, RequestID, Message string }
			must(t, json.Unmarshal(r.log.Bytes(), &line))
			got = [...]string{line.Level, line.Error, line.RequestID, line.Message}
			if want := [...]string{"warn", context.DeadlineExceeded.Error(), caller.RequestID, "answered before the views show it"}; got != want {
				t.Errorf("%s logged %q", command, got)
			}
		})
	}
}

// TestCallerLeaves checks that a change of a caller who went away does not wait for the views.
func TestCallerLeaves(t *testing.T) {
	r := newRig(t)
	r.views = func(ctx context.Context) error { return ctx.Err() }
	c := r.with("id", "hook")
	var leave context.CancelFunc
	c.Ctx, leave = context.WithCancel(c.Ctx)
	leave()
	r.h.DeleteEndpoint(c)
	if r.log.Len() == 0 {
		t.Error("the views were waited for without the caller's context")
	}
}
