package eventstore

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/eventstore/format"
)

// LogInitialized says that the log has its first account: a log is initialized once, in a cluster too.
type LogInitialized struct {
	At          time.Time        `json:"at"`
	Account     domain.AccountID `json:"accountId"`
	Environment string           `json:"environment"`
}

// Type is the event's name in the log.
func (LogInitialized) Type() string { return "log.initialized" }

// LogState is what a log is for.
type LogState struct {
	Account     domain.AccountID `json:"accountId"`
	Environment string           `json:"environment"`
}

// Logs is the aggregate of the log itself; there is one, under the account "system".
var Logs = format.NewAggregate("log", 1, []LogInitialized{{}}, func(_ LogState, e LogInitialized) LogState {
	return LogState{Account: e.Account, Environment: e.Environment}
})

var logKey = Logs.Key(format.SystemAccount, "log")

// Initialized returns the purpose of the log, or ErrNotFound if it has no account yet.
func (s *Store) Initialized(ctx context.Context) (LogState, error) {
	r, err := s.Load(ctx, logKey, Latest)
	if err != nil {
		return LogState{}, err
	}
	return Logs.State(r)
}

// Initialize claims the log for its first account; ErrConflict when another was first.
func (s *Store) Initialize(ctx context.Context, state LogState, actor string) error {
	meta, err := s.NewMeta(actor, "init")
	if err != nil {
		return err
	}
	_, err = ExecuteNew(ctx, s, Logs, logKey, meta, func(there LogState) (LogInitialized, error) {
		if there != (LogState{}) {
			return LogInitialized{}, ErrConflict
		}
		return LogInitialized{At: meta.At, Account: state.Account, Environment: state.Environment}, nil
	})
	if errors.Is(err, ErrConflict) {
		return ErrConflict
	}
	return err
}
