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
// It starts, answers and ends as package program of the kit says. --help lists all flags. --live
// states that payments move real money. It needs the account's own --api-base.
//
// Package api is Adyen as a vendor.
package main
