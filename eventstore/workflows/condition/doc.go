// Package condition compiles and evaluates the conditions of workflows: expressions of the Common Expression Language
// (CEL) over the Payment JSON or a dispute's (D19).
//
// Rules:
//   - A condition is checked against the JSON's fields, as far as their types are known, when it is saved. A
//     fault has its line and column.
//   - A member that is absent from the JSON is absent here: reading it is an error, and has() is false. A date is a string, as in
//     the JSON; timestamp() reads it.
//   - An expression makes no lists to go through, and compares single values and lists of such only: CEL charges a call
//     when it has returned, and values that hold each other several times would make one call as long as they like.
//   - An evaluation is bounded by cost: the same condition on the same values always ends the same. An evaluation
//     that costs too much, or fails, does not hold. After seconds it is abandoned, and not tried for a minute.
//   - An evaluation reports the values that it read, path by path. Personal data is reported without its value, and a
//     later error without its details.
//
// What it must not know: where values come from, what happens when a condition holds.
//
// # Design notes
//
// Values are read from Go structs by their json tags, field by field and only those that the condition names: nothing
// is turned into JSON or maps first. Three comparisons take 3 µs with their cost counted (BenchmarkEvaluate); it
// counts where a condition is tried on all past events.
package condition
