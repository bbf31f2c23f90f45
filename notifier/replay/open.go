package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/notifier/delivery"
)

const (
	// listName is the name of the record that lists the open replays.
	listName = "replays"
	// maxOpen bounds the open replays of one account.
	maxOpen = 4
)

// listSchema is the schema version of openList's bytes. The rules of delivery.Schema apply.
const listSchema = 1

// openList is the record that lists the open replays by name.
type openList struct {
	Schema  int      `json:"schema"`
	Open    []string `json:"open"`
	Process string   `json:"runner"` // with Before: so that no two writers write the same bytes
	Before  uint64   `json:"before"` // place of the previous record
}

func (r *Replayer) openList(ctx context.Context) (openList, uint64, error) {
	var o openList
	stored, err := r.Stream.Last(ctx, listName)
	if errors.Is(err, eventstore.ErrNotFound) {
		return o, 0, nil
	}
	if err == nil {
		err = codec.Unmarshal(stored.Body, &o)
	}
	if err == nil && o.Schema > listSchema {
		err = fmt.Errorf("%w: schema %d, known is %d", delivery.ErrNewerRecord, o.Schema, listSchema)
	}
	if err != nil {
		return openList{}, 0, fmt.Errorf("notifier: replays: %w", err)
	}
	return o, stored.Seq, nil
}

// changeOpen changes the list of open replays with compare-and-swap.
func (r *Replayer) changeOpen(ctx context.Context, change func([]string) ([]string, error)) error {
	for {
		o, at, err := r.openList(ctx)
		if err != nil {
			return err
		}
		open, err := change(slices.Clone(o.Open))
		if err != nil || slices.Equal(open, o.Open) {
			return err
		}
		body, err := codec.Marshal(openList{Schema: listSchema, Open: open, Process: r.process, Before: at})
		if err != nil {
			return fmt.Errorf("notifier: replays: %w", err)
		}
		if _, err = r.Stream.Put(ctx, listName, at, body, true); !errors.Is(err, eventstore.ErrConflict) {
			return err
		}
	}
}

func (r *Replayer) removeOpen(ctx context.Context, name string) error {
	return r.changeOpen(ctx, func(open []string) ([]string, error) {
		return slices.DeleteFunc(open, func(other string) bool { return other == name }), nil
	})
}

// refuseTooMany refuses a further replay of an account if maxOpen of its replays are open.
func refuseTooMany(open []string, owner domain.AccountID) error {
	mine := 0
	for _, name := range open {
		if strings.HasPrefix(name, nameOf(owner, "")) {
			mine++
		}
	}
	if mine < maxOpen {
		return nil
	}
	return domain.Invalid(model, domain.Violation{Path: "$", Description: fmt.Sprintf("comes while %d replays are under way, which is as many as may be", mine)})
}
