// Package history replays one payment for an auditor: every event, who caused it, when, what it said,
// the Payment JSON after it and what it changed (I1 `history --json`).
//
// Rules: the replay folds the events from the first one with today's rules; it uses no read model and no
// recorded state, so it also works on a stopped server's log. The Payment JSON after an event is what GET
// answered then, expanded with events (D6), but for personal data, which is shown as long as its key
// exists. `position` is the event's place in the whole log (I2); it is null while no checkpoint covers
// it. `waiting` names what the processor, or the customer, owes after the event, and since when.
//
// What it must not know: SQL, HTTP, how entries are laid out for people.
//
// Design note: differences are computed from the JSON and not recorded with the event. They are then
// complete by construction, also for fields that a later version adds.
package history
