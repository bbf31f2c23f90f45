package management

import (
	"slices"

	"payledger/domain/account"
)

// operatorCalls are the calls that an operator may make beside those of the role's scopes: their scope account:write allows more than that.
var operatorCalls = []string{
	"captureManagedPayment", "refundManagedPayment", "cancelManagedPayment", "testWebhookEndpoint", "resendWebhookDelivery", "createWebhookReplay",
}

// readingCalls are the calls of the scope account:write that change nothing. Every role may make them.
var readingCalls = []string{"simulateWorkflow"}

// Allows reports whether a dashboard user of a role may make a call, by the call's scope and its operationId in openapi.yaml (D20).
func Allows(role account.Role, scope, operation string) bool {
	return slices.Contains(role.Scopes(), scope) || role.Known() && slices.Contains(readingCalls, operation) || role == account.RoleOperator && slices.Contains(operatorCalls, operation)
}
