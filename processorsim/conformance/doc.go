// Package conformance checks a connector of a processor: a list of promises of the processor
// protocol (processorsim/PROTOCOL.md), each tried against a running connector over HTTP.
//
// Rules:
//   - Each check has an id that never changes, its promise in one sentence, and the meaning for the
//     merchant when the promise is broken.
//   - A check has one of four results. holds; broken, with the exchanges that show it; cannot: the
//     connector declares that it lacks the capability; not tried: a test card, a token or a secret
//     is missing, or the check moves money and Config.Destructive is false.
//   - Answers are read by the ledger's own reader (package adapter), so a promise holds if the
//     ledger reads the fact that it must read.
//   - A connector that declares real money gets no operation and no fence.
//   - No exchange of a report has the number of a card, a verification value or the ledger's
//     token.
//   - A run is bounded: a check makes at most a few hundred requests, and waits for an answer or a
//     later fact at most Config.Patience.
//   - An answer that may be PENDING first is waited for: a vendor may tell each result later.
//
// It must not know: any connector, the simulator least of all.
//
// Design note: a check that cannot fail is worthless. The tests break each promise in a proxy
// before the simulator, and show that its check finds the fault.
package conformance
