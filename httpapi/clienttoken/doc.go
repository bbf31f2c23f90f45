// Package clienttoken makes and reads the signed tokens that a customer's browser holds (D4, D8,
// D12).
//
// There are three kinds; intent and audience keep them apart, and none is good for another's call:
//   - A session's client token opens one client session until it expires. It carries the access
//     token, which also works alone.
//   - An action's client token is for one required action of one payment (D6).
//   - A resume token reports that a required action has ended. To merchants it is opaque (D8).
//
// The package must not know: requests, routes, limits.
//
// Design notes:
//   - A client token carries its account, so that the browser's calls need no look-up; an access
//     token alone is looked up, and its expiry with it (D12).
//   - An action's client token and its resume token are made from the payment's state alone:
//     nothing is stored for them, and a payment reads the same twice (D6).
package clienttoken
