package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Names in the folder of an export.
const (
	booksName  = ".payledger-export.sqlite" // position and balances, for the next export into the folder
	partSuffix = ".part"                    // of a file that is not complete
)

// folder writes the files of an export: TABLE.EXTENSION at first, TABLE-POSITION.EXTENSION for
// appended ones, with the first position that they may have. For deliveries it is the first place:
// deliveries also change without an event.
//
// Crash safety: files are written under a name that ends with .part and synced. The commit of the
// books records the position and the names. Then the files get their final names. After a crash
// before the commit, the next export writes the parts again; after a crash or an error behind it,
// the next export first renames them. So no event is missing or written twice.
type folder struct {
	dir    string
	form   form
	append bool   // the folder has files already
	done   bool   // this export was committed
	first  uint64 // position in the names of appended files
	place  uint64 // place in the name of the appended file of deliveries
	// deliveries is the number of deliveries that are new or changed.
	deliveries uint64
	parts      []*part

	events  writer[EventRow]
	entries writer[EntryRow]
}

type part struct {
	name string // the final one
	file *os.File
}

func (c Config) intoFolder(ctx context.Context) (s Summary, err error) {
	if err := os.MkdirAll(c.Out, 0o700); err != nil {
		return s, fmt.Errorf("cannot make the folder of the files: %w; choose another --out", err)
	}
	books := filepath.Join(c.Out, booksName)
	_, found := os.Stat(books)
	files := &folder{dir: c.Out, form: c.form(), append: found == nil} // the books say whether an export was committed
	s, err = c.intoBooks(ctx, books, files)
	if err != nil {
		err = errors.Join(err, files.discard())
	}
	switch {
	case files.done && err != nil: // only the books know the files that have no final name yet
		err = fmt.Errorf("%w; the export is complete: remove the cause, and the next export into %s gives its files their names", err, c.Out)
	case err == nil && c.Once, !files.append && (err != nil || c.Window != Window{}): // an export of a window cannot be continued
		err = errors.Join(err, removeIfThere(books))
	}
	return s, err
}

func (f *folder) create(table string) (*os.File, error) {
	name := table
	if f.append {
		first := f.first
		if table == webhooks.name {
			first = f.place
		}
		name = fmt.Sprintf("%s-%012d", table, first)
	}
	p := &part{name: name + "." + string(f.form.Format)}
	if _, err := os.Stat(filepath.Join(f.dir, p.name)); err == nil {
		return nil, fmt.Errorf("%s exists already, and is not of an export that can be continued; choose another --out", filepath.Join(f.dir, p.name))
	}
	file, err := os.Create(filepath.Join(f.dir, p.name+partSuffix))
	if err != nil {
		return nil, fmt.Errorf("cannot make a file: %w; choose another --out", err)
	}
	p.file = file
	f.parts = append(f.parts, p)
	return file, nil
}

func open[T any](f *folder, t table[T]) (writer[T], error) {
	file, err := f.create(t.name)
	if err != nil {
		return nil, err
	}
	return newWriter(f.form, t, file)
}

// write writes a batch's events and entries. The files begin with the position first.
func (f *folder) write(first uint64, rows *batch) (err error) {
	if f.events == nil {
		if f.append && len(rows.events) == 0 {
			return nil // nothing new needs no file
		}
		f.first = first
		if f.events, err = open(f, events); err != nil {
			return err
		}
		if f.entries, err = open(f, entries); err != nil {
			return err
		}
	}
	if err := f.events.write(rows.events); err != nil {
		return err
	}
	return f.entries.write(rows.entries)
}

// complete writes the files of the other tables, syncs all files, and records their names. It
// returns the names.
func (f *folder) complete(ctx context.Context, b *books) ([]string, error) {
	var tables []func() error
	if f.events != nil {
		tables = []func() error{
			f.events.close, f.entries.close,
			func() error { return writeTable(ctx, f, b, payments, "id") },
			func() error { return writeTable(ctx, f, b, transactions, "payment_id") },
			func() error { return writeTable(ctx, f, b, refunds, "payment_id") },
			func() error { return writeTable(ctx, f, b, disputes, "id") },
		}
	}
	if !f.append || f.deliveries > 0 { // without a change, the next file of deliveries would have the same name
		tables = append(tables, func() error { return writeTable(ctx, f, b, webhooks, "id") })
	}
	if len(tables) == 0 {
		return nil, nil
	}
	for _, write := range tables {
		if err := write(); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, p := range f.parts {
		if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		names = append(names, p.name)
	}
	f.parts = nil
	text, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return names, b.setState(ctx, "files", string(text))
}

func writeTable[T any](ctx context.Context, f *folder, b *books, t table[T], id string) error {
	w, err := open(f, t)
	if err != nil {
		return err
	}
	return errors.Join(writeChanged(ctx, b, t, id, w), w.close())
}

// finish gives the files of the last export their final names, if a crash came before that.
func (f *folder) finish(ctx context.Context, b *books) error {
	text, err := b.state(ctx, "files")
	if err != nil || text == "" {
		return err
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return fmt.Errorf("export: names of the last export: %w", err)
	}
	return f.rename(names)
}

// rename gives complete files their final names. A file that has it already stays.
func (f *folder) rename(names []string) error {
	for _, name := range names {
		final := filepath.Join(f.dir, name)
		if err := rename(final+partSuffix, final); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *folder) discard() (err error) {
	for _, p := range f.parts {
		_ = p.file.Close()
		err = errors.Join(err, removeIfThere(p.file.Name()))
	}
	return err
}

func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
