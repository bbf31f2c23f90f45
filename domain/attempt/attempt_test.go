package attempt_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/attempt"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func created() attempt.Created {
	return attempt.Created{At: at, ID: "01attempt", Account: "acct", ExpiresAt: at.Add(time.Hour), Session: "session-1", Token: "token-1", Shown: &domain.Price{Amount: 5, Currency: "EUR"}}
}

func fold(events ...attempt.Event) (s attempt.State) {
	for _, e := range events {
		s = attempt.Evolve(s, e)
	}
	return s
}

// TestDecisions checks the result of approve, abort and complete in every situation (§3.3, D3, D5).
func TestDecisions(t *testing.T) {
	approved := attempt.WasApproved{At: at.Add(time.Minute), Payment: "01payment", Terms: 3}
	aborted := attempt.WasAborted{At: at.Add(time.Minute), Reason: "gone"}
	done := attempt.Completed{At: at.Add(2 * time.Minute)}
	refused := attempt.Refused{At: at.Add(2 * time.Minute), Reason: "the token is deleted"}
	const nothing = domain.Reason("")
	rows := []struct {
		name                     string
		state                    attempt.State
		now                      time.Time
		status                   attempt.Status
		approve, abort, complete attempt.Event
		approveSays, abortSays   domain.Reason
	}{
		{"unknown", attempt.State{}, at, attempt.Expired, nil, nil, nil, domain.ReasonEntityNotFound, domain.ReasonEntityNotFound},
		{"waiting", fold(created()), at.Add(time.Minute), attempt.RequiresApproval, approved, aborted, nil, nothing, nothing},
		{
			"at its expiry", fold(created()), at.Add(time.Hour), attempt.Expired,
			nil, attempt.WasAborted{At: at.Add(time.Hour), Reason: "gone"}, nil, domain.ReasonAttemptNotPending, nothing,
		},
		{"approved", fold(created(), approved), at.Add(time.Minute), attempt.Approved, nil, nil, attempt.Completed{At: at.Add(time.Minute)}, nothing, domain.ReasonAttemptNotPending},
		{"approved, expired since", fold(created(), approved, done), at.Add(9 * time.Hour), attempt.Approved, nil, nil, nil, nothing, domain.ReasonAttemptNotPending},
		{"aborted", fold(created(), aborted), at.Add(time.Minute), attempt.Aborted, nil, nil, attempt.Completed{At: at.Add(time.Minute)}, domain.ReasonAttemptNotPending, nothing},
		{"approved in vain", fold(created(), approved, refused), at.Add(time.Minute), attempt.Aborted, nil, nil, nil, domain.ReasonAttemptNotPending, nothing},
		{"aborted and done", fold(created(), aborted, done), at.Add(time.Minute), attempt.Aborted, nil, nil, nil, domain.ReasonAttemptNotPending, nothing},
	}
	for _, row := range rows {
		if got := row.state.Status(row.now); got != row.status {
			t.Errorf("%s is %s", row.name, got)
		}
		approve, err := attempt.DecideApprove(row.state, attempt.Approve{At: row.now, Payment: "01payment", Terms: 3})
		check(t, row.name+": approve", approve, err, row.approve, row.approveSays)
		abort, err := attempt.DecideAbort(row.state, attempt.Abort{At: row.now, Reason: "gone"})
		check(t, row.name+": abort", abort, err, row.abort, row.abortSays)
		complete, err := attempt.DecideComplete(row.state, row.now)
		check(t, row.name+": complete", complete, err, row.complete, nothing)
		if due := row.state.Due(); due != (row.complete != nil) {
			t.Errorf("%s: due %t", row.name, due)
		}
	}
}

func check(t *testing.T, name string, got attempt.Event, err error, want attempt.Event, reason domain.Reason) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" || (err == nil) != (reason == "") || err != nil && domain.ReasonOf(err) != reason {
		t.Errorf("%s: %+v, %v", name, got, err)
	}
}

// TestCreate: an attempt is made once; a repeat finds it.
func TestCreate(t *testing.T) {
	e, err := attempt.DecideCreate(attempt.State{}, attempt.Create{Created: created()})
	if d := cmp.Diff(attempt.Event(created()), e); d != "" || err != nil {
		t.Fatal(d, err)
	}
	s := fold(e)
	want := attempt.State{
		ID: "01attempt", Account: "acct", Revision: 1, CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(time.Hour), Session: "session-1", Token: "token-1",
		Shown: &domain.Price{Amount: 5, Currency: "EUR"},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if again, err := attempt.DecideCreate(s, attempt.Create{Created: created()}); again != nil || err != nil {
		t.Error(again, err)
	}
	s = fold(e, attempt.WasApproved{At: at.Add(1), Payment: "01payment", Terms: 3}, attempt.Completed{At: at.Add(2)})
	want.Revision, want.Decision, want.DecidedAt, want.Payment, want.Terms = 3, attempt.Approved, at.Add(1), "01payment", 3
	want.Done, want.UpdatedAt = true, at.Add(2)
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
}

// TestRefuse checks that an approval that cannot be carried out ends once. A completed approval and
// an abort stay unchanged.
func TestRefuse(t *testing.T) {
	approved := fold(created(), attempt.WasApproved{At: at, Payment: "01payment", Terms: 3})
	e, err := attempt.DecideRefuse(approved, attempt.Refuse{At: at.Add(1), Reason: "deleted"})
	check(t, "approved", e, err, attempt.Refused{At: at.Add(1), Reason: "deleted"}, "")
	ended := attempt.Evolve(approved, e)
	if ended.Payment != "" || ended.Reason != "deleted" || ended.Due() {
		t.Errorf("%+v", ended)
	}
	for _, s := range []attempt.State{{}, fold(created()), ended, attempt.Evolve(approved, attempt.Completed{At: at}), fold(created(), attempt.WasAborted{At: at})} {
		e, err := attempt.DecideRefuse(s, attempt.Refuse{At: at})
		check(t, "not to be refused", e, err, nil, "")
	}
	kept, err := attempt.DecideAbort(fold(created()), attempt.Abort{At: at, TokenKept: true})
	if s := fold(created(), kept); err != nil || !s.TokenKept || !s.Due() {
		t.Errorf("%+v", s)
	}
}

// TestNextCall checks that the errors of an attempt name the call to make next, with the ids of the
// payment or of the current attempt (D3).
func TestNextCall(t *testing.T) {
	approved := fold(created(), attempt.WasApproved{At: at, Payment: "01payment", Terms: 3})
	_, abort := attempt.DecideAbort(approved, attempt.Abort{At: at.Add(1)})
	_, expired := attempt.DecideApprove(fold(created()), attempt.Approve{At: at.Add(time.Hour)})
	for want, err := range map[string]error{
		"POST /payments/01payment/cancel": abort, "POST /client-session": expired, "POST /payment-attempts/01current/approve": attempt.NotCurrent("01current"),
	} {
		if e, is := errors.AsType[*domain.Error](err); !is || !strings.Contains(e.Recovery, want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
