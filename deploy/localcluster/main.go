package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// flags is the command line. Every flag has an environment variable, as those of payledger (I1).
type flags struct {
	Data        string `help:"Data folder; the same folder continues the same cluster (default: a temporary folder)." type:"path"`
	Nodes       int    `help:"Number of API nodes, at most 9." default:"2"`
	Watch       bool   `help:"Show nodes, leaders, rates and lag, and read commands: kill, pause, cut, heal, start NODE."`
	Programs    string `help:"Folder with the programs payledger and nats-server." type:"path" required:"" hidden:""`
	OwnPrograms bool   `help:"Remove the folder of the programs at the end." hidden:""`
}

const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	if args := os.Args[1:]; len(args) > 0 && args[0] == measureCommand {
		os.Exit(measure(args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with arguments and streams; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var f flags
	status := -1
	parser, err := kong.New(&f,
		kong.Name("local-cluster"),
		kong.Description("Runs a cluster of payledger on this machine: three NATS servers, the processor simulator and API nodes."),
		kong.DefaultEnvars("PAYLEDGER"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { status = code }),
	)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if f.OwnPrograms {
		defer os.RemoveAll(f.Programs)
	}
	switch {
	case status >= 0: // --help was answered
		return status
	case err == nil && (f.Nodes < 1 || f.Nodes > 9):
		err = fmt.Errorf("--nodes is %d; it must be between 1 and 9", f.Nodes)
		fallthrough
	case err != nil:
		fmt.Fprintln(stderr, "local-cluster:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.run(ctx, stdin, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "local-cluster:", err)
		return exitFailure
	}
	return 0
}

func (f *flags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	dir := f.Data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "payledger-cluster-"); err != nil {
			return fmt.Errorf("temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	c, err := newCluster(dir, f.Programs, loopback, f.Nodes, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil { // it was interrupted, which is no failure
			return nil
		}
		return err
	}
	if err := json.NewEncoder(stdout).Encode(c.ready()); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	if f.Watch {
		return newWatch(c, stdin, stderr).run(ctx)
	}
	<-ctx.Done()
	return nil
}
