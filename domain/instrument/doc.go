// Package instrument is the payment instrument aggregate: a tokenized card (§2.2, D5, D12).
//
// Rules:
//
//   - A single-use token belongs to the session that created it and pays once. A payment claims it
//     by its id before the payment's first event. The claim makes "once" true without an index; a
//     repeat of the payment finds its own claim and continues (D5, D9).
//   - A vaulted token belongs to a customer and pays any number of times. Its first payment is
//     recorded, because the outcome of that payment ends the storage of the CVV.
//   - The customer's default is the token that was made the default last, so one event changes it.
//
// It has display data only. It must not know the card number, the CVV, or the customer's personal
// data.
package instrument
