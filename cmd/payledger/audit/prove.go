package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore/proof"
	"payledger/eventstore/prover"
)

// Prove writes the proof of one payment to a file, from a running server or a stopped server's
// folder (I1).
type Prove struct {
	Payment string `arg:"" name:"payment-id" help:"Id of the payment."`
	Out     string `required:"" help:"File to write." type:"path" placeholder:"FILE"`
	Since   string `help:"File with old checkpoints: also prove that nothing before the newest was rewritten." type:"path" placeholder:"CHECKPOINT"`

	Source  `set:"scope=transactions:retrieve"`
	Account string `help:"Account of the folder, with --data (default: the first)." placeholder:"ID"`
	FolderKey

	since uint64 // the size of the old checkpoint; 0: none
}

type proved struct {
	VerifierKey string `json:"verifierKey"`
}

// Run writes the file and prints the verifier key. A file with the given name is complete, and its
// check has succeeded.
func (c *Prove) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := named(c.Payment); err != nil {
		return err
	}
	folder, err := c.isFolder(args, c.Account)
	if err != nil {
		return err
	}
	write := c.fromServer
	if folder {
		write = c.fromFolder
	}
	if c.Since != "" {
		old, err := readCheckpoints(c.Since)
		if err != nil {
			return err
		}
		for _, one := range old {
			c.since = max(c.since, one.Size)
		}
	}
	var key string
	err = saveFile(c.Out, func(to io.Writer) (err error) {
		key, err = write(ctx, to)
		return err
	}, func(name string) error {
		_, _, err := checkFile(name, key)
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(std.Out).Encode(proved{key})
}

// saveFile writes a file under a temporary name, checks it, and then renames it. After an error it
// removes the file.
func saveFile(name string, write func(io.Writer) error, check func(name string) error) (err error) {
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; name a file with --out", name)
	case err == nil && !info.Mode().IsRegular():
		return notAFile(name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; choose another place with --out", name, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	if err := check(f.Name()); err != nil {
		return fmt.Errorf("the proof that was made does not hold, and was not kept: %w", err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("cannot write %s: %w; choose another place with --out", name, err)
	}
	return f.Close()
}

// notAFile returns the error for a device, a pipe or a socket in the place of an output file.
func notAFile(name string) error {
	return fmt.Errorf("%s is a device or a pipe; name a file with --out", name)
}

// readCheckpoints returns the old checkpoints in a file.
func readCheckpoints(name string) ([]proof.Old, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the old checkpoint: %w; name another file with --since", err)
	}
	all, err := proof.ReadCheckpoints(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; --since takes lines of `payledger checkpoints` or one signed note", name, err)
	}
	return all, nil
}

func checkFile(name, key string) (file proof.File, checked proof.Checked, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return file, checked, fmt.Errorf("cannot read the proof: %w; name the file that `payledger prove` wrote", err)
	}
	if file, err = proof.Parse(text); err == nil {
		checked, err = proof.Check(file, key)
	}
	return file, checked, err
}

func (c *Prove) fromServer(ctx context.Context, to io.Writer) (key string, err error) {
	var known proved
	err = c.read(ctx, "/verifier-key", func(body io.Reader) error { return whole(body, &known) })
	if err != nil {
		return "", err
	}
	path := "/payments/" + url.PathEscape(c.Payment) + "/proof"
	if c.since > 0 {
		path += fmt.Sprintf("?since=%d", c.since)
	}
	return known.VerifierKey, c.read(ctx, path, func(body io.Reader) error {
		if _, err := io.Copy(to, body); err != nil {
			return fmt.Errorf("the proof was not written: %w; try again", err)
		}
		return nil
	})
}

func (c *Prove) fromFolder(ctx context.Context, to io.Writer) (key string, err error) {
	err = openFolder(ctx, c.FolderKey.of(c.Data), func(l *ledger.Ledger, p *prover.Prover) error {
		return l.OfAccount(ctx, c.Account, func(account domain.AccountID) error {
			made, err := p.Payment(ctx, account, domain.PaymentID(c.Payment), c.since)
			if err != nil {
				return err
			}
			key = p.VerifierKey()
			return made.Write(ctx, to)
		})
	})
	return key, err
}

func openFolder(ctx context.Context, config options.Options, use func(*ledger.Ledger, *prover.Prover) error) error {
	return ledger.Read(ctx, config, func(l *ledger.Ledger) error {
		signer, key, err := l.Secrets.CheckpointSigner(ctx)
		if err != nil {
			return err
		}
		p := prover.New(prover.Config{
			Store: l.Store, Signer: signer, Key: key, File: filepath.Join(config.Data, ledger.ProofFile), ReadOnly: true, Logger: zerolog.Nop(),
		})
		defer p.Close()
		return use(l, p)
	})
}
