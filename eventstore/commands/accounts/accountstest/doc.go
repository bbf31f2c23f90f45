// Package accountstest has test helpers for accounts: logs that have their first account. Only
// tests import it.
package accountstest
