// Package sqlitefile keeps a disposable SQLite file: one writer, several readers.
//
// Rules: the file holds nothing that the log does not. A damaged file, or a file of another
// identity, is removed and built again from the log. A power failure may lose the newest
// transactions and never a part of one. secure_delete overwrites replaced data.
//
// The package must not know: tables, events, payments.
package sqlitefile
