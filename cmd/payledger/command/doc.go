// Package command is the command line of payledger (I1): the flags of every command, what it
// prints, and its exit status.
//
// Every flag has an environment variable PAYLEDGER_<FLAG>, dashes as underscores. Exit status: 0
// fine, 1 failure with one line on stderr that names the fault and the remedy, 2 usage.
//
// The flags of serve are in package options, the commands of auditors in package audit, those of
// developers in package developer. Package app runs the service. The package must not know how the
// service is wired. It is no part of package main, so that tests can run a command as a function,
// or a test program as payledger: those tests stand in cmd/payledger/servicetest.
package command
