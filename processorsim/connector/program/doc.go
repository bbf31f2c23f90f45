// Package program is the main function of a connector: flags, secrets, TLS, the ready line and the
// end, which are the same for every vendor. The example is a whole connector.
//
//	PROGRAM --data DIR [--new-book] [--listen ADDRESS] [--processor NAME] [--tls-cert FILE --tls-key FILE] [flags of the vendor]
//
// Secrets come from files or the environment, never from arguments. Two are of every connector:
//
//	--token-file                PAYLEDGER_PROCESSOR_TOKEN   that the ledger sends in Authorization
//	--notification-secret-file  PAYLEDGER_PROCESSOR_SECRET  that signs notifications to the ledger
//
// Rules:
//   - It prints one ready line on stdout, a Ready. Logs go to stderr; no secret and no card number
//     is in one.
//   - Card numbers arrive here: it listens on a loopback address, or with TLS. They leave here: the
//     address of a vendor's API is https, or a loopback address.
//   - SIGTERM and SIGINT end it in order: calls of the vendor have 30 s to end, and their results
//     are recorded. A second signal ends it at once. After a kill, the next start reads the
//     unfinished operations from the book.
//   - One process has the data folder. If the vendor moves real money, a folder without a book is
//     refused unless --new-book is given: it may be the empty place of a disk that is not mounted,
//     and a new book would answer UNSEEN and FENCED for operations that the vendor carried out.
//   - GET /healthz answers 200 while it runs, without a call of the vendor.
//   - --help lists all flags and secrets.
//
// The package must not know: a vendor.
package program
