// Package workflow holds two aggregates: an account's workflows (State), and one run of a workflow (RunState; D19, §3.4).
//
// Rules:
//   - All workflows of an account are one aggregate: what is in force at a moment is one look-up, and their number and
//     size are bounded.
//   - A version is what a workflow does: its name, trigger, condition, delay and actions. It grows by one with every
//     change of these. To enable or to disable it makes no new version.
//   - A run has the id that its workflow's version and its trigger event derive, so there is one of both however often
//     it is begun. It carries the actions of the version that its trigger met, with their amounts: later changes of the
//     workflow, and disabling it, change nothing about a run that has begun.
//   - A run whose condition does not hold is recorded too, as SKIPPED, with what the condition saw. What is personal
//     data is not among it.
//   - Actions are taken one after the other. Each is requested before it is taken, and its outcome follows. The first
//     that fails fails the run; the payment is untouched by that.
//
// What it must not know: how conditions are evaluated, HTTP, processors, the payment's own rules.
package workflow
