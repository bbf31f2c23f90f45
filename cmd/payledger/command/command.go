package command

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

	"payledger/cmd/payledger/assistant"
	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/backups"
	"payledger/cmd/payledger/bench"
	"payledger/cmd/payledger/developer"
	"payledger/cmd/payledger/health"
	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
)

// CLI is the command line (I1).
type CLI struct {
	Demo            demoCommand          `cmd:"" help:"Start everything in a temporary folder, play a story of payments and stay up."`
	Init            initCommand          `cmd:"" help:"Create the account of a new data folder and print its credentials once."`
	Serve           serveCommand         `cmd:"" help:"Run the service."`
	Account         accountCommand       `cmd:"" help:"Make merchant accounts."`
	Credentials     credentialsCommand   `cmd:"" help:"Replace credentials that were lost."`
	Processorsim    simCommand           `cmd:"" help:"Run the processor simulator as a process of its own."`
	History         audit.History        `cmd:"" help:"Replay one payment: every event, who, when, and what it changed."`
	Tail            audit.Tail           `cmd:"" help:"Print the events of the log in one order, and follow them."`
	Export          audit.Export         `cmd:"" help:"Write the events and tables of payments, refunds, disputes and postings for analysts."`
	Prove           audit.Prove          `cmd:"" help:"Write a portable proof of one payment to a file."`
	Checkpoints     audit.Checkpoints    `cmd:"" help:"Print the signed checkpoints of the log, for a witness."`
	CheckProof      audit.CheckProof     `cmd:"" help:"Check a proof without a server."`
	Verify          audit.Verify         `cmd:"" help:"Check the whole log: every event, hash, state, checkpoint and view."`
	Rebuild         audit.Rebuild        `cmd:"" help:"Make the read models again from the log, beside the running service."`
	EraseCustomer   eraseCommand         `cmd:"" help:"Erase a customer: destroy the key of their personal data."`
	AnalyticsUser   analyticsUserCommand `cmd:"" help:"Print NATS credentials that read one account's events and nothing else."`
	RotateMasterKey rotateCommand        `cmd:"" help:"Seal all secrets of a stopped ledger, or of a cluster, with a new master key."`
	Backup          backups.Backup       `cmd:"" help:"Copy the log, beside the running service: consistent, incremental, the keys apart."`
	Restore         backups.Restore      `cmd:"" help:"Make a data folder from a back-up and its keys, and verify it."`
	Reconcile       audit.Reconcile      `cmd:"" help:"Compare the ledger with a processor's books."`
	ProcessorCheck  checkCommand         `cmd:"" help:"Check the promises of a processor's connector."`
	Bench           bench.Command        `cmd:"" help:"Load a running server and measure it, beside what this machine can do at best."`
	Payments        developer.Payments   `cmd:"" help:"Look payments up at a running server: a table, or one payment and its next step."`
	Trigger         developer.Trigger    `cmd:"" help:"Make something happen in the sandbox: a payment, a decline, 3-D Secure, a refund, a dispute, and more."`
	Listen          developer.Listen     `cmd:"" help:"Bring webhooks to a program on this machine, without a public address."`
	Logs            developer.Logs       `cmd:"" help:"Follow the requests of the account."`
	MCP             assistant.Command    `cmd:"" name:"mcp" help:"Let an AI assistant look at payments, events, webhooks and the documentation, over the Model Context Protocol."`
	Health          health.Command       `cmd:"" help:"Ask the service on this machine whether it is ready, for containers."`
	Completion      completionCommand    `cmd:"" help:"Print what makes a shell complete commands, flags and values: bash, zsh or fish."`
	Version         versionCommand       `cmd:"" help:"Print the version."`
}

// Exit statuses of I1.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// Run is main with arguments and streams; it returns the exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	limits.PrivateFiles()
	options.DropEmptyVariables()
	status := -1
	args, help := plainArguments(args), stdout
	if len(args) == 0 { // no command: the help goes to stderr, and the status is not 0
		args, help = []string{"--help"}, stderr
	}
	line, err := NewLine(kong.Writers(help, stderr), kong.Exit(func(code int) { status = code }))
	if err != nil {
		fmt.Fprintln(stderr, "payledger:", err)
		return ExitUsage
	}
	command, err := line.Command(args)
	switch {
	case status >= 0 && help == stderr:
		return ExitUsage
	case status >= 0: // --help was answered
		return status
	case err != nil:
		if _, is := errors.AsType[options.UsageError](err); is {
			fmt.Fprintln(stderr, "payledger:", oneLine(err))
		} else {
			fmt.Fprintln(stderr, "payledger:", misuse(err))
		}
		return ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(terminal.Streams{Out: stdout, Err: stderr}, options.Arguments(args)); err != nil {
		var usage options.UsageError
		fmt.Fprintln(stderr, "payledger:", oneLine(err))
		var trouble audit.TroubleError
		if errors.As(err, &usage) || errors.As(err, &trouble) {
			return ExitUsage
		}
		return ExitFailure
	}
	return 0
}

// Line parses arguments.
type Line struct {
	*kong.Kong
	cli    CLI
	values options.Parsing
}

// NewLine returns a command line of the whole program.
func NewLine(more ...kong.Option) (*Line, error) {
	var c Line
	var err error
	c.Kong, err = kong.New(&c.cli, append([]kong.Option{
		kong.Name("payledger"),
		kong.Description("An event-sourced payments ledger: sessions, payments, webhooks and their full history."),
		kong.DefaultEnvars("PAYLEDGER"),
		c.values.Option(),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	return &c, nil
}

// Command returns the command of the arguments. One error names every value that is wrong; of
// serve, also those that do not go together.
func (c *Line) Command(args options.Arguments) (*kong.Context, error) {
	command, err := c.Parse(args)
	if err != nil {
		return command, err //nolint:wrapcheck // the parser's own words, which misuse looks into
	}
	faults := append(c.values.Faults(command, args), args.Empty()...)
	if command.Command() == "serve" {
		c.cli.Serve.Options = c.cli.Serve.WithFiles() // read once: a pipe is empty afterwards
		o := c.cli.Serve.Options
		o.Arguments = args
		faults = append(faults, o.Faults()...)
	}
	return command, options.UsageOf(faults)
}

// plainArguments accepts help COMMAND and --version as well.
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

// oneLine returns the text of an error as one line. It may quote a file or a server's answer.
func oneLine(err error) string { return terminal.Harmless(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// misuse returns the message for a wrong command line: the fault, and the command that prints the
// help.
func misuse(err error) string {
	if fault, is := errors.AsType[*kong.ParseError](err); is && fault.Context != nil && fault.Context.Command() != "" {
		return err.Error() + " (`payledger help " + strings.Fields(fault.Context.Command())[0] + "` lists its flags)"
	}
	return strings.Replace(err.Error(), "unexpected argument", "unknown command", 1) + " (`payledger help` lists the commands)"
}
