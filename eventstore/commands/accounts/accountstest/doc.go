// Package accountstest is the test kit of accounts: logs that have their first account. Only tests import it.
package accountstest
