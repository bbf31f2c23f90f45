// Package ledger opens a data folder: the log, its server, and the secrets under the folder's master key.
//
// Rules: a ledger with a sealed value opens with its own master key and no other; the check comes before any
// change. ReadOnly changes nothing. One process at a time holds the folder (folder.ErrInUse).
//
// What it must not know: views, HTTP, commands.
package ledger
