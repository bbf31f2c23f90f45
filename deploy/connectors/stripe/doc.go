// Command stripe is the connector between payledger and Stripe: a program of its own, so that the
// ledger links no vendor's SDK. README.md has the way to a first payment.
//
//	stripe --data DIR [--listen 127.0.0.1:8480] [--processor STRIPE] [--tls-cert FILE --tls-key FILE] [--multicapture] [--return-url URL] [--api-base URL]
//
// Secrets come from files or the environment, never from arguments:
//
//	--api-key-file              STRIPE_API_KEY              the secret or restricted key of the account
//	--webhook-secret-file       STRIPE_WEBHOOK_SECRET       of the webhook endpoint; two while one is replaced, divided by a space
//	--token-file                PAYLEDGER_PROCESSOR_TOKEN   that the ledger sends in Authorization
//	--notification-secret-file  PAYLEDGER_PROCESSOR_SECRET  that signs notifications to the ledger
//
// Rules:
//   - It prints one ready line on stdout:
//     {"ready":true,"url":"…","events":"…","pid":…,"live":false}. Logs go to stderr; no secret and
//     no card number is in one.
//   - Card numbers arrive here: it listens on a loopback address, or with TLS.
//   - SIGTERM and SIGINT end it in order: calls of Stripe have 30 s to end, and their results are
//     recorded. After a kill, the next start reads the unfinished operations from the book.
//   - One process has the data folder.
//   - GET /healthz answers 200 while it runs, without a call of Stripe.
//
// Package api is Stripe as a vendor; package double is Stripe for tests, and stripe-double serves
// it.
package main
