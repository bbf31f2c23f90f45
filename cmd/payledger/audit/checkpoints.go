package audit

import (
	"bytes"
	"context"
	"encoding/base64"
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
	"payledger/httpapi/client"
)

// Checkpoints prints the signed checkpoints of the log for a witness, one line of JSON each (I1).
type Checkpoints struct {
	Follow bool   `help:"Go on with each new checkpoint."`
	After  uint64 `help:"Begin behind the checkpoint with this number."`

	Source `set:"scope=events:read"`
	FolderKey
}

// followPause is the time between two looks for new checkpoints, and before a stream that broke is read again.
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
	w := &witness{last: proof.Checkpoint{Number: c.After}, emit: func(one proof.Checkpoint) error { return out.Encode(one) }}
	if folder {
		return openFolder(ctx, c.FolderKey.of(c.Data), func(_ *ledger.Ledger, p *prover.Prover) error {
			return w.read(func(after uint64) error {
				_, err := p.Checkpoints(ctx, after, 0, w.next)
				return err
			})
		})
	}
	return c.fromServer(ctx, std.Err, w)
}

// fromServer prints the checkpoints of a running server. With --follow it goes on after the server was away.
func (c *Checkpoints) fromServer(ctx context.Context, notes io.Writer, w *witness) error {
	connected, away := false, false
	for {
		err := w.read(func(after uint64) error {
			return c.read(ctx, fmt.Sprintf("/checkpoints?after=%d", after), func(body io.Reader) error {
				return readList(body, "checkpoints", "go on with --after and the last number", w.next)
			})
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case !c.Follow || err != nil && (!connected || w.failed != nil || !passes(err)):
			return err
		case err != nil && !away:
			fmt.Fprintf(notes, "payledger: %v; going on behind checkpoint %d\n", err, w.last.Number)
		case err == nil:
			connected = true
		}
		away = err != nil
		if client.Pause(ctx, followPause) != nil {
			return nil
		}
	}
}

// witness emits the checkpoints behind the last one. Each read begins with the last one again: a log that was exchanged, rewritten or
// restored from an old back-up does not have it.
type witness struct {
	last   proof.Checkpoint // with a number alone: its size and root are unknown
	again  bool             // the read has shown the last one
	failed error            // what no later read repairs
	emit   func(proof.Checkpoint) error
}

// read reads the checkpoints behind a number; from hands each to next.
func (w *witness) read(from func(after uint64) error) error {
	w.again = w.last.Number == 0
	if err := from(max(w.last.Number, 1) - 1); err != nil {
		return err
	}
	if !w.again {
		w.failed = fmt.Errorf("the log has no checkpoint %d: it is another log, or an older state of the log; check --after and --url, and keep the checkpoints that you have", w.last.Number)
	}
	return w.failed
}

func (w *witness) next(one proof.Checkpoint) error {
	switch {
	case w.again && one.Number == w.last.Number+1:
		w.failed = w.emit(one)
	case w.again:
		w.failed = fmt.Errorf("checkpoint %d is missing before checkpoint %d", w.last.Number+1, one.Number)
	case one.Number != w.last.Number:
		w.failed = fmt.Errorf("checkpoint %d is missing before checkpoint %d", w.last.Number, one.Number)
	case w.last.Root != nil && (!bytes.Equal(one.Root, w.last.Root) || one.Size != w.last.Size):
		base64 := base64.StdEncoding.EncodeToString
		w.failed = fmt.Errorf("checkpoint %d has size %d and root %s now; it had size %d and root %s: the log was rewritten",
			one.Number, one.Size, base64(one.Root), w.last.Size, base64(w.last.Root))
	}
	w.again, w.last = true, one
	return w.failed
}

// passes reports whether a later request may succeed: the server is away, starting or busy.
func passes(err error) bool {
	var refused *client.Error
	return !errors.As(err, &refused) || refused.ErrorID == "ServiceUnavailable" || refused.ErrorID == "RateLimitExceeded"
}
