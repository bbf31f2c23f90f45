// Package workflows starts and takes the runs of workflows (§1, D19): it reads the log, finds which workflows an event
// starts, and performs their actions.
//
//	log ──► planner ──► workflow_run.started ──► runner ──► action_requested ──► payment or receiver ──► outcome
//	           └─ position written after (1)       ▲ (2)                            (3)                    (4)
//	                                    sweep of the runs that are open
//
// Rules:
//   - One run for each workflow and trigger event. Its id is derived from both, and its first event expects an empty
//     place: an event that is planned again, on this node or another, finds the run.
//   - The version is the one in force at the event's time, as the log has it, however late the event is planned, and
//     as the first planner saw it: a change at the same moment, by a clock that is behind, may come too late, but makes no
//     second run. The run carries that version's actions.
//   - The condition is evaluated on the state at the event, once. Its result and the values that it read are
//     recorded, also when it does not hold; an error counts as false.
//   - An action is requested before it is taken; its outcome follows. Operations on payments are made under a
//     key that the run and the action derive: a repeat finds the operation, and waits for its outcome, however long that
//     takes. HTTP requests are made at least once, under an Idempotency-Key.
//   - A run waits for its delay after the trigger, and no longer if the clock is set back meanwhile (package due).
//   - The store, a payment on which something else runs, and an outcome that is not known are no failures: the action is
//     tried again. A refusal is one; it fails the run.
//   - A workflow does not start by what its own run did, and no more than five runs lead to each other: such runs are
//     recorded as skipped.
//     Unsolicited notifications, and outcomes of operations that others requested, never count as caused by a run. If the
//     run that an event names is not found, the planner waits for it.
//   - The payment that a run reacts to waits for nothing here, nor do views and webhooks: the planner has a subscription
//     of its own.
//   - Healthy reports the trouble that holds up the planner. An event that cannot be read for a minute, while the log can,
//     begins runs that report it and are skipped. One of a newer schema, or an unknown type, ends the planner.
//   - All conditions of an account together may cost 5,000 units of CEL on one event; a workflow beyond is skipped.
//
// What it must not know: how the Payment JSON is made, how requests are guarded
// (Subjects and Requests are ports), SQL, HTTP.
//
// # What is true if the power fails
//
//   - before (1): the event is planned again: the position was not written.
//   - after (1), before (2): the run is open in the views, and found at the next start, or by the sweep when it is due.
//   - after (2), before (3): the action is taken now; whether it was taken before is unknown.
//   - after (3), before (4): an operation is found by its key and its outcome taken from the payment; an HTTP request is
//     sent again, under the same Idempotency-Key.
//   - after (4): the next action follows, or the run is over. A run that failed has its webhook, as events do.
//
// # Design notes
//
// Delays are due times in the runs, found again in the views, and not message schedules of JetStream. A schedule costs a
// synced write for each run beside the run's own, and brings nothing: after a start the open runs have to be found
// anyway, since those that were under way have no schedule; and a schedule that fires is a message that repeats the
// run. Runs due within the next half minute are in memory, with a goroutine each, at most 4,096, of which an
// account has 1,024 and a workflow 256; what is more is left in the views, where an index on workflow and due time finds
// it, and looked for as soon as half of a workflow's places are free. So a run comes at its time, or, when thousands are
// due at once, as the ones before it end. Of 5,000 whose receiver answers at once
// 220 to 500 a second do, on two shared cores (TestBacklog).
//
// Each workflow has 16 actions under way at most, so that one whose receiver hangs delays no other. A run whose outcome
// is owed, for days perhaps, gives its place back: an event of its payment wakes it, or the sweep after at most ten
// minutes. The sweep goes on through a workflow's open runs where it stopped, so that those that wait hide no others.
//
// Every trigger event is a synced write for each workflow that waits for its type, whatever the condition comes to: why
// nothing was done is worth as much to merchants as what was. Sixty-four are written side by side.
//
// A simulation decodes only events of types that may be the trigger, builds what a condition reads when it reads
// it, and takes the event before from those that it just read. BenchmarkSimulate, 80,000 events of 20,000 payments in 8
// shards on two shared cores: 40,000 to 45,000 events/s while nobody else used the machine, 20,000 while others kept ten processes
// busy; 29,000 for each second of processor time, the log's server and whatever else runs in the process included.
//
// On several nodes each plans every event; the compare-and-swap on the run's first event lets one of them go on. A run
// that another node has begun has no place here; it is taken over when nothing happened to it for two minutes. Alone, the
// ones that are open at the start are taken up at once.
package workflows
