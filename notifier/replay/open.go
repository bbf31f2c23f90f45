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
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
)

const (
	listName = "replays"
	maxOpen  = 4
)

// listSchema is the schema version of openList's bytes. The rules of delivery.Schema apply.
const listSchema = 1

type openList struct {
	Schema int      `json:"schema"`
	Open   []string `json:"open"`
	Runner string   `json:"runner"` // with Before: so that no two writers write the same bytes
	Before uint64   `json:"before"` // place of the previous record
}

func (r *Replayer) openList(ctx context.Context) (openList, uint64, error) {
	return listOf(r.Stream.Last(ctx, listName))
}

// listOf returns the list in a stored record, and the record's place. err is the error of reading
// the record.
func listOf(stored deliverylog.Record, err error) (openList, uint64, error) {
	var o openList
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
		body, err := codec.Marshal(openList{Schema: listSchema, Open: open, Runner: r.process, Before: at})
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
	return domain.Invalid(model, domain.Violation{Path: "$", Description: fmt.Sprintf("exceeds the limit of %d replays at the same time", maxOpen)})
}
