// Package due bounds waits by their own length, so that a clock that is set back makes none of them
// longer.
//
// All times in records, and all times in answers to callers, come from the machine's clock. That
// clock may jump: forward by a day, and back again later. A record from the meantime has a time
// that is a day ahead.
//
// Rules:
//
//   - A wait ends when the clock shows its time, and at the latest when its own length has passed.
//     The process measures the length with the monotonic clock of package time, which nobody can
//     set: the process's own clock.
//   - A record holds the time at which it was made and the time at which it is due: the difference
//     is the length. The rest of the wait is never longer (Left). After a restart, for example, a
//     process that finds such a record waits for the rest from then on: the restart adds its own
//     time, the jump adds nothing.
//   - A clock that jumps forward and stays there ends waits early. It looks like a machine that was
//     switched off. So no rule may depend on the length of a wait. The outcome of an operation
//     comes from the processor and is never guessed, however late it is (D8).
//
// # The waits of the service
//
//	wait                                          bounded by
//	a caller's payment timeout (D8)               Time, in package payments: operationInFlight.deadline and its callers
//	the next look-up of an operation (D8)         the process's own clock: the schedule of package payments; the same for
//	                                              the next try after a failure of the log
//	the look-ups of package pending (D8)          its loops run by the process's own clock; requests ahead of the
//	                                              clock count as old
//	whether an unseen operation is sent again     MayResend: a caller's request further ahead than the payment timeout is fenced
//	an action of the customer that expires (D7)   Left, then the schedule's own clock: package pending finds actions that expire too far ahead
//	decisions about attempts after a crash (§3.3) package pending: those ahead of the clock are taken up at once
//	retries of webhooks (D18)                     Left when a record is read, then the process's own clock; Jumps
//	the delay of a workflow's run (D19)           Time, in the active run or in the parked run of package workflows
//	runs that another process forgot              runs last changed ahead of the clock count as left behind
//	the destruction of entered cards (§5.2)       a card key's minute ahead of the clock counts as over; a card whose token
//	                                              is valid stays
//	the start of a sweep for disputes (D16)       a cursor ahead of the clock is ignored
//	pauses, tickers and time-outs in memory       the process's own clock
//
// These are no waits, and follow the clock alone: the validity of a session, a token, an API key
// and a rotated signing secret, how long a notification for an unknown payment is kept, and how
// long finished deliveries are kept. No work waits for them. The rate limit compares readings of
// the process's own clock.
//
// # Place
//
//	outside       notifier, projections
//	application   commands/approvals, commands/instruments, commands/payments, commands/pending, commands/workflows
//	log           engine, prover, turns
//	servers       archive, nodes, remote
//	shards        checkpointlog, secretlog
//	storage       jetapi
//	bytes       ► due
package due
