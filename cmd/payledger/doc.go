// Command payledger is the whole service in one binary: the payments ledger with its HTTP
// interface, the simulator of its processors, and the tools of operators and auditors (I1).
//
// Every flag has an environment variable PAYLEDGER_<FLAG>, dashes as underscores. Exit status: 0
// fine, 1 failure with one line on stderr that names the fault and the remedy, 2 usage.
//
// The folder app is the service as a value, command the command line. The flags of serve are in
// package options, the commands of auditors in package audit, of developers in package developer,
// the story of the demo in package demo, the data folder in package ledger. house has the rules of
// this tree.
//
// servicetest tests the service in the test's process, and is a part of `go test ./...`. The
// folders of systemtest have the tests of whole systems, with the build tag system. Both share
// apptest.
//
// # Map of the repository
//
// domain has the rules as pure functions: payment, session, instrument, attempt, account, dispute,
// inbox, person, workflow, and the values of processors.
//
// eventstore is the log on JetStream: append, load, subscribe, hash chain, checkpoints, secrets.
// Below it, engine implements it, embedded runs its server, archive reads its files, ordered reads
// all events in one order, commands executes requests, pending schedules unfinished operations,
// workflows runs automatic actions, reconcile compares the ledger with the processors' records,
// proof checks a payment's portable proof and prover makes it, verify checks the whole log,
// eventstream keeps the stream EVENTS for analysts, and feed reads the events in other Go programs.
//
// projections has the read models in SQLite, the Payment JSON, a payment's history, the export, and
// the events for analysts (eventjson), which eventfeed writes into the stream EVENTS.
//
// httpapi is the merchant API. Below it, client is its Go client, dashboard has the pages for a
// merchant's staff, docs the documentation at /docs, reference the fields that the calls take,
// checkout the hosted page, proofpage the page that checks proofs, style the pages' base
// stylesheet.
//
// notifier turns events into signed webhooks. listener hands them to `payledger listen`, signature
// verifies a webhook in one call.
//
// processorsim has six simulated processors with durable records and faults on demand (simulator),
// the client for processors (adapter), and the checks of a connector (conformance).
//
// deploy has the files for machines and clusters, the runbook, and yardstick, the service on
// PostgreSQL that payledger is measured against, a module of its own.
//
// # Imports
//
// A folder may import the folders in its row, and no others of the project (a test checks it):
//
//	domain
//	eventstore    domain
//	projections   domain eventstore
//	httpapi       domain eventstore projections
//	notifier      domain eventstore projections
//	processorsim  domain
//	cmd           domain eventstore httpapi notifier processorsim projections
//	deploy        domain processorsim
package main
