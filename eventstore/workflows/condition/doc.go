// Package condition compiles and evaluates the conditions of workflows: expressions of the Common Expression Language
// (CEL) over the Payment JSON or a dispute's (D19).
//
// Rules:
//   - A condition is checked against the JSON's fields, as far as their types are known, when it is saved. What is
//     wrong is told with its line and column.
//   - What is absent from the JSON is absent here: reading it is an error, and has() tells. A date is a string, as in
//     the JSON; timestamp() reads it.
//   - An expression makes no lists to go through, and compares single values and lists of such only: CEL charges a call
//     when it has returned, and values that hold each other several times would make one call as long as they like.
//   - An evaluation is bounded by cost: the same condition on the same values always ends the same. One that costs too
//     much, or goes wrong, does not hold. Seconds beyond, it is given up, and not tried for a minute.
//   - The values that an evaluation read are told afterwards, path by path. Personal data is named and not told, and
//     an error that came after it was read is told without its details.
//
// What it must not know: where values come from, what happens when a condition holds.
//
// # Design notes
//
// Values are read from Go structs by their json tags, field by field and only those that the condition names: nothing
// is turned into JSON or maps first. Three comparisons take 3 µs with their cost counted (BenchmarkEvaluate); it
// counts where a condition is tried on all past events.
package condition
