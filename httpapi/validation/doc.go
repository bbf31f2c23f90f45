// Package validation checks the query and the body of a request with openapi.yaml and with rules
// that a schema cannot express.
//
// Rules:
//   - A body is one JSON object (D1). Repeated names, deep nesting and text that is not UTF-8 are
//     refused.
//   - A violation has a path and a description (D3). The description never repeats the value, which
//     may be a card number. An unknown name is reported together with the known name that it
//     resembles.
//   - Card numbers are refused in every text and name (D21).
//   - A null field counts as absent (D21). In a change it clears the field (D4). In metadata it
//     counts as absent always.
//   - A refusal costs about as much as reading the body (D22.14), in time, memory and answer,
//     whatever the body holds.
//
// The package must not know: who calls, what a handler does with the request, the HTTP status of an
// error.
//
// Design notes:
//   - A body is parsed once, by a parser of our own: for a payment with all fields encoding/json's
//     tokens take 42 µs and its maps 20 µs, this parser 10 µs (busy machine), of 70 µs in all.
//     encoding/json also accepts half a surrogate pair and repeated keys, and its offsets differ
//     for escapes. encoding/json/v2 still needs a GOEXPERIMENT.
//   - The same parser validates with the schema, as shapes that are prepared at the start
//     (shape.go). kin-openapi, which validates a parsed tree, made a SchemaError for each
//     violation: 37 MB of answer and seconds for a body of 1 MiB, and no limit of a schema stopped
//     the parser. Tests compare the two. Queries, which are short, are validated by kin-openapi.
//   - Numbers are compared as float64s. A whole number within the limits is exact. Any other number
//     stays a fraction or too large (number.go), so that rounding makes no number valid. A whole
//     number that is written 1.0 or 1e3 is decoded as 1 and 1000.
//   - Refusals of 1 MiB take 2 MiB of memory (4 MiB with text that is kept), and answers of at most
//     20 kB (BenchmarkRefusals).
//   - From reading to the decoded request: 9 µs for four fields, 44 to 53 µs for a payment with all
//     fields (BenchmarkAccept, two busy cores).
package validation
