// Command adyen is the connector between payledger and Adyen: a program of its own over net/http.
// README.md lists the lacks of Adyen, and the answers of the connector.
//
//	adyen --data DIR --merchant-account NAME [--listen 127.0.0.1:8481] [--processor ADYEN] [--tls-cert FILE --tls-key FILE]
//	      [--live] [--api-base https://checkout-test.adyen.com/v71] [--return-url URL] [--late 30m]
//
// Secrets come from files or the environment, never from arguments:
//
//	--api-key-file              ADYEN_API_KEY               of the API credential
//	--hmac-key-file             ADYEN_HMAC_KEY              of the standard webhook, hexadecimal; two while one is replaced, divided by a space
//	--token-file                PAYLEDGER_PROCESSOR_TOKEN   that the ledger sends in Authorization
//	--notification-secret-file  PAYLEDGER_PROCESSOR_SECRET  that signs notifications to the ledger
//
// Rules:
//   - It prints one ready line on stdout:
//     {"ready":true,"url":"…","events":"…","pid":…,"live":false}. Logs go to stderr; no secret and
//     no card number is in one.
//   - Card numbers arrive here: it listens on a loopback address, or with TLS.
//   - SIGTERM and SIGINT end it in order: calls of Adyen have 30 s to end, and their results are
//     recorded. After a kill, the next start reads the unfinished operations from the book.
//   - One process has the data folder.
//   - GET /healthz answers 200 while it runs, without a call of Adyen.
//   - --live states that payments move real money. It needs the account's own --api-base.
//
// Package api is Adyen as a vendor.
package main
