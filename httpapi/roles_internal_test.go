package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/httpapi/management"
)

// TestRoles checks that an admin may make every call by API key, an auditor only calls that read,
// including POSTs that only compute, and an operator also the changes listed here, and no others.
func TestRoles(t *testing.T) {
	t.Parallel()
	operates := []string{ // reviewed by hand
		"POST /payments/{id}/cancel", "POST /payments/{id}/capture", "POST /payments/{id}/refund",
		"POST /management/webhook-endpoints/{id}/test", "POST /management/webhook-deliveries/{id}/resend", "POST /management/webhook-replays",
	}
	var found []string
	for _, r := range new(API).routeTable() {
		if r.access != byAPIKey {
			continue
		}
		reads := r.method == http.MethodGet && r.path != "/client-session" // a session has a secret of a checkout
		reads = reads && r.operation != "streamWebhookListener"            // a reader takes the webhooks
		reads = reads || r.operation == "simulateWorkflow" || r.operation == "checkWorkflowCondition" || r.operation == "previewRouting" || r.operation == "startReconciliationRun"
		allowed := func(role account.Role) bool { return management.Allows(role, r.scope, r.operation) }
		call := r.method + " " + r.path
		if !allowed(account.RoleAdmin) || allowed(account.RoleAuditor) != reads || reads && !allowed(account.RoleOperator) {
			t.Errorf("%s: admin %t, operator %t, auditor %t", call, allowed(account.RoleAdmin), allowed(account.RoleOperator), allowed(account.RoleAuditor))
		}
		if !reads && allowed(account.RoleOperator) {
			found = append(found, call)
		}
		if allowed("") || allowed("owner") {
			t.Errorf("%s is allowed to an unknown role", call)
		}
	}
	below := func(path string) string { return strings.Replace(path, "/management/payments", "/payments", 1) }
	for _, call := range found {
		if !slices.Contains(operates, below(call)) {
			t.Errorf("an operator may %s", call)
		}
	}
	for _, call := range operates {
		if !slices.Contains(found, call) {
			t.Errorf("an operator may not %s", call)
		}
	}
}
