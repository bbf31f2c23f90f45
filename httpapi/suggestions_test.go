package httpapi

import (
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/httpapi/dashboard/frame"
)

// withoutSuggestion are the errorIds that suggest nothing, each with the reason. There are none.
var withoutSuggestion = map[domain.Reason]string{}

// errorRow is a row of the table of errors in CONTRACT.md: its errorIds and their statuses.
var errorRow = regexp.MustCompile(`(?m)^\| ([A-Z][A-Za-z, ]+) \| [0-9, ]+ \| .* \|$`)

// TestEveryReasonHasASuggestion: every errorId of CONTRACT.md has a suggestion, or is on a list
// with the reason why not (D3).
func TestEveryReasonHasASuggestion(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := 0
	for _, row := range errorRow.FindAllStringSubmatch(string(contract), -1) {
		for _, id := range strings.Split(row[1], ", ") {
			documented++
			reason := domain.Reason(id)
			if suggestion := errorTable[reason].suggestion; (suggestion == "") == (withoutSuggestion[reason] == "") {
				t.Errorf("%s: suggestion %q, reason for none %q", id, suggestion, withoutSuggestion[reason])
			}
		}
	}
	if documented != len(errorTable) {
		t.Errorf("CONTRACT.md has %d errorIds in its table, the code has %d", documented, len(errorTable))
	}
	for reason, row := range errorTable {
		if row.status == 0 {
			t.Errorf("%s has a suggestion and no status", reason)
		}
	}
}

// TestSuggestionsForPeople: the dashboard shows no suggestion that only a program can follow. For
// the errors of its forms it has its own.
func TestSuggestionsForPeople(t *testing.T) {
	t.Parallel()
	for reason, row := range errorTable {
		shown := frame.ForPeople(reason, row.suggestion)
		for _, word := range []string{"X-", "GET ", "POST ", "validationErrors", "request", "Retry-After", "header", "diagnosticsId"} {
			if strings.Contains(shown, word) {
				t.Errorf("%s: people read %q", reason, shown)
			}
		}
	}
	for _, reason := range []domain.Reason{
		domain.ReasonRequestValidation, domain.ReasonEntityNotFound, domain.ReasonInvalidPaymentStatus, domain.ReasonPaymentAlreadyRefunded,
		domain.ReasonUnprocessableRefundAmount, domain.ReasonPaymentRequestLimit, domain.ReasonConcurrentModification, domain.ReasonServiceUnavailable,
		domain.ReasonRateLimitExceeded, domain.ReasonRequestTooLarge,
	} {
		if frame.ForPeople(reason, errorTable[reason].suggestion) == "" {
			t.Errorf("%s: people read no advice", reason)
		}
	}
	if own := "Enter 1 to 3 words."; frame.ForPeople(domain.ReasonRequestValidation, own) != own {
		t.Errorf("%q is replaced", own)
	}
}

// TestUnknownIdsNameTheList: the error about an unknown id names the call that lists the right
// ones.
func TestUnknownIdsNameTheList(t *testing.T) {
	t.Parallel()
	a := testAPI(t)
	for operation, list := range map[string]string{
		"getWorkflow": "workflows", "replaceWorkflow": "workflows", "enableWorkflow": "workflows", "listWorkflowRuns": "workflows", "simulateWorkflow": "workflows",
		"changeUser": "users", "removeUser": "users", "revokeApiKey": "api-keys", "changeWebhookEndpoint": "webhook-endpoints",
		"testWebhookEndpoint": "webhook-endpoints", "getWebhookDelivery": "webhook-deliveries", "resendWebhookDelivery": "webhook-deliveries",
		"getDispute": "disputes", "changeProcessor": "processors",
	} {
		text := a.postCall(operation, "").suggestion(&domain.Error{Reason: domain.ReasonEntityNotFound})
		if !strings.HasSuffix(text, " GET /management/"+list+" lists the account's own.") {
			t.Errorf("%s: %s", operation, text)
		}
	}
}

