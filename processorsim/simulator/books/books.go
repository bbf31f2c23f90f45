package books

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/journal"
)

const fileName = "books.jsonl"

type slot struct {
	processor processor.Name
	key       domain.OperationKey
}

// Books is the open ledger of all processors. Its methods may be called from many goroutines.
type Books struct {
	journal *journal.Journal
	now     func() time.Time
	random  io.Reader // read under mu only

	mu          sync.Mutex
	last        *journal.Commit // of the newest record; nil before the first
	order       []*Operation    // by creation
	byID        map[string]*Operation
	bySlot      map[slot]*Operation
	byReference map[domain.PaymentID][]*Operation
	running     map[slot]struct{} // admitted, not yet decided
	fences      map[slot]struct{}
	pending     map[string]*Operation
	sales       map[string]*sale    // by processorTransactionId of the authorization
	captures    map[string]*capture // by processorTransactionId of the capture
	disputes    disputes
}

// Open reads or creates the books in folder dir. cut is the length in bytes of a torn last line,
// which a crash left. random is read under a lock; now need not be monotonic.
func Open(dir string, now func() time.Time, random io.Reader) (b *Books, cut int, err error) {
	b = newBooks()
	b.now, b.random = now, random
	b.journal, cut, err = journal.Open(filepath.Join(dir, fileName), b.read)
	if err != nil {
		return nil, 0, fmt.Errorf("books: %w", err)
	}
	return b, cut, nil
}

func newBooks() *Books {
	return &Books{
		byID: map[string]*Operation{}, bySlot: map[slot]*Operation{}, byReference: map[domain.PaymentID][]*Operation{},
		running: map[slot]struct{}{}, fences: map[slot]struct{}{}, pending: map[string]*Operation{},
		sales: map[string]*sale{}, captures: map[string]*capture{}, disputes: disputes{
			newest: map[string]*DisputeReport{}, byID: map[string]*DisputeReport{}, about: map[domain.PaymentID][]*DisputeReport{}, due: map[string]Due{},
		},
	}
}

// Read reads the books in folder dir, which no simulator may have open, for reading methods only.
// It changes no file.
func Read(dir string) (*Books, error) {
	b := newBooks()
	if err := journal.Read(filepath.Join(dir, fileName), b.read); err != nil {
		return nil, fmt.Errorf("books: %w", err)
	}
	return b, nil
}

// Close makes everything durable and closes the file.
func (b *Books) Close() error { return b.journal.Close() }

func (b *Books) read(line []byte) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	return b.fold(r)
}

// write folds r and appends it to the file, under mu. The caller waits for b.last before it
// answers.
func (b *Books) write(r record) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := b.fold(r); err != nil {
		return err
	}
	b.last = b.journal.Append(line)
	return nil
}

// durably calls do under mu. Without an error it returns when every record up to then is durable.
func (b *Books) durably(do func() error) error {
	b.mu.Lock()
	err := do()
	last := b.last
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return last.Wait()
}
