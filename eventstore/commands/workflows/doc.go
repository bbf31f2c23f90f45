// Package workflows starts and executes the runs of workflows (§1, D19): it reads the log, finds
// the workflows that an event starts, and performs their actions.
//
//	log ──► planner ──► workflow_run.started ──► runner ──► action_requested ──► payment or receiver ──► outcome
//	           └─ position written after (1)       ▲ (2)                            (3)                    (4)
//	                                     sweep of the open runs
//
// Rules:
//   - Each workflow has one run per trigger event. The run's id is derived from both, and its first
//     event is an aggregate's first: if any node plans the event again, the run exists.
//   - The version is the one in force at the event's time, by the log, however late the event is
//     planned. The first planner decides: a change at the same moment, by a clock that is behind,
//     may come too late, but makes no second run. The run contains that version's actions.
//   - The condition is evaluated once, on the state at the event. The run records the result and
//     the values that the condition read, also when the condition does not hold. An error counts as
//     false.
//   - An action is requested before it is performed; its outcome follows. Operations on payments
//     use a key that is derived from the run and the action: a repeat finds the operation and waits
//     for its outcome without a limit. HTTP requests are made at least once, with an
//     Idempotency-Key.
//   - A run waits for its delay after the trigger. A clock that is set back does not prolong the
//     wait (package due).
//   - A refusal fails the run. Errors of the store, another operation that runs on the payment, and
//     an unknown outcome are not failures: the action is tried again.
//   - The effects of a run do not start its own workflow, and a chain of runs that cause each other
//     has at most five runs. Further runs are recorded as skipped. Unsolicited notifications, and
//     outcomes of operations that others requested, never count as caused by a run. If an event
//     names a run that is not found, the planner waits for the run.
//   - Payments, views and webhooks never wait for workflows: the planner has a subscription of its
//     own.
//   - Healthy returns the problem that holds up the planner. If an event cannot be evaluated for a
//     minute while the log can be read, its runs report this and are skipped. An event of a newer
//     schema or an unknown type ends the planner.
//   - All conditions of an account together may cost 5,000 units of CEL on one event. Conditions
//     beyond that do not hold.
//
// The package must not know: how the Payment JSON is rendered, how requests are guarded (Subjects
// and Requests are ports), SQL, HTTP.
//
// # What is true if the power fails
//
//   - before (1): the position was not written, so the event is planned again.
//   - after (1), before (2): the run is open in the views. The next start, or the sweep when the
//     run is due, finds it.
//   - after (2), before (3): the action is performed now; whether it was performed before is
//     unknown.
//   - after (3), before (4): an operation is found by its key, and its outcome is read from the
//     payment; an HTTP request is sent again with the same Idempotency-Key.
//   - after (4): the next action follows, or the run is over. A failed run has its webhook, as
//     other events do.
//
// # Design notes
//
// A run's delay is a due time in the run, which the sweep finds in the views. The alternative was a
// message schedule of JetStream. A schedule costs another synced write for each run and saves
// nothing: a start must find the open runs anyway, because runs that were under way have no
// schedule, and a schedule that fires repeats the content of the run. Runs that are due within the
// next half minute are in memory, with a goroutine each: at most 4,096 (16,384 with four for each
// workflow), 1,024 of an account and 256 of a workflow. Further runs stay in the views, where an
// index on workflow and due time finds them; the sweep looks for them as soon as half of a
// workflow's places are free. So a run starts at its time, or, when thousands are due at once, as
// soon as earlier runs have ended. Of 5,000 runs whose receiver answers at once, 220 to 500 a
// second end, on two shared cores (TestBacklog).
//
// Each workflow has at most 16 actions under way, so that a workflow whose receiver hangs delays no
// other. A run that waits for an outcome, for days perhaps, gives its place back: an event of its
// payment wakes the run, or the sweep after at most ten minutes. Each sweep continues where the
// last one stopped, so that waiting runs do not hide others.
//
// Every trigger event costs a synced write for each workflow that waits for its type, also when the
// condition does not hold: merchants need the reason why a run did nothing as much as the effects
// of a run. Sixty-four are written concurrently.
//
// A simulation decodes only events of types that may be the trigger, renders a value only when a
// condition reads it, and takes the previous event from the events that it read last.
// BenchmarkSimulate, 80,000 events of 20,000 payments in 8 shards on two shared cores: 40,000 to
// 45,000 events/s on an idle machine, 20,000 beside ten busy processes; 29,000 for each second of
// processor time, which includes the log's server and all else that runs in the process.
//
// Each of several nodes plans every event; the compare-and-swap on a run's first event lets one
// node continue. The other nodes keep no place for that run. The last event of a run names the node
// that requested the action: it performs it, and the other nodes leave it. When that node is lost,
// the other nodes take the run over, and in any case when it has not changed for two minutes.
// Several nodes may do so at once: an operation on the payment has its key, and an HTTP request is
// performed by the node that records the action once more, with a compare-and-swap. So each action
// has one node, also if two nodes have looked after the run meanwhile. A node that is alone takes
// the open runs at its start.
package workflows
