package projections

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
	"payledger/projections/listing"
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
	byDefault := int64(0)
	if v.state.DefaultAt != nil {
		byDefault = v.state.DefaultAt.UnixMicro()
	}
	return []any{
		v.key.ID, string(v.key.Account), int64(v.revision), v.state.CreatedAt.UnixMicro(), v.state.CustomerID, ended,
		string(v.state.Session), vaulted.UnixMicro(), byDefault,
	}
}

// Instruments returns all instruments that were ever vaulted for a customer, in no order, with all
// that this node acknowledged.
func (p *Projections) Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, error) {
	return current(ctx, p, func(ctx context.Context) ([]instrument.State, error) {
		list, err := p.instrumentsAt(ctx, account, customer, selectEverVaulted)
		return slices.DeleteFunc(list, func(s instrument.State) bool { return s.CustomerID != customer }), err
	})
}

func listed(s instrument.State, customer string) bool { return s.Good() && s.CustomerID == customer }

func (p *Projections) instrumentsAt(ctx context.Context, account domain.AccountID, customer, query string) ([]instrument.State, error) {
	m, done := p.reading()
	rows, err := readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Instruments.Key(account, id) }, query, string(account), customer)
	done()
	if err != nil {
		return nil, fmt.Errorf("projections: instruments: %w", err)
	}
	list, err := tips(ctx, p.Store, eventstore.Instruments, rows)
	if err != nil {
		return nil, fmt.Errorf("projections: instruments: %w", err)
	}
	return list, nil
}

// ListInstruments reads a page of at most limit vaulted instruments of a customer after from,
// oldest first (D5.12), with all that this node acknowledged.
func (p *Projections) ListInstruments(ctx context.Context, account domain.AccountID, customer string, from *listing.Place, limit int) (listing.Page[instrument.State], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[instrument.State], err error) {
		start := listing.Place{At: time.UnixMicro(math.MinInt64)}
		if from != nil {
			start = *from
		}
		found, err := p.instruments(ctx, account, customer, selectOldest, start, limit+1, func(instrument.State) bool { return true })
		return listing.PageOf(found, limit, instrumentPlace), err
	})
}

func instrumentPlace(s instrument.State) *listing.Place {
	return &listing.Place{At: s.CreatedAt, ID: string(s.Token)}
}

// instruments reads up to n instruments of a customer that fit, from a place on, in the order of
// the query.
func (p *Projections) instruments(ctx context.Context, account domain.AccountID, customer, query string, from listing.Place, n int,
	fits func(instrument.State) bool,
) ([]instrument.State, error) {
	found, err := filled(ctx, p, eventstore.Instruments, n, func(m *model, last *instrument.State, most int) ([]rowKey, error) {
		if last != nil {
			from = *instrumentPlace(*last)
		}
		return readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Instruments.Key(account, id) }, query,
			string(account), customer, from.At.UnixMicro(), from.ID, most)
	}, func(s *instrument.State) (bool, error) { return listed(*s, customer) && fits(*s), nil })
	if err != nil {
		return nil, fmt.Errorf("projections: instruments: %w", err)
	}
	return found, nil
}

// NewestInstruments returns the newest vaulted instruments of a customer that fit, at most so many,
// oldest first. The default is among them if it fits. more reports that there are others.
func (p *Projections) NewestInstruments(ctx context.Context, account domain.AccountID, customer string, most int,
	fits func(instrument.State) bool,
) (found []instrument.State, more bool, err error) {
	found, err = current(ctx, p, func(ctx context.Context) ([]instrument.State, error) {
		list, err := p.instruments(ctx, account, customer, selectNewest, listing.Place{At: time.UnixMicro(math.MaxInt64)}, most+1, fits)
		if more = len(list) > most; !more || err != nil {
			return list, err
		}
		list = list[:most]
		first, err := p.instrumentsAt(ctx, account, customer, selectDefault)
		if len(first) > 0 && listed(first[0], customer) && fits(first[0]) &&
			!slices.ContainsFunc(list, func(s instrument.State) bool { return s.Token == first[0].Token }) {
			list[most-1] = first[0]
		}
		return list, err
	})
	slices.Reverse(found)
	return found, more, err
}

// DefaultInstrument returns the token of a customer's default instrument (D5.12), with all that
// this node acknowledged; "" without one.
func (p *Projections) DefaultInstrument(ctx context.Context, account domain.AccountID, customer string) (domain.Token, error) {
	return current(ctx, p, func(ctx context.Context) (domain.Token, error) {
		found, err := p.instrumentsAt(ctx, account, customer, selectDefault)
		if len(found) == 0 || !listed(found[0], customer) {
			return "", err
		}
		return found[0].Token, nil
	})
}

// SavedCards returns cards that were saved as they were entered (D22): those of a client session,
// and those of a customer after a time. Cards that were deleted since are among them. The read
// model waits for one shard only: damage of another one stops nobody from saving.
func (p *Projections) SavedCards(ctx context.Context, of commands.SavedCards) ([]commands.SavedCard, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if of.Shard >= 0 {
		if err := p.shardCaughtUp(ctx, of.Shard); err != nil {
			return nil, unavailable(err)
		}
	}
	cards, err := rowsOf(ctx, p, "saved cards", func(scan sqlitefile.Scan) (c commands.SavedCard, err error) {
		var at int64
		err = scan(&c.Token, &c.Session, &c.Customer, &at)
		c.At = time.UnixMicro(at).UTC()
		return c, err
	}, selectSaved, string(of.Session), string(of.Account), string(of.Account), of.Customer, of.After.UnixMicro())
	if err != nil {
		return nil, unavailable(err)
	}
	return cards, nil
}

// EndedInstruments lists at most limit vaulted tokens that ended, after a token, in their order.
// Their cards must be destroyed.
func (p *Projections) EndedInstruments(ctx context.Context, after domain.Token, limit int) ([]secrets.CardRef, error) {
	return rowsOf(ctx, p, "ended instruments", func(scan sqlitefile.Scan) (c secrets.CardRef, err error) {
		var created int64
		err = scan(&c.Token, &c.Account, &created)
		c.TokenizedAt = time.UnixMicro(created).UTC()
		return c, err
	}, selectEnded, string(after), limit)
}
