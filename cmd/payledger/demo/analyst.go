package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore/feed"
	"payledger/projections/export"
)

func (s *story) analyst(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	payments, read := feed.Payments{}, 0
	s.out.line("   tail     position  event")
	for e, err := range feed.HTTP(s.api, s.apiKey).Follow(waiting, 0) {
		if err != nil {
			return fmt.Errorf("of %d events %d were read: %w", s.result.Events, read, err)
		}
		if e.Payment == nil || s.shown[e.AggregateID] == 0 {
			continue
		}
		payments.Apply(e)
		if e.AggregateID == s.paid.ID {
			s.out.line("            %8d  %-28s %s", e.Position, e.Type, e.Payment.Status)
		}
		if read++; read == s.result.Events {
			break
		}
	}
	var captured, refunded domain.Amount
	for id, p := range payments {
		now, err := s.quiet().read(ctx, string(id))
		if err != nil {
			return err
		}
		at := processorOf(now)
		if now.Status != string(p.Status) || at.AmountCaptured != int64(p.Processor.AmountCaptured) || at.AmountRefunded != int64(p.Processor.AmountRefunded) {
			return fmt.Errorf("the events fold to %+v, the payment is %s", p, note(now))
		}
		captured, refunded = captured+p.Processor.AmountCaptured, refunded+p.Processor.AmountRefunded
	}
	if len(payments) != len(s.shown) {
		return fmt.Errorf("the events are of %d payments, expected %d", len(payments), len(s.shown))
	}
	s.out.line("   %d events of %d payments, each once: %s captured, %s refunded, as the payments say", read, len(payments), euros(int64(captured)), euros(int64(refunded)))
	return s.shares(ctx)
}

func (s *story) shares(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "payledger-tables-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "tables.sqlite")
	command := audit.Export{Format: string(export.SQLite), Out: file, Source: audit.Source{URL: s.api, APIKey: s.apiKey}}
	if err := command.Run(ctx, terminal.Streams{Out: io.Discard, Err: io.Discard}, nil); err != nil {
		return err
	}
	shares, err := export.Shares(ctx, file)
	if err != nil {
		return err
	}
	s.out.line("   export --format sqlite, and in SQL: what does each processor refuse?")
	asked, refused := 0, 0
	for _, one := range shares {
		s.out.line("            %s: %d of %d authorizations refused", one.Processor, one.Asked-one.Granted, one.Asked)
		asked, refused = asked+one.Asked, refused+one.Asked-one.Granted
	}
	if asked < len(s.shown) || refused == 0 {
		return fmt.Errorf("the tables have %d authorizations, %d of them refused; the story has %d payments and a decline", asked, refused, len(s.shown))
	}
	return nil
}
