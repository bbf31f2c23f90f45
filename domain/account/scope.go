package account

// Scopes of API keys (D2), each with the calls that it allows.
const (
	ScopeClientTokensWrite      = "client_tokens:write"
	ScopeTransactionsAuthorize  = "transactions:authorize"
	ScopeTransactionsCapture    = "transactions:capture"
	ScopeTransactionsCancel     = "transactions:cancel"
	ScopeTransactionsRefund     = "transactions:refund"
	ScopeTransactionsRetrieve   = "transactions:retrieve"
	ScopePaymentInstrumentRead  = "payment_instrument:read"
	ScopePaymentInstrumentWrite = "payment_instrument:write"
	ScopeEventsRead             = "events:read"
	ScopeAccountRead            = "account:read"
	ScopeAccountWrite           = "account:write" // also all scopes of writeScopes
	ScopeSettingsWrite          = "settings:write"
	ScopeKeysWrite              = "keys:write"
	ScopeUsersWrite             = "users:write"
)

// Scopes lists all of them; the key that init prints has every one.
var Scopes = []string{
	ScopeClientTokensWrite, ScopeTransactionsAuthorize, ScopeTransactionsCapture, ScopeTransactionsCancel,
	ScopeTransactionsRefund, ScopeTransactionsRetrieve, ScopePaymentInstrumentRead,
	ScopePaymentInstrumentWrite, ScopeEventsRead, ScopeAccountRead, ScopeAccountWrite,
	ScopeSettingsWrite, ScopeKeysWrite, ScopeUsersWrite,
}

// writeScopes are the parts of account:write (D22.15).
var writeScopes = []string{ScopeSettingsWrite, ScopeKeysWrite, ScopeUsersWrite}
