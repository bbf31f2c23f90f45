package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
)

// Still is a file that no process writes, opened for reading only: not even its folder changes.
type Still struct {
	*sql.DB
	copied string // the folder of a copy, or ""
}

// OpenStill opens the newest whole generation of the file of a stopped service. A file with a
// write-ahead log, which a killed service leaves, is copied into a folder below temp: SQLite would
// write to it. ErrStale means that the file has another identity.
func OpenStill(ctx context.Context, path, identity, temp string) (*Still, error) {
	later, err := generations(path)
	if err != nil {
		return nil, err
	}
	for _, one := range later {
		if s, err := openStill(ctx, one, identity, temp); err == nil { // a start removes any other one
			return s, nil
		}
	}
	return openStill(ctx, path, identity, temp)
}

func openStill(ctx context.Context, path, identity, temp string) (*Still, error) {
	s := &Still{}
	options := url.Values{"mode": {"ro"}, "immutable": {"1"}}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if s.copied, err = os.MkdirTemp(temp, "payledger-views-"); err == nil {
			err = errors.Join(copyFile(path, s.copied), copyFile(path+"-wal", s.copied))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sqlitefile: a copy of %s: %w", path, err), s.Close())
		}
		path, options = filepath.Join(s.copied, filepath.Base(path)), url.Values{}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitefile: %w", err), s.Close())
	}
	var err error
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: options.Encode()}
	if s.DB, err = sql.Open("sqlite", source.String()); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitefile: open %s: %w", path, err), s.Close())
	}
	s.SetMaxOpenConns(1)
	var found string
	if err := s.QueryRowContext(ctx, selectIdentity).Scan(&found); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitefile: %s cannot be read: %w", path, err), s.Close())
	}
	if found != identity {
		return nil, errors.Join(fmt.Errorf("%w: it is %q, not %q", ErrStale, found, identity), s.Close())
	}
	return s, nil
}

// Close closes the file, and removes a copy.
func (s *Still) Close() error {
	var errs []error
	if s.DB != nil {
		errs = append(errs, s.DB.Close())
	}
	if s.copied != "" {
		errs = append(errs, os.RemoveAll(s.copied))
	}
	return errors.Join(errs...)
}

func copyFile(path, folder string) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(folder, filepath.Base(path)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
