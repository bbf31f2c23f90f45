// Package history replays one payment for an auditor: every event, who caused it, when, what it said,
// the Payment JSON after it and what it changed (I1 `history --json`).
//
// Rules: the replay folds the events from the first one with today's rules; it uses no read model and no
// recorded state, so it also works on a stopped server's log. The Payment JSON after an event is what GET
// answered then, expanded with events (D6), but for personal data, which is shown as long as its key
// exists. `position` is the event's place in the whole log (I2); it is left out while no checkpoint covers
// it, and no checkpoint is waited for. `waiting` names what the processor, or the customer, owes after the
// event, and since when.
//
// What it must not know: SQL, HTTP, how entries are laid out for people.
//
// Design notes
//
//   - Differences are computed from the JSON and not recorded with the event. They are then complete by
//     construction, also for fields that a later version adds.
//   - An entry is handed on as soon as it is made, and 32 events are in memory at a time. An event names the
//     one before it, so that the first is found by walking back from the newest; the events of a history
//     that is longer than 32 are read twice. A payment with 500 refunds has 1,004 events of 68 MiB: the heap
//     grows by 6 MiB, and the first entry comes after 0.1 s.
//   - A part that begins behind a revision is folded from the first event as well: it uses no recorded state
//     either.
package history
