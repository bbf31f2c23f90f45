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
	"slices"
	"strings"
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
	Version      versionCommand     `cmd:"" help:"Print the version."`
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
	args, help := plainArguments(args), stdout
	if len(args) == 0 { // the command is missing: no success, and nothing for a pipe
		args, help = []string{"--help"}, stderr
	}
	parser, err := kong.New(&c,
		kong.Name("payledger"),
		kong.Description("An event-sourced payments ledger: sessions, payments, webhooks and their full history."),
		kong.DefaultEnvars("PAYLEDGER"),
		kong.Writers(help, stderr),
		kong.Exit(func(code int) { status = code }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "payledger:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	switch {
	case status >= 0 && help == stderr:
		return exitUsage
	case status >= 0: // --help was answered
		return status
	case err != nil:
		fmt.Fprintln(stderr, "payledger:", misuse(err))
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

// plainArguments understands what other programs take, too: help COMMAND, and --version.
func plainArguments(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	default:
		return args
	}
}

// misuse returns the message for a wrong command line: the fault, and the command that prints the help.
func misuse(err error) string {
	var fault *kong.ParseError
	if errors.As(err, &fault) && fault.Context != nil && fault.Context.Command() != "" {
		return err.Error() + " (`payledger help " + strings.Fields(fault.Context.Command())[0] + "` lists its flags)"
	}
	return strings.Replace(err.Error(), "unexpected argument", "unknown command", 1) + " (`payledger help` lists the commands)"
}

// usageError is a fault of the command line that only shows when the command looks at it.
type usageError struct{ error }
