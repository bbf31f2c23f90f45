// Package recovery runs the background work that a crash, another process or the passing of time
// leaves.
//
// Who continues what, how often, and until when:
//
//	what                                  who                       when                             until
//	operations of this process without    payments/schedule.go      after 0.1, 0.2, 0.4 … s (D8)     they have an outcome, or 5
//	an answer                                                                                        minutes lie between two look-ups
//	requests of this process that may     payments/doubts.go        when the log takes events        the log has shown the payment
//	be in the log, and may not
//	all other operations without an       pending, then             at the start, at the age of      they have an outcome
//	outcome                               payments/recover.go       Patience, every 5 minutes
//	actions that their customers left     pending, then             at their expiry, every           they have ended
//	                                      payments/recover.go       5 minutes
//	notifications that came before their  pending, then             every 30 s                       they are applied, or too old
//	payment                               notifications
//	decisions about attempts              pending, then approvals   at the start, at the age of      they are carried out
//	                                                                Patience, every 30 s
//	notifications of disputes that were   notifications             every DisputeLookup              for ever
//	lost
//	erasures                              erasures, by RunOnce      every 30 s                       5 minutes after their end
//	secrets that are no longer needed     secrets, by RunOnce       every 30 s                       for ever
//
// The operations and attempts that a lost node wrote last are continued as soon as the loss is
// known.
//
// Rules:
//   - A start does not wait for any of it.
//   - Work that waits for a processor runs in a loop of its own for each processor, so that a
//     processor that does not answer holds up no other (D8, D14.12).
//   - Secrets are destroyed without waiting for a processor (§5.2 rule 3).
//   - Two nodes may continue the same work: the compare-and-swap on its outcome decides whose
//     answer counts.
//
// The package must not know: HTTP, SQL, options of the command line.
package recovery
