package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/proof"
	"payledger/eventstore/prover"
)

// Checkpoints prints the signed checkpoints of the log for a witness, one line of JSON each (I1).
type Checkpoints struct {
	Follow    bool   `help:"Go on with each new checkpoint."`
	After     uint64 `help:"Begin behind the checkpoint with this number."`
	URL       string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string `name:"api-key" help:"API key with the scope events:read." placeholder:"KEY"`
	Data      string `help:"Data folder of a stopped server, instead of --url." type:"path"`
	MasterKey string `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`
}

// followPause is the time between two looks for new checkpoints.
const followPause = time.Second

// Run prints the checkpoints; with --follow until it is interrupted.
func (c *Checkpoints) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	folder, err := args.ReadsFolder(c.Data)
	switch {
	case err != nil:
		return err
	case folder && c.Follow:
		return options.Usage(errors.New("--follow is for a running server: a stopped server's folder gets no new checkpoints"))
	case !folder && c.APIKey == "":
		return options.Usage(errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one"))
	}
	out := json.NewEncoder(std.Out)
	out.SetEscapeHTML(false)
	emit := func(one proof.Checkpoint) error {
		if c.After+1 != one.Number {
			return fmt.Errorf("checkpoint %d follows checkpoint %d: one is missing", one.Number, c.After)
		}
		c.After = one.Number
		return out.Encode(one)
	}
	if folder {
		return openFolder(ctx, c.Data, c.MasterKey, c.MasterKeyFile, func(_ *ledger.Ledger, p *prover.Prover) error {
			_, err := p.Checkpoints(ctx, c.After, 0, emit)
			return err
		})
	}
	for {
		path := fmt.Sprintf("/checkpoints?after=%d", c.After)
		err := getFrom(ctx, c.URL, path, c.APIKey, func(body io.Reader) error { return parseCheckpoints(body, emit) })
		if err != nil || !c.Follow {
			return interrupted(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// interrupted drops the error of an interrupted command.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// parseCheckpoints reads {"data": […]} as it arrives.
func parseCheckpoints(body io.Reader, emit func(proof.Checkpoint) error) error {
	decoder := json.NewDecoder(body)
	if err := expect(decoder, json.Delim('{'), "data", json.Delim('[')); err != nil {
		return fmt.Errorf("the server's answer is no list of checkpoints: %w", err)
	}
	for decoder.More() {
		var one proof.Checkpoint
		if err := decoder.Decode(&one); err != nil {
			return fmt.Errorf("the server's answer broke off; go on with --after and the last number: %w", err)
		}
		if err := emit(one); err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim(']'), json.Delim('}')); err != nil {
		return fmt.Errorf("the server's answer broke off; go on with --after and the last number: %w", err)
	}
	return nil
}
