package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A file that is built anew while another one is in use is the next generation: path.2, path.3, …
// Its identity says that it is not whole until Finish. The newest whole generation counts. A start
// removes all others.

// unfinished begins the identity of a file that is being built.
const unfinished = "unfinished: "

const updateIdentity = `UPDATE meta SET identity = ?`

// generations returns the paths of the generations after the first, the newest first.
func generations(path string) (paths []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("sqlitefile: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if n, err := strconv.Atoi(digits); is && err == nil && n > 1 && strconv.Itoa(n) == digits {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	for _, n := range numbers {
		paths = append(paths, fmt.Sprintf("%s.%d", path, n))
	}
	return paths, nil
}

// Settle returns the path of the newest whole generation of the file at path, and removes all
// others. No process may use the file.
func Settle(ctx context.Context, path, identity string) (string, error) {
	later, err := generations(path)
	if err != nil {
		return "", err
	}
	settled := ""
	for _, one := range later {
		if settled == "" {
			found, err := identityOf(ctx, one)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err == nil && found == identity {
				settled = one
				continue
			}
		}
		if err := Remove(one); err != nil {
			return "", err
		}
	}
	if settled == "" {
		return path, nil
	}
	return settled, Remove(path)
}

func identityOf(ctx context.Context, path string) (identity string, err error) {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, selectIdentity).Scan(&identity)
	return identity, errors.Join(err, db.Close())
}

// OpenNext creates the next generation of the file at path, which may be in use. Finish makes it
// count.
func OpenNext(ctx context.Context, path, identity, tables string) (*File, error) {
	later, err := generations(path)
	if err != nil {
		return nil, err
	}
	number := 2
	if len(later) > 0 {
		newest, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(later[0]), "."))
		if err != nil {
			return nil, fmt.Errorf("sqlitefile: %w", err)
		}
		number = newest + 1
	}
	return openOnce(ctx, fmt.Sprintf("%s.%d", path, number), unfinished+identity, tables)
}

// Finish makes a file of OpenNext whole. It is durable when Finish returns.
func (f *File) Finish(ctx context.Context, identity string) error {
	if _, err := f.conn.ExecContext(ctx, updateIdentity, identity); err != nil {
		return f.Noticed(fmt.Errorf("sqlitefile: finish %s: %w", f.path, err))
	}
	var busy, size, copied int
	if err := f.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(FULL)").Scan(&busy, &size, &copied); err != nil {
		return f.Noticed(fmt.Errorf("sqlitefile: finish %s: %w", f.path, err))
	}
	if busy != 0 {
		return fmt.Errorf("sqlitefile: finish %s: its write-ahead log is in use", f.path)
	}
	return nil
}
