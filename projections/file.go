package projections

import (
	"context"
	"database/sql"

	"github.com/rs/zerolog"
)

// File is a disposable SQLite file of a subpackage, kept as the read model's own: one writer, several readers,
// removed and made anew when it is damaged or of another identity.
type File struct{ d *database }

// OpenFile opens the file at path, or makes it with the tables, to which it adds one named meta. Identity names
// everything that a row depends on: a file of another identity is made anew, and so is a damaged one.
func OpenFile(ctx context.Context, path, identity, tables string, log zerolog.Logger) (*File, error) {
	tables = tableMeta + tables
	d, err := openTables(ctx, path, identity, tables)
	if err != nil && unusable(err) {
		log.Warn().Err(err).Str("file", path).Msg("the file is made anew")
		if err := removeDatabase(path); err != nil {
			return nil, err
		}
		d, err = openTables(ctx, path, identity, tables)
	}
	if err != nil {
		return nil, err
	}
	return &File{d}, nil
}

// Writer is the one writing connection, for one goroutine.
func (f *File) Writer() *sql.Conn { return f.d.conn }

// Readers are connections that can only read.
func (f *File) Readers() *sql.DB { return f.d.readers }

// SizeCache changes the page cache of the writer to so many bytes.
func (f *File) SizeCache(ctx context.Context, bytes int64) error { return f.d.sizeCache(ctx, bytes) }

// Noticed gives err back, and remembers when it shows that the file is damaged: Close then removes it, so that the
// next start makes it anew.
func (f *File) Noticed(err error) error { return f.d.noticed(err) }

// Close closes the file. Statements that were prepared on the writer must be closed before.
func (f *File) Close() error { return f.d.Close() }

const tableMeta = "CREATE TABLE meta (identity TEXT NOT NULL);\n"
