// Package condition compiles and evaluates the conditions of workflows: expressions of the Common
// Expression Language (CEL) over the Payment JSON or a dispute's (D19).
//
// Rules:
//   - Saving a condition checks it against the JSON's fields, as far as their types are known. A
//     fault has a line and a column.
//   - For a member that is absent from the JSON, has() is false and reading is an error. A date is
//     a string, as in the JSON; timestamp() converts it.
//   - An expression cannot iterate over lists that it builds, and compares only single values and
//     lists of single values. CEL charges a call only after it returns, and one call on nested
//     values could take any time.
//   - An evaluation is bounded by cost, so the same condition on the same values has the same
//     result. An evaluation that costs too much, or fails, counts as false. After seconds an
//     evaluation is abandoned, and the condition is not evaluated for a minute.
//   - An evaluation reports the paths and values that it read. It reports personal data without the
//     value, and a later error without its details.
//
// The package must not know: where values come from, what happens when a condition holds.
//
// # Design notes
//
// Values are read from Go structs by their json tags. Only the fields that the condition names are
// read, and no value is first converted to JSON or maps. Three comparisons take 3 µs, the count of
// their cost included (BenchmarkEvaluate). The speed matters for simulations, which evaluate a
// condition on all past events.
package condition
