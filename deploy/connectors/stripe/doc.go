// Command stripe is the connector between payledger and Stripe: a program of its own, so that the
// ledger links no vendor's SDK. README.md has the way to a first payment.
//
//	stripe --data DIR [--new-book] [--listen 127.0.0.1:8480] [--processor STRIPE] [--tls-cert FILE --tls-key FILE] [--multicapture] [--return-url URL] [--api-base URL]
//
// Secrets come from files or the environment, never from arguments:
//
//	--api-key-file              STRIPE_API_KEY              the secret or restricted key of the account
//	--webhook-secret-file       STRIPE_WEBHOOK_SECRET       of the webhook endpoint; two while one is replaced, divided by a space
//	--token-file                PAYLEDGER_PROCESSOR_TOKEN   that the ledger sends in Authorization
//	--notification-secret-file  PAYLEDGER_PROCESSOR_SECRET  that signs notifications to the ledger
//
// It starts, answers and ends as package program of the kit says. --help lists all flags.
//
// Package api is Stripe as a vendor; package double is Stripe for tests, and stripe-double serves
// it.
package main
