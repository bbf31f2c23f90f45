package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	Out    string `help:"Append to this file, and continue behind its last line after a restart." type:"path" placeholder:"FILE"`
	Key    string `help:"With --out: verifier key of the ledger (default: the server's)." placeholder:"VERIFIER_KEY"`

	Source `set:"scope=events:read"`
	FolderKey
}

// followPause is the time between two looks for new checkpoints, and before a stream that broke is
// read again.
const followPause = time.Second

// Run prints the checkpoints, or appends them to a file; with --follow until it is interrupted.
func (c *Checkpoints) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	folder, err := c.isFolder(args, "")
	if err != nil {
		return err
	}
	if folder && c.Follow {
		return options.Usage(errors.New("--follow is for a running server: a stopped server's folder gets no new checkpoints"))
	}
	if c.Out == "" && c.Key != "" || c.Out != "" && c.After > 0 {
		return options.Usage(errors.New("--key is for --out, and --after is not: the file's last line says where to go on"))
	}
	w := &witness{last: proof.Checkpoint{Number: c.After}, emit: appendTo(std.Out)}
	if folder {
		return openFolder(ctx, c.FolderKey.of(c.Data), func(_ *ledger.Ledger, p *prover.Prover) (err error) {
			if c.Out != "" {
				file, err := w.continueIn(c.Out, cmp.Or(c.Key, p.VerifierKey()))
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, file.Close()) }()
			}
			return w.read(func(after uint64) error {
				_, err := p.Checkpoints(ctx, after, 0, w.next)
				return err
			})
		})
	}
	if c.Out != "" {
		known := proved{c.Key}
		if c.Key == "" {
			if err := c.read(ctx, "/verifier-key", func(body io.Reader) error { return whole(body, &known) }); err != nil {
				return err
			}
		}
		file, err := w.continueIn(c.Out, known.VerifierKey)
		if err != nil {
			return err
		}
		return errors.Join(c.fromServer(ctx, std.Err, w), file.Close())
	}
	return c.fromServer(ctx, std.Err, w)
}

func appendTo(out io.Writer) func(proof.Checkpoint) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	return func(one proof.Checkpoint) error { return lines.Encode(one) }
}

// continueIn makes the witness continue behind the last line of its file, and append to the file.
// Every line must be signed with the key, and no two lines may contradict each other. A last line
// that is not complete is removed: it was cut off.
func (w *witness) continueIn(name, key string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the witness's file: %w; name another one with --out", err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(notAFile(name), err, file.Close())
	}
	if err := w.resume(file, key); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return file, nil
}

const lineStart = `{"number":`

func (w *witness) resume(file *os.File, key string) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(content, '\n') + 1
	all, err := proof.ReadCheckpoints(string(content[:end]))
	tail := content[end:]
	if n := min(len(tail), len(lineStart)); string(tail[:n]) != lineStart[:n] {
		return errors.New("it ends with something else than a checkpoint: name another file with --out")
	}
	if end == 0 {
		all, err = nil, nil // a new file
	}
	if err == nil {
		err = proof.CheckOld(all, key)
	}
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Number <= w.last.Number {
			return fmt.Errorf("line %d is checkpoint %d, and a line before is checkpoint %d", one.Line, one.Number, w.last.Number)
		}
		w.last = proof.Checkpoint{Number: one.Number, Size: one.Size, Root: one.Root[:], Note: one.Note}
	}
	if err := file.Truncate(int64(end)); err != nil {
		return err
	}
	if _, err := file.Seek(int64(end), io.SeekStart); err != nil {
		return err
	}
	write := appendTo(file)
	w.key, w.emit = key, func(one proof.Checkpoint) error { return errors.Join(write(one), file.Sync()) }
	return nil
}

// fromServer prints the checkpoints of a running server. With --follow it goes on after the server
// was away.
func (c *Checkpoints) fromServer(ctx context.Context, notes io.Writer, w *witness) error {
	connected, away := false, false
	for {
		err := w.read(func(after uint64) error {
			return c.read(ctx, fmt.Sprintf("/checkpoints?after=%d", after), func(body io.Reader) error {
				return readList(body, "checkpoints", "go on with --after and the last number", w.next)
			})
		})
		switch {
		case w.failed != nil:
			return err
		case ctx.Err() != nil && c.Follow:
			return nil
		case !c.Follow || err != nil && (!connected || !passes(err)):
			return err
		case err != nil && !away:
			fmt.Fprintf(notes, "payledger: %s; going on behind checkpoint %d\n", terminal.Harmless(err.Error()), w.last.Number)
		case err == nil:
			connected = true
		}
		away = err != nil
		if client.Pause(ctx, followPause) != nil {
			return nil
		}
	}
}

// witness emits the checkpoints behind the last one. Each read begins with the last one again: a
// log that was exchanged, rewritten or restored from an old back-up does not have it.
type witness struct {
	last   proof.Checkpoint // with a number alone: its size and root are unknown
	again  bool             // the read has shown the last one
	failed error            // what no later read repairs
	emit   func(proof.Checkpoint) error
	key    string // of the ledger; "": signatures are not checked, and contradictions are not emitted
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
	if err := w.signed(one); err != nil {
		w.failed = fmt.Errorf("checkpoint %d %w", one.Number, err)
		return w.failed
	}
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
		switch {
		case w.key == "":
		case one.Size == w.last.Size:
			w.failed = errors.Join(fmt.Errorf("%w: %w", proof.ErrEquivocation, w.failed), w.emit(one))
		default:
			w.failed = errors.Join(fmt.Errorf("%w, or the number in the file is wrong: it is not signed", w.failed), w.emit(one))
		}
	}
	w.again, w.last = true, one
	return w.failed
}

// signed returns an error if a checkpoint has other values than its note, or the ledger's key did
// not sign the note.
func (w *witness) signed(one proof.Checkpoint) error {
	if w.key == "" {
		return nil
	}
	old, err := one.Old()
	if err != nil {
		return err
	}
	return proof.CheckOld([]proof.Old{old}, w.key)
}

// passes reports whether a later request may succeed: the server is away, starting or busy.
func passes(err error) bool {
	var refused *client.Error
	return !errors.As(err, &refused) || refused.ErrorID == "ServiceUnavailable" || refused.ErrorID == "RateLimitExceeded"
}
