// Package server serves the processor protocol over HTTP (D14.1): it checks requests, gives them to
// the books of a connector or of the simulator, and writes the answers and errors.
//
// Rules:
//   - Only 200 is a fact. A server answers 200 after its books have made the answer durable.
//   - A field that is not known is ignored; a name that stands twice is refused.
//   - No error text repeats a value of a body: it may be a card number.
//   - A list that cannot be read to its end is cut off: an incomplete list must not look complete.
//
// It must not know: vendors, simulated processors, and how the books keep their records.
package server
