package commandstest

import (
	"context"
	"slices"
	"sync"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/format"
)

// Customers finds the cards and sessions of customers among the tokens that were noted (EnteredIn
// does).
type Customers struct {
	rig    *Rig
	mu     sync.Mutex
	tokens []domain.Token

	saved   []commands.SavedCard
	through map[int]uint64 // the last group that was read, by shard
}

// Add notes a token.
func (c *Customers) Add(token domain.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = append(c.tokens, token)
}

// all returns the newest states of a customer's vaulted cards, deleted ones included.
func (c *Customers) all(ctx context.Context, account domain.AccountID, keep func(instrument.State) bool) (found []instrument.State, err error) {
	c.mu.Lock()
	tokens := slices.Clone(c.tokens)
	c.mu.Unlock()
	log := eventstore.NewRepositories(c.rig.Store)
	for _, token := range tokens {
		tip, err := log.Instruments.Load(ctx, account, token, eventstore.Latest)
		if err != nil {
			return nil, err
		}
		if tip.State.Vaulted() && keep(tip.State) {
			found = append(found, tip.State)
		}
	}
	return found, nil
}

// CustomerSessions returns the sessions in which a customer's cards were entered.
func (c *Customers) CustomerSessions(ctx context.Context, account domain.AccountID, customer string) (sessions []domain.LinkedSession, known bool, err error) {
	found, err := c.all(ctx, account, func(s instrument.State) bool { return s.CustomerID == customer })
	for _, s := range found {
		if !slices.ContainsFunc(sessions, func(l domain.LinkedSession) bool { return l.ID == s.Session }) {
			sessions = append(sessions, domain.LinkedSession{ID: s.Session, Since: s.CreatedAt})
		}
	}
	return sessions, len(found) > 0, err
}

// Instruments returns the cards that were ever vaulted for a customer.
func (c *Customers) Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, error) {
	return c.all(ctx, account, func(s instrument.State) bool { return s.CustomerID == customer })
}

// SavedCards reads the log for the cards that were saved as they were entered.
func (c *Customers) SavedCards(ctx context.Context, of commands.SavedCards) (found []commands.SavedCard, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for shard, last := range c.rig.Store.Appended() {
		if shard == of.Shard {
			if last, err = c.rig.Store.LastSeq(ctx, shard); err != nil {
				return nil, err
			}
		}
		if err := c.read(ctx, shard, format.GroupOf(last)); err != nil {
			return nil, err
		}
	}
	for _, card := range c.saved {
		if card.Session == of.Session || card.Customer == of.Customer && card.At.After(of.After) {
			found = append(found, card)
		}
	}
	return found, nil
}

// read notes the saved cards of a shard up to a group. The caller holds the lock.
func (c *Customers) read(ctx context.Context, shard int, through uint64) error {
	if c.through == nil {
		c.through = map[int]uint64{}
	}
	if through <= c.through[shard] {
		return nil
	}
	err := c.rig.Store.Groups(ctx, shard, c.through[shard]+1, through, func(g *format.Group) error {
		for _, r := range g.Frames {
			if r.Key.Aggregate != eventstore.Instruments.Name || r.Revision != 1 {
				continue
			}
			s, err := eventstore.Instruments.State(r)
			if err != nil {
				return err
			}
			if s.Vaulted() {
				c.saved = append(c.saved, commands.SavedCard{Token: s.Token, Session: s.Session, Customer: s.CustomerID, At: s.CreatedAt})
			}
		}
		return nil
	})
	if err == nil {
		c.through[shard] = through
	}
	return err
}