// TestAfterUnknown checks the suggestions of every call after errors with which its caller does not
// know what was recorded, and after a race: each is about the call's own things, and a call that it
// names exists and reads or repeats (D3).
func TestAfterUnknown(t *testing.T) {
	t.Parallel()
	a := testAPI(t)
	for _, r := range a.table {
		if r.method == http.MethodGet || r.access == byPage || r.access == byNothing || r.access == bySignature {
			continue
		}
		c := a.postCall(r.operation, "")
		for _, err := range []error{domain.OutcomeUnknown(nil), &domain.Error{Reason: domain.ReasonServiceUnavailable, Recovery: domain.WaitForNodes}, &domain.Error{Reason: domain.ReasonInternal}, raceOf(r.operation)} {
			e, is := errors.AsType[*domain.Error](err)
			if !is {
				t.Fatal(err)
			}
			text := c.suggestion(e)
			ofPayment := strings.Contains(r.path, "payments")
			if !ofPayment && strings.Contains(text, "payment") && r.access == byAPIKey || text == "" {
				t.Errorf("%s after %s: %q", r.operation, e.Reason, text)
			}
			for _, m := range namedCall.FindAllStringSubmatch(text, -1) {
				path, _, _ := strings.Cut(m[2], "?")
				if !slices.ContainsFunc(a.table, func(other route) bool { return other.method == m[1] && other.path == path && other.access == r.access }) {
					t.Errorf("%s after %s names %s, which its caller cannot make: %s", r.operation, e.Reason, m[0], text)
				}
			}
		}
	}
	for operation, want := range map[string]string{
		"createApiKey": "GET /management/api-keys ", "createUser": "GET /management/users ", "createWebhookEndpoint": "GET /management/webhook-endpoints ",
		"createWorkflow": "GET /management/workflows ", "rotateSigningSecret": "GET /management/signing-secret ", "createPayment": "GET /payments.",
		"captureManagedPayment": "GET /management/payments.", "removeUser": "EntityNotFound means", "createCheckoutPayment": "it pays once",
	} {
		if text := a.postCall(operation, "").suggestion(domain.OutcomeUnknown(nil)); !strings.Contains(text, want) {
			t.Errorf("%s: %s", operation, text)
		}
		if text := a.postCall(operation, "").suggestion(&domain.Error{Reason: domain.ReasonInternal}); !strings.Contains(text, want) || !strings.Contains(text, "Report the diagnosticsId") {
			t.Errorf("%s after a fault: %s", operation, text)
		}
	}
}

// raceOf returns the error of the slower of two requests of the same moment.
func raceOf(operation string) error {
	if operation != "rotateSigningSecret" {
		return eventstore.Overtaken()
	}
	_, err := account.DecideRotateSigningSecret(account.State{}, account.RotateSigningSecret{Replaces: "other"})
	return err
}

// namedCall is a call that a text names.
var namedCall = regexp.MustCompile(`(GET|POST|PATCH|PUT|DELETE) (/[A-Za-z{}./-]*[A-Za-z}])`)

// TestSuggestionsNameCalls: a call that a suggestion names exists.
func TestSuggestionsNameCalls(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, row := range errorTable {
		texts = append(texts, row.suggestion)
	}
	for _, calls := range adviceOf {
		for _, text := range calls {
			texts = append(texts, text)
		}
	}
	for _, operation := range []string{"cancelPayment", "capturePayment", "refundPayment", "adjustPaymentAuthorization", "resumePayment"} {
		for _, status := range []payment.Status{payment.StatusPending, payment.StatusCancelled, payment.StatusSettled, payment.StatusAuthorized} {
			texts = append(texts, statusSuggestion(operation, status))
		}
	}
	named, routes := 0, testAPI(t).table
	for _, text := range texts {
		for _, m := range namedCall.FindAllStringSubmatch(text, -1) {
			named++
			if !slices.ContainsFunc(routes, func(r route) bool { return r.method == m[1] && r.path == m[2] }) {
				t.Errorf("%q names %s, which is no call", text, m[0])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d calls are named", named)
	}
}
