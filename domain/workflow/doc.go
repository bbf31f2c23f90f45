// Package workflow holds two aggregates: an account's workflows (State), and one run of a workflow
// (RunState; D19, §3.4).
//
// Rules:
//   - All workflows of an account are one aggregate: one look-up returns the enabled ones, and
//     their number and size are bounded.
//   - A version is a workflow's name, trigger, condition, delay and actions. Every change of these
//     is a new version; enabling and disabling is not.
//   - A run's id derives from its workflow and its trigger event, so it starts once. It has the
//     actions of the version at the trigger, with their amounts: later changes of the workflow do
//     not change the run.
//   - A run whose condition does not hold is recorded as SKIPPED, with the values that the
//     condition read, except personal data.
//   - Actions run one after the other. Each is requested in the log before it runs; its outcome
//     follows. The first failure fails the run and leaves the payment as it is.
//
// It must not know: how conditions are evaluated, HTTP, processors, the payment's own rules.
package workflow
