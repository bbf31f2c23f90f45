// Package due bounds waits by their own length, so that a clock that is set back makes none of them longer.
//
// A time that stands in a record, and every time by which people are answered, comes from the machine's clock. That clock
// may jump: forward by a day, and back again later. A wait that was noted meanwhile names a time that is a day ahead.
//
// Rules:
//
//   - A wait ends when the clock shows its time, and at the latest when its own length has gone by. The length is measured
//     by the process itself, with a clock that nobody sets (the monotonic clock of package time).
//   - A record holds the time at which it was noted and the time at which it is due: the difference is the length. The rest
//     of the wait is never longer (Left). A process that finds such a record, after a restart for example, waits for what
//     is left from then on: the restarts add their own time, the jump adds nothing.
//   - A clock that jumps forward and stays there ends waits early: it looks the same as a machine that was switched off.
//     So nothing may depend on a wait being long. The outcome of an operation comes from the processor and is never guessed, however late
//     it seems to be (D8).
//
// # The waits of the service
//
//	wait                                          bounded by
//	a caller's payment timeout (D8)               Time, in package commands: flight.deadline and its callers
//	the next question about an operation (D8)     the process's own clock: the agenda of package commands
//	the questions of package pending (D8)         its loops run by the process's own clock; requests ahead of the
//	                                              clock count as old
//	whether an unseen operation is sent again     MayResend: requested further ahead than the payment timeout, it is fenced
//	an action of the customer that expires (D7)   Time, in the agenda: package pending finds what expires too far ahead
//	decisions about attempts after a crash (§3.3) package pending: those ahead of the clock are taken up at once
//	retries of webhooks (D18)                     Left when a record is read, and the lane's own clock since then; Jumps
//	deliveries that another process has open      the same, with the hand-over time as the length
//	the delay of a workflow's run (D19)           Time, in the run's flight or in its note while it is parked
//	runs of another process that died             those touched ahead of the clock count as left behind
//	the destruction of entered cards (§5.2)       an epoch ahead of the clock counts as over; a card that its token may still
//	                                              use stays as long as the token is valid
//	the start of a sweep for disputes (D16)       a cursor ahead of the clock tells nothing
//	pauses, tickers and time-outs in memory       the process's own clock
//
// Not waits, and by the clock alone: how long a session, a token, an API key or a rotated signing secret is valid, how
// long a notification is kept whose payment is unknown, and how long deliveries are kept that are over. Nothing is held
// up by them. The rate limit compares readings of the process's own clock.
package due
