// Package domain holds the rules of payments as pure functions over values.
//
// What it is: the shared vocabulary (ids, money, currencies, cards, errors, orders, sealed personal
// data) at the root, and one package per aggregate below it. An aggregate is Decide(State, Command)
// (Event, error), which may refuse, and Evolve(State, Event) State, which may not. Time, ids and the
// processor's answers arrive inside the command, so the same inputs always give the same event.
//
// What it must not know: I/O, clocks, randomness, JSON libraries, logging, NATS, HTTP. It imports the
// standard library only; a test holds it to that. The port interfaces in domain/processor and
// domain/process are the one place where a context.Context is named.
//
// Struct tags name a field in the log (eventstore encodes by them, as msgpack and, for readers, as
// JSON). Changing one is a schema change: see eventstore, Codec.
//
// Design notes:
//   - Amounts are int64 minor units of the payment's currency (§8), never floats.
//   - ISO 4217 comes from iso4217.csv, embedded: no maintained library carries the current list with
//     fund and precious-metal codes (§2.1).
//   - Personal data stands in one Sealed value; whoever holds the key opens it, the rules never do.
package domain
