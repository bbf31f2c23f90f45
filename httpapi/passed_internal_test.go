package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"payledger/httpapi/passing"
)

// TestLocal lists the calls that a node without views passes on. Reviewed by hand: none of the
// others reads views, and none of these is needed for a payment to go on.
func TestLocal(t *testing.T) {
	t.Parallel()
	want := []string{
		"GET /payments", "GET /payments/{id}/proof", "GET /webhook-deliveries", "GET /payment-instruments", "POST /payment-instruments/{token}/vault",
		"POST /payment-instruments/{token}/default", "DELETE /payment-instruments/{token}", "GET /checkout/configuration", "GET /checkout", "GET /checkout/logos/{account}/{file}",
		"POST /processors/{name}/notifications", "POST /management/api-keys", "DELETE /management/api-keys/{id}", "GET /management/users", "POST /management/users",
		"PATCH /management/users/{id}", "DELETE /management/users/{id}", "GET /management/webhook-endpoints", "POST /management/webhook-endpoints",
		"PATCH /management/webhook-endpoints/{id}", "DELETE /management/webhook-endpoints/{id}", "POST /management/webhook-endpoints/{id}/test",
		"POST /management/webhook-listeners", "DELETE /management/webhook-listeners/{id}", "GET /management/signing-secret",
		"POST /management/signing-secret/rotate", "GET /management/webhook-deliveries", "GET /management/webhook-deliveries/{id}",
		"POST /management/webhook-deliveries/{id}/resend", "POST /management/webhook-replays", "GET /management/webhook-replays/{id}",
		"GET /management/customers", "GET /management/customers/{customerId}",
		"POST /management/customers/{customerId}/erase", "POST /management/payments/{id}/erase", "GET /management/payments",
		"GET /management/payment-attempts", "GET /management/payment-attempts/{id}",
		"GET /management/payments/{id}/proof", "GET /management/payment-totals", "GET /management/statistics", "GET /management/search", "GET /management/audit-log", "GET /management/disputes",
		"GET /management/disputes/{id}", "GET /management/workflows", "POST /management/workflows", "POST /management/workflows/check",
		"POST /management/workflows/simulate", "GET /management/workflows/{id}", "GET /management/workflows/{id}/versions",
		"PUT /management/workflows/{id}", "POST /management/workflows/{id}/enable", "POST /management/workflows/{id}/disable",
		"GET /management/workflows/{id}/runs", "POST /management/workflows/{id}/simulate", "GET /management/routing", "PUT /management/routing",
		"POST /management/routing/preview", "GET /management/processors", "PATCH /management/processors/{name}", "GET /management/reconciliation",
		"GET /management/reconciliation-runs", "POST /management/reconciliation-runs", "GET /management/reconciliation-runs/{id}",
		"GET /management/settings", "PATCH /management/settings", "GET /checkpoints", "GET /verifier-key", "GET /proof", "GET /proof/assets/{file}",
	}
	var got []string
	for _, r := range new(API).routeTable() {
		path := strings.NewReplacer("{", "", "}", "").Replace(r.path)
		here := passing.Local(httptest.NewRequest(r.method, path, nil))
		if slash := passing.Local(httptest.NewRequest(r.method, path+"/", nil)); slash != here {
			t.Errorf("%s %s: %t, with a slash at the end %t", r.method, r.path, here, slash)
		}
		if r.method == http.MethodGet && passing.Local(httptest.NewRequest(http.MethodHead, path, nil)) != here {
			t.Errorf("HEAD %s is not as GET", r.path)
		}
		if !here {
			got = append(got, r.method+" "+r.path)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("passed on:\n%s", strings.Join(got, "\n"))
	}
	for _, path := range []string{"/dashboard", "/dashboard/payments", "/", "/unknown"} {
		if passing.Local(httptest.NewRequest(http.MethodGet, path, nil)) {
			t.Errorf("%s is not passed on", path)
		}
	}
}
