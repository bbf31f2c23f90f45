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
	Follow bool   `help:"Go on with each new checkpoint."`
	After  uint64 `help:"Begin behind the checkpoint with this number."`

	Source `set:"scope=events:read"`
	FolderKey
}

// followPause is the time between two looks for new checkpoints.
const followPause = time.Second

// Run prints the checkpoints; with --follow until it is interrupted.
func (c *Checkpoints) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	folder, err := c.isFolder(args, "")
	if err != nil {
		return err
	}
	if folder && c.Follow {
		return options.Usage(errors.New("--follow is for a running server: a stopped server's folder gets no new checkpoints"))
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
		return openFolder(ctx, c.FolderKey.of(c.Data), func(_ *ledger.Ledger, p *prover.Prover) error {
			_, err := p.Checkpoints(ctx, c.After, 0, emit)
			return err
		})
	}
	return c.fromServer(ctx, std.Err, emit)
}

// fromServer prints the checkpoints of a running server. With --follow it goes on after the server was away.
func (c *Checkpoints) fromServer(ctx context.Context, notes io.Writer, emit func(proof.Checkpoint) error) error {
	var printed error
	connected, away := false, false
	for {
		err := c.read(ctx, fmt.Sprintf("/checkpoints?after=%d", c.After), func(body io.Reader) error {
			return readList(body, "checkpoints", "go on with --after and the last number", func(one proof.Checkpoint) error {
				printed = emit(one)
				return printed
			})
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case !c.Follow || err != nil && (!connected || printed != nil || !passes(err)):
			return err
		case err != nil && !away:
			fmt.Fprintf(notes, "payledger: %v; going on behind checkpoint %d\n", err, c.After)
		case err == nil:
			connected = true
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// passes reports whether a later request may succeed: the server is away, starting or busy.
func passes(err error) bool {
	var refused serverError
	return !errors.As(err, &refused) || refused.ErrorID == "ServiceUnavailable" || refused.ErrorID == "RateLimitExceeded"
}
