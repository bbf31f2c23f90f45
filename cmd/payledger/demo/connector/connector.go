package connector

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"payledger/cmd/payledger/demo/child"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/conformance"
	"payledger/processorsim/protocol"
)

// patience bounds each question to the connector before the story.
const patience = 20 * time.Second

// Config describes a connector.
type Config struct {
	Program string   // a name on PATH, or a path
	Env     []string // of the process, without its token and its secret
	Dir     string   // a new folder, for its book
	Log     io.Writer
}

// Connector is a running connector.
type Connector struct {
	Name          processor.Name // the processor that it is
	Declared      protocol.Declaration
	Holding       int    // promises of the protocol that were tried without moving money
	URL           string // for the service
	Own           string // the connector's own address
	Token, Secret string

	process *child.Process
	wire    *wire
}

// ready has the fields of a ready line.
type ready struct {
	Processor processor.Name `json:"processor"`
	URL       string         `json:"url"`
	Live      bool           `json:"live"`
}

// Open starts a connector and checks what can be checked without moving money. The end of ctx ends
// it.
func Open(ctx context.Context, c Config) (_ *Connector, err error) {
	file, err := find(c.Program)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the connector's folder: %w", err)
	}
	k := &Connector{Token: rand.Text(), Secret: rand.Text()}
	program := child.Program{
		Path: file, Log: c.Log, Name: filepath.Base(file),
		Env: append(c.Env[:len(c.Env):len(c.Env)], "PAYLEDGER_PROCESSOR_TOKEN="+k.Token, "PAYLEDGER_PROCESSOR_SECRET="+k.Secret),
	}
	line := ready{}
	if k.process, err = program.Start(ctx, program.Name, &line, "--data", c.Dir, "--listen", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	k.Name, k.Own = line.Processor, line.URL
	err = k.check(ctx, line)
	if err == nil {
		k.wire, err = newWire(ctx, k.Own)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", program.Name, err), k.process.Kill())
	}
	k.URL = k.wire.url
	return k, nil
}

func (k *Connector) check(ctx context.Context, line ready) error {
	switch {
	case line.Processor == "" || line.URL == "":
		return errors.New("its ready line names no processor and url: it is not the program of a connector")
	case line.Live:
		return errors.New("it moves real money: the story is for test accounts only")
	}
	client, err := adapter.Open(adapter.Connection{URL: line.URL, Token: k.Token})
	if err != nil {
		return err
	}
	defer client.Close()
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if k.Declared, err = client.Declaration(asking, k.Name); err != nil {
		return fmt.Errorf("it does not declare itself: %w", err)
	}
	if k.Declared.Live { // whatever its ready line says
		return errors.New("it declares real money: the story is for test accounts only")
	}
	if k.Declared.TestCards[protocol.CardApproved] == "" {
		return errors.New("it declares no test card that is approved: the story cannot pay")
	}
	report, err := conformance.Run(ctx, conformance.Config{URL: line.URL, Processor: k.Name, Token: k.Token, Secret: k.Secret, Patience: patience})
	if err != nil {
		return err
	}
	var broken []string
	for _, f := range report.Checks {
		if f.Result == conformance.Broken {
			broken = append(broken, f.ID)
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("it breaks promises of the protocol: %s; processor-check shows them", strings.Join(broken, ", "))
	}
	k.Holding = report.Count(conformance.Holds)
	return nil
}

// Lack returns the connector's sentence about a capability that it does not have; "" if it has it.
func (k *Connector) Lack(c protocol.Capability) string {
	for _, lack := range k.Declared.Cannot {
		if lack.Capability == c {
			return lack.Instead
		}
	}
	return ""
}

// LoseAnswer makes the next operation reach the connector, and its answer nobody.
func (k *Connector) LoseAnswer() { k.wire.lose.Store(true) }

// Ended is closed when the program is gone.
func (k *Connector) Ended() <-chan struct{} { return k.process.Ended() }

// Reason returns the error of a program that is gone.
func (k *Connector) Reason() error { return k.process.Reason() }

// Close ends the connector.
func (k *Connector) Close() error { return errors.Join(k.wire.close(), k.process.Kill()) }
