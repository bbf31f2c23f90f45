// Package notify sends a processor's signed notifications to the ledger (D14.3). Any 2xx ends a
// notification; otherwise it is repeated after 1, 2, 4, 8, 16 and 32 s with the same body, and then
// given up: the caller sends it again later, or not. It follows no redirect.
//
// It must not know: what a notification says, and where undelivered ones are recorded.
package notify
