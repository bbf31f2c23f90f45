package backups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

type folderFlag struct{ flag, dir string }

// apart returns an error if one of the folders is another one, or is inside another one.
func apart(folders ...folderFlag) error {
	for i, a := range folders {
		for _, b := range folders[:i] {
			x, y := resolved(a.dir), resolved(b.dir)
			switch {
			case x == y:
				return fmt.Errorf("%s and %s name the same folder %s: name two folders", b.flag, a.flag, a.dir)
			case within(x, y):
				return fmt.Errorf("%s %s is inside %s %s: name a folder outside it", a.flag, a.dir, b.flag, b.dir)
			case within(y, x):
				return fmt.Errorf("%s %s is inside %s %s: name a folder outside it", b.flag, b.dir, a.flag, a.dir)
			}
		}
	}
	return nil
}

func within(inner, outer string) bool {
	rest, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(rest)
}

// resolved returns a path without symbolic links, also if its end does not exist yet.
func resolved(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		path, rest = parent, filepath.Join(filepath.Base(path), rest)
	}
}

// unused returns the path of a folder that does not exist or is empty, without symbolic links: a
// link stays, and its target gets the ledger.
func unused(dir string) (path string, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("--data %s is a symbolic link to nothing: make the folder that it names, or name a new folder; nothing was changed", dir)
		}
	case err != nil:
		return "", fmt.Errorf("--data: %w", err)
	case len(entries) > 0:
		return "", fmt.Errorf("%s is not empty: name a new folder with --data; nothing was changed", dir)
	}
	return resolved(dir), nil
}
