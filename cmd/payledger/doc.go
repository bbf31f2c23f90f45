// Command payledger is the whole service in one binary: the payments ledger with its HTTP interface, the
// simulator of its processors, and the tools of operators and auditors (I1).
//
// Every flag has an environment variable PAYLEDGER_<FLAG>, dashes as underscores. Exit status: 0 fine,
// 1 failure with one line on stderr that names the fault and the remedy, 2 usage.
//
// The package wires the parts and nothing else: app.go is the order in which they start and stop. The flags of serve are in
// package options, the commands of auditors in package audit, the data folder in package ledger.
package main
