package account

import (
	"slices"
	"strings"
)

// Role is the set of a user's rights in the dashboard.
type Role string

// Roles of users (D20).
const (
	RoleAdmin    Role = "admin"    // everything
	RoleOperator Role = "operator" // reads, and operations on payments
	RoleAuditor  Role = "auditor"  // reads
)

// Roles lists all of them.
var Roles = []Role{RoleAdmin, RoleOperator, RoleAuditor}

var readScopes = []string{ScopeTransactionsRetrieve, ScopePaymentInstrumentRead, ScopeEventsRead, ScopeAccountRead}

var roleScopes = map[Role][]string{
	RoleAdmin:    Scopes,
	RoleOperator: slices.Concat(readScopes, []string{ScopeTransactionsCapture, ScopeTransactionsCancel, ScopeTransactionsRefund}),
	RoleAuditor:  readScopes,
}

// Scopes returns the scopes of the calls that the role allows (D2); none for an unknown role.
func (r Role) Scopes() []string { return slices.Clone(roleScopes[r]) }

// Known reports whether the role is one of Roles.
func (r Role) Known() bool { return slices.Contains(Roles, r) }

func roleList() string {
	names := make([]string, len(Roles))
	for i, r := range Roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
