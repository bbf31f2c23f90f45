package processorsim

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/books"
	"payledger/processorsim/protocol"
)

// Archive is the books of a simulator that does not run, for whoever wants to look at them.
type Archive struct{ books *books.Books }

// OpenArchive reads the books in dir. A simulator that runs on them is an error, as is damage anywhere but in a torn
// last line.
func OpenArchive(dir string) (*Archive, error) {
	b, err := books.Read(dir)
	return &Archive{b}, err
}

// ByReference gives all operations of a payment at a processor, in order of creation.
func (a *Archive) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) (found []processor.Record, err error) {
	err = a.read(ctx, books.Filter{Processor: name, Reference: reference}, func(r processor.Record) error {
		found = append(found, r)
		return nil
	})
	return found, err
}

// Operations hands on what a processor created from one time to another, both included, in order of creation.
func (a *Archive) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	return a.read(ctx, books.Filter{Processor: name, From: from, To: to}, handle)
}

func (a *Archive) read(ctx context.Context, f books.Filter, handle func(processor.Record) error) error {
	return a.books.Entries(f, func(e protocol.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return handle(e.Record())
	})
}
