// Package domain holds the rules of payments as pure functions over values.
//
// The root has the shared values: ids, money, currencies, cards, errors, orders, sealed personal
// data. Each aggregate has a package below it. An aggregate is Decide(State, Command) (Event,
// error) and Evolve(State, Event) State, which cannot fail. Time, ids and the processor's answers
// arrive in the command, so equal inputs give equal events.
//
// It must not know: I/O, clocks, randomness, JSON libraries, logging, NATS, HTTP. It imports only
// the standard library; a test checks that. Only the interfaces in domain/processor name a
// context.Context.
//
// Struct tags are the names of fields in the log (eventstore encodes msgpack and JSON by them).
// Changing one is a schema change: see eventstore/schema.go.
//
// Design notes:
//   - Amounts are int64 minor units of the payment's currency (§8), never floats.
//   - ISO 4217 comes from iso4217.csv, embedded: no maintained library carries the current list
//     with fund and precious-metal codes (§2.1).
//   - Personal data is one Sealed value; no rule opens it.
package domain
