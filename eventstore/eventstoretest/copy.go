package eventstoretest

import (
	"io/fs"
	"os"
	"slices"
	"strings"
)

// CopyLog copies the folder of a log, without the files that only keep space free: they are larger
// than most logs of tests, and a start makes them.
func CopyLog(to, from string) error { return os.CopyFS(to, withoutBallast{os.DirFS(from)}) }

type withoutBallast struct{ fs.FS }

func (f withoutBallast) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "ballast") }), err
}
