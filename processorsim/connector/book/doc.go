// Package book is the durable memory of a connector: one SQLite file with every operation, its
// answers, fenced keys, disputes, and the notifications that the ledger has not taken yet.
//
// Rules:
//   - A change is synced to the disk when its method returns.
//   - Memory is bounded: the book holds no operation in memory, and lists are read in pages.
//   - The number and the CVV of a card are in no row.
//   - A result and its notification are one change.
//
// It must not know: the vendor, HTTP, and when an operation may be sent.
package book
