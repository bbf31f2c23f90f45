package projections

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/sqlitefile"
)

func instrumentRow(v *view[instrument.State]) []any {
	if !v.state.Vaulted() {
		return nil
	}
	ended := int64(0)
	if !v.state.Good() {
		ended = 1
	}
	vaulted := v.state.CreatedAt
	if v.state.VaultedAt != nil {
		vaulted = *v.state.VaultedAt
	}
	return []any{
		v.key.ID, string(v.key.Account), int64(v.revision), v.state.CreatedAt.UnixMicro(), v.state.CustomerID, ended,
		string(v.state.Session), vaulted.UnixMicro(),
	}
}

func attemptRow(v *view[attempt.State]) []any {
	if !v.state.Due() {
		return nil
	}
	return []any{v.key.ID, string(v.key.Account), v.state.DecidedAt.UnixMicro()}
}

// Instruments returns a customer's vaulted instruments, oldest first, and the default token (D5.12), with all that this node acknowledged.
func (p *Projections) Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, domain.Token, error) {
	list, err := current(ctx, p, func(ctx context.Context) ([]instrument.State, error) { return p.instruments(ctx, account, customer) })
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(list, func(a, b instrument.State) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Token, b.Token))
	})
	return list, defaultOf(list), nil
}

func defaultOf(list []instrument.State) (token domain.Token) {
	var at time.Time
	for _, s := range list {
		if s.DefaultAt != nil && !s.DefaultAt.Before(at) {
			token, at = s.Token, *s.DefaultAt
		}
	}
	return token
}

func (p *Projections) instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, error) {
	m, done := p.reading()
	rows, err := readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Instruments.Key(account, id) }, selectInstruments, string(account), customer)
	done()
	if err != nil {
		return nil, fmt.Errorf("projections: instruments: %w", err)
	}
	list, err := tips(ctx, p.Store, eventstore.Instruments, rows)
	if err != nil {
		return nil, fmt.Errorf("projections: instruments: %w", err)
	}
	return slices.DeleteFunc(list, func(s instrument.State) bool { return !s.Good() || s.CustomerID != customer }), nil
}

// EndedInstruments lists at most limit vaulted tokens that ended, after a token, in their order. Their cards must be destroyed.
func (p *Projections) EndedInstruments(ctx context.Context, after domain.Token, limit int) ([]secrets.CardRef, error) {
	return rowsOf(ctx, p, "ended instruments", func(scan sqlitefile.Scan) (c secrets.CardRef, err error) {
		var created int64
		err = scan(&c.Token, &c.Account, &created)
		c.TokenizedAt = time.UnixMicro(created).UTC()
		return c, err
	}, selectEnded, string(after), limit)
}
