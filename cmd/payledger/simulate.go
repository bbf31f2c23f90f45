package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"payledger/processorsim"
)

// simCommand runs the simulator alone.
type simCommand struct {
	Listen          string `help:"Address." default:"127.0.0.1:8090"`
	Data            string `help:"Folder of the processors' books." default:"./simulator" type:"path"`
	ProcessorSecret string `help:"Signs notifications." required:"" placeholder:"TEXT"`
	LogLevel        string `help:"trace, debug, info, warn, error." enum:"trace,debug,info,warn,error" default:"info"`
	LogFormat       string `help:"json or console; logs go to stderr." enum:"json,console" default:"json"`
}

// Run serves the six processors until SIGTERM.
func (c *simCommand) Run(ctx context.Context, std streams) (err error) {
	log, err := Options{LogLevel: c.LogLevel, LogFormat: c.LogFormat}.logger(std.err)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	sim, err := processorsim.New(processorsim.Config{Dir: c.Data, Secret: []byte(c.ProcessorSecret), Log: log})
	if err != nil {
		return err
	}
	web, err := serveWeb(ctx, c.Listen, webConfig{handler: sim.Handler()})
	if err != nil {
		return errors.Join(err, sim.Close())
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The simulator first: it cuts the requests that it holds.
		err = errors.Join(err, sim.Close(), ignoreDeadline(web.stop(stop)))
	}()
	if err := json.NewEncoder(std.out).Encode(map[string]any{"ready": true, "simulator": web.url}); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	<-ctx.Done()
	return nil
}
