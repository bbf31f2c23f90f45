// Package recovery runs the background work that a crash, another process or the passing of time
// leaves.
//
// Who continues what, how often, and until when:
//
//	what                              who                       when                                     until
//	operations in this process's      payments: in_flight.go    0.1, 0.2 … 102.4 s after the one         they have an outcome, or are some
//	memory without an outcome, and    while callers wait, then  before; at most 2 s after a failure      three minutes old; 4,096 of a
//	actions that customers left       schedule.go               of the log                               processor are held
//	payments whose request, or whose  payments: doubts.go       1 to 2 s after the log takes events      the log was read; 4,096 are held
//	answer's append, may be in the
//	log, and may not
//	all other operations without an   pending on every node,    at a start; at the age of Patience (the  they have an outcome
//	outcome                           then payments: recover.go payment timeout and 10 s), then as the
//	                                                            first row; then every 5 minutes
//	all other actions that customers  pending, then payments:   at a start; at their expiry; every       they have ended
//	left                              recover.go                5 minutes
//	notifications that had to wait    pending, then             at the payment's next event; every 30 s  they are applied or refused, or
//	                                  notifications             if the payment is known                  seven days old
//	decisions about attempts          pending, then approvals   at a start; at the age of Patience;      they are carried out, or refused
//	                                                            every 30 s
//	notifications of disputes that    notifications             every --dispute-lookup                   for ever
//	were lost
//	erasures                          erasures, by RunOnce      every 30 s; all of them after a start    they are finished, and 5 minutes
//	                                                                                                     after they were recorded
//	secrets that are no longer        secrets, by RunOnce       every 30 s; those of deleted tokens      for ever
//	needed                                                      once after a start
//
// The 30 s are a tenth of the action timeout, if that is shorter.
//
// When another node is lost, which is known after some seconds, the operations and attempts that it
// wrote last are continued at once, and the notifications are looked through.
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
