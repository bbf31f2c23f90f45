package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
	"payledger/eventstore/folder"
)

// Read opens a stopped server's folder, calls use, and closes the folder. It does not change the
// folder.
func Read(ctx context.Context, o options.Options, use func(*Ledger) error) (err error) {
	l, err := Open(ctx, o, ReadOnly, engine.Config{Logger: zerolog.Nop()})
	if errors.Is(err, folder.ErrInUse) {
		return fmt.Errorf("a server runs on %s; read from it with --url and --api-key", o.Data)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return use(l)
}

// OfAccount calls use with the named account, or for "" with the ledger's first. The error for an
// unknown payment names the account.
func (l *Ledger) OfAccount(ctx context.Context, name string, use func(domain.AccountID) error) error {
	all, err := reconcile.Accounts(ctx, l.Store)
	if err != nil {
		return err
	}
	id := domain.AccountID(name)
	if name == "" {
		first, err := eventstore.Initialized(ctx, l.Store)
		if err != nil {
			return err
		}
		id = first.Account
	} else if !slices.Contains(all, id) {
		return fmt.Errorf("the folder has no account %s; it has %v", id, all)
	}
	err = use(id)
	switch {
	case domain.ReasonOf(err) != domain.ReasonPayment:
		return err
	case name == "" && len(all) > 1:
		return fmt.Errorf("%w The folder has %d accounts, and this is the answer of the first: name the payment's with --account, one of %v", err, len(all), all)
	default:
		return fmt.Errorf("%w Check its id, and that it is of account %s", err, id)
	}
}
