// Package router sends each call to the connection of its processor (D14.1, D22.9). It is the only
// place that knows which processor is where: the services of the ledger, the recovery and the
// reconciliation use one Router as they would use one adapter.
//
// Rules:
//   - Each name has an adapter of its own, with its own connections, token, authorities and places
//     for calls. A processor that hangs, errs or is misconfigured takes nothing from another one,
//     even if both have the same address.
//   - A call of a processor without an address is processor.ErrUnknown, with the reason: the
//     operations of older payments wait for the address, and their outcomes are not guessed.
//   - A notification is verified with the secret of the processor that its path names.
//
// It must not know: the names of the processors, what an operation is, payments, flags.
package router
