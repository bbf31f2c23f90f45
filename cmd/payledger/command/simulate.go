package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/cmd/payledger/web"
	"payledger/processorsim/simulator"
)

type simCommand struct {
	Listen          string `help:"Address." default:"127.0.0.1:8090"`
	Data            string `help:"Folder of the processors' books." default:"./simulator" type:"path"`
	ProcessorSecret string `help:"Signs notifications." required:"" placeholder:"TEXT"`
	ProcessorToken  string `help:"The ledger's token: calls without it are refused, also those of the control API (default: every call is taken)." placeholder:"TEXT"`
	LogLevel        string `help:"trace, debug, info, warn, error." enum:"trace,debug,info,warn,error" default:"info"`
	LogFormat       string `help:"json or console; logs go to stderr. auto: console on a terminal, else json." enum:"auto,json,console" default:"auto"`
}

func (c *simCommand) Run(ctx context.Context, std terminal.Streams) (err error) {
	log, err := options.Options{LogLevel: c.LogLevel, LogFormat: c.LogFormat}.Logger(std.Err)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	limits.TuneRuntime()
	sim, err := simulator.New(simulator.Config{Dir: c.Data, Secret: []byte(c.ProcessorSecret), Token: c.ProcessorToken, Log: log})
	if err != nil {
		return err
	}
	server, err := web.Serve(ctx, c.Listen, web.Config{Handler: sim.Handler()})
	if err != nil {
		return errors.Join(err, sim.Close())
	}
	defer func() {
		// The simulator closes first: it cuts the requests that it delays.
		err = errors.Join(err, sim.Close(), server.Stop(time.Second))
	}()
	if err := c.announce(std.Out, server.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// announce prints that the simulator is ready, as a JSON line for scripts or as a text for people
// (I1).
func (c *simCommand) announce(out io.Writer, url string) error {
	if terminal.ForPeople(out, c.LogFormat) {
		_, err := fmt.Fprintf(out, "The processor simulator is ready: %s\nCtrl-C stops it.\n", url)
		return printed(err)
	}
	return printed(json.NewEncoder(out).Encode(map[string]any{"ready": true, "simulator": url}))
}
