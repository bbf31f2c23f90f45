package commandstest

import (
	"context"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore"
)

// Customers finds the cards and sessions of customers among the tokens that were noted (EnteredIn does).
type Customers struct {
	rig    *Rig
	mu     sync.Mutex
	tokens []domain.Token
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

// SavedCards counts the cards that were saved as they were entered.
func (c *Customers) SavedCards(ctx context.Context, account domain.AccountID, session domain.SessionID, customer string, after time.Time, most int) (
	inSession int, times []time.Time, err error,
) {
	found, err := c.all(ctx, account, func(s instrument.State) bool { return s.VaultedAt == nil })
	for _, s := range slices.Backward(found) {
		if s.Session == session {
			inSession++
		}
		if s.CustomerID == customer && s.CreatedAt.After(after) && len(times) < most {
			times = append(times, s.CreatedAt)
		}
	}
	return inSession, times, err
}
