// Package history replays one payment for an auditor: every event with its actor, time and content,
// the Payment JSON after it, and the changes that it made (I1 `history --json`).
//
// Rules:
//
//   - The replay folds the events from the first one with today's rules. It uses no read model and
//     no recorded state, so it also works on a stopped server's log.
//   - The Payment JSON after an event is the answer of GET at that time, expanded with events (D6).
//     Personal data is shown as long as its key exists.
//   - `position` is the event's place in the whole log (I2). It is absent until a checkpoint covers
//     the event; the replay does not wait for a checkpoint.
//   - `waiting` has the open operations and actions after the event, with the time since which each
//     is open.
//   - `actorName` is the name of the API key, also of a revoked one, or of the workflow in the
//     version that acted.
//   - `moved` has the changes of the amounts held, captured and refunded.
//   - A session id is replaced by its fingerprint, as in the events for analysts. Only `raw`
//     contains the id, as the log does.
//   - An entry has further parts if they are requested (expand.go): the webhooks that the event
//     caused, with their attempts; the calls of processors, with key and answer; the candidates of
//     the routing; and the workflow's version. They are read from the events, the runs and the
//     records of deliveries. A part that does not apply to an event is absent.
//
// The package must not know: SQL, HTTP, how entries are laid out for people.
//
// Design notes
//
//   - Differences are computed from the JSON and not recorded with the event. They are complete by
//     construction, also for fields that a later version adds.
//   - An entry is emitted as soon as it is complete, and 32 events are in memory at a time. Each
//     event names its predecessor, so the first event is found by reading backwards from the
//     newest. The events of a history longer than 32 are read twice. A payment with 500 refunds has
//     1,004 events of 68 MiB: the heap grows by 6 MiB, and the first entry comes after 0.1 s.
//   - A part that begins after a revision is folded from the first event as well.
package history
