package management

import (
	"slices"

	"payledger/domain/account"
)

// operatorCalls are the calls that an operator may make beside those of the role's scopes: their
// scopes allow more than that.
var operatorCalls = []string{
	"captureManagedPayment", "refundManagedPayment", "cancelManagedPayment", "testWebhookEndpoint", "resendWebhookDelivery", "createWebhookReplay",
}

// readingCalls are the calls of a scope to write that change nothing. Every role may make them.
var readingCalls = []string{"simulateWorkflow"}

// Allows reports whether a dashboard user of a role may make a call, by the call's scope and its
// operationId in openapi.yaml (D20).
func Allows(role account.Role, scope, operation string) bool {
	return slices.Contains(role.Scopes(), scope) || role.Known() && slices.Contains(readingCalls, operation) || role == account.RoleOperator && slices.Contains(operatorCalls, operation)
}

// operationScopes are the scopes of the operations on payments that calls of the management carry
// out (D22.15).
var operationScopes = map[string]string{
	"captureManagedPayment": account.ScopeTransactionsCapture, "refundManagedPayment": account.ScopeTransactionsRefund, "cancelManagedPayment": account.ScopeTransactionsCancel,
}

// OperationScope returns the scope that a call needs beside its own because it moves money; "" for
// other calls.
func OperationScope(operation string) string { return operationScopes[operation] }
