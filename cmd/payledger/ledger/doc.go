// Package ledger opens a data folder: the log, its server, and the secrets under the folder's
// master key.
//
// Rules: a ledger that has a sealed value opens only with its own master key, which is checked
// before any change. ReadOnly changes nothing. One process at a time holds the folder's lock
// (folder.ErrInUse).
//
// The package must not know: views, HTTP, commands.
package ledger
