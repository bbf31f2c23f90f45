// Command payledger is the whole service in one binary: the payments ledger with its HTTP interface, the
// simulator of its processors, and the tools of operators and auditors (I1).
//
// Every flag has an environment variable PAYLEDGER_<FLAG>, dashes as underscores. Exit status: 0 fine,
// 1 failure with one line on stderr that says what and what to do, 2 usage.
//
// The package wires the parts and nothing else: app.go is the order in which they start and stop.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line (I1).
type cli struct {
	Demo         demoCommand        `cmd:"" help:"Start everything in a temporary folder, play a story of payments and stay up."`
	Init         initCommand        `cmd:"" help:"Create the account of a new data folder and print its credentials once."`
	Serve        serveCommand       `cmd:"" help:"Run the service."`
	Credentials  credentialsCommand `cmd:"" help:"Replace credentials that were lost."`
	Processorsim simCommand         `cmd:"" help:"Run the processor simulator as a process of its own."`
	History      historyCommand     `cmd:"" help:"Replay one payment: every event, who, when, and what it changed."`
	Reconcile    reconcileCommand   `cmd:"" help:"Compare the ledger with a processor's books."`
}

// Exit statuses of I1.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// streams are where a command writes.
type streams struct{ out, err io.Writer }

// run is main for callers that bring their own arguments and streams.
func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	status := -1
	parser, err := kong.New(&c,
		kong.Name("payledger"),
		kong.Description("An event-sourced payments ledger: sessions, payments, webhooks and their full history."),
		kong.DefaultEnvars("PAYLEDGER"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { status = code }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(stderr, "payledger:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if status >= 0 { // --help was answered
		return status
	}
	if err != nil {
		fmt.Fprintln(stderr, "payledger:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(streams{stdout, stderr}, arguments(args)); err != nil {
		var usage usageError
		fmt.Fprintln(stderr, "payledger:", err)
		var trouble troubleError
		if errors.As(err, &usage) || errors.As(err, &trouble) {
			return exitUsage
		}
		return exitFailure
	}
	return 0
}

// usageError is a fault of the command line that only shows when the command looks at it.
type usageError struct{ error }
