package faulttest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fault is one thing that is done to a folder.
type fault struct {
	class, kind, file string
	detail            string
}

func (f fault) String() string { return f.class + ": " + f.kind + " " + f.file + " " + f.detail }

// errNothing means that a fault cannot be made here; another one is.
var errNothing = errors.New("nothing to do here")

// injector damages one folder.
type injector struct {
	dir, older string
	random     *rand.Rand
	class      string // of the files; "" for any
	kind       string // "" for any
}

// classes of files, each as likely as the others.
var classes = map[string]func(path string) bool{
	"journal":     func(p string) bool { return strings.Contains(p, "/LEDGER_") && strings.HasSuffix(p, ".blk") },
	"large":       func(p string) bool { return strings.HasSuffix(p, "/3.blk") || strings.HasSuffix(p, "/4.blk") },
	"deliveries":  func(p string) bool { return strings.Contains(p, "/DELIVERIES_") && strings.HasSuffix(p, ".blk") },
	"secrets":     func(p string) bool { return strings.Contains(p, "/SECRETS_") && strings.HasSuffix(p, ".blk") },
	"checkpoints": func(p string) bool { return strings.Contains(p, "/CHECKPOINTS_") && strings.HasSuffix(p, ".blk") },
	"index":       func(p string) bool { return strings.HasSuffix(p, "index.db") },
	"meta":        func(p string) bool { return strings.HasSuffix(p, "meta.inf") || strings.HasSuffix(p, "meta.sum") },
	"tips":        func(p string) bool { return strings.HasPrefix(p, "tips/") },
}

// files returns the files of a class, by their paths in the folder.
func (i *injector) files(class string) (paths []string) {
	_ = filepath.WalkDir(i.dir, func(path string, d fs.DirEntry, err error) error { // a missing file cannot be chosen
		if err == nil && !d.IsDir() {
			if rel, err := filepath.Rel(i.dir, path); err == nil && classes[class](rel) {
				paths = append(paths, rel)
			}
		}
		return nil
	})
	return paths
}

// inject makes one fault.
func (i *injector) inject() (fault, error) {
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 1000 {
		class := i.class
		if class == "" {
			class = names[i.random.IntN(len(names))]
		}
		all := i.files(class)
		if len(all) == 0 {
			continue
		}
		n := i.random.IntN(len(kinds))
		if i.kind != "" {
			n = slices.IndexFunc(kinds, func(k kind) bool { return k.name == i.kind })
		}
		f := fault{class: class, kind: kinds[n].name, file: all[i.random.IntN(len(all))]}
		var err error
		if f.detail, err = kinds[n].make(i, f.file, all); errors.Is(err, errNothing) {
			continue
		}
		return f, err
	}
	return fault{}, errNothing
}

type kind struct {
	name string
	make func(i *injector, file string, all []string) (string, error)
}

var kinds = []kind{
	{"flip", (*injector).flip}, {"zero a page of", (*injector).zero}, {"garbage in", (*injector).garbage},
	{"cut", (*injector).cut}, {"cut at a record", (*injector).cutRecord}, {"empty", (*injector).empty}, {"drop", (*injector).drop},
	{"swap files", (*injector).swapFiles}, {"swap records of", (*injector).swapRecords}, {"drop a record of", (*injector).dropRecord},
	{"double the tail of", (*injector).doubleTail}, {"double a record of", (*injector).doubleRecord},
	{"roll back", (*injector).rollBack}, {"drop the folder of", (*injector).dropFolder}, {"copy as the next block", (*injector).copyBlock},
	{"roll back the folder of", (*injector).rollBackFolder},
}

func (i *injector) edit(file string, change func(b []byte) ([]byte, string)) (string, error) {
	path := filepath.Join(i.dir, file)
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return "", errNothing
	}
	changed, detail := change(bytes.Clone(b))
	if changed == nil || bytes.Equal(changed, b) {
		return "", errNothing
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // in place: a running server has it open
	if err != nil {
		return "", err
	}
	_, err = f.WriteAt(changed, 0)
	return detail, errors.Join(err, f.Truncate(int64(len(changed))), f.Close())
}

func (i *injector) flip(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) {
		at, bit := i.random.IntN(len(b)), i.random.IntN(8)
		b[at] ^= 1 << bit
		return b, fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(b))
	})
}

func (i *injector) zero(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) {
		at := i.random.IntN(len(b)) &^ 4095
		clear(b[at:min(len(b), at+4096)])
		return b, fmt.Sprintf("at %d of %d", at, len(b))
	})
}

func (i *injector) garbage(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) {
		at, n := i.random.IntN(len(b)), 1+i.random.IntN(600)
		for j := at; j < min(len(b), at+n); j++ {
			b[j] = byte(i.random.Uint32())
		}
		return b, fmt.Sprintf("%d bytes at %d of %d", n, at, len(b))
	})
}

func (i *injector) cut(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) {
		n := 1 + i.random.IntN(len(b))
		if i.random.IntN(2) == 0 {
			n = min(n, 1+i.random.IntN(64))
		}
		return b[:len(b)-n], fmt.Sprintf("%d bytes of %d", n, len(b))
	})
}

func (i *injector) empty(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) { return b[:0], "" })
}

func (i *injector) drop(file string, _ []string) (string, error) {
	return "", os.Remove(filepath.Join(i.dir, file))
}

// records returns where the records of a block begin; the last element is the end.
func (i *injector) records(file string) (at []int64) {
	if !strings.HasSuffix(file, ".blk") {
		return nil
	}
	block, err := os.ReadFile(filepath.Join(i.dir, file))
	if err != nil || len(Records(block)) == 1 {
		return nil
	}
	return Records(block)
}

func (i *injector) cutRecord(file string, _ []string) (string, error) {
	at := i.records(file)
	if len(at) < 2 {
		return "", errNothing
	}
	n := i.random.IntN(len(at) - 1)
	if i.random.IntN(2) == 0 {
		n = len(at) - 2
	}
	return i.edit(file, func(b []byte) ([]byte, string) { return b[:at[n]], fmt.Sprintf("at record %d of %d", n, len(at)-1) })
}

func (i *injector) swapRecords(file string, _ []string) (string, error) {
	at := i.records(file)
	if len(at) < 3 {
		return "", errNothing
	}
	n := i.random.IntN(len(at) - 2)
	return i.edit(file, func(b []byte) ([]byte, string) {
		first, second := bytes.Clone(b[at[n]:at[n+1]]), bytes.Clone(b[at[n+1]:at[n+2]])
		copy(b[at[n]:], append(second, first...))
		return b, fmt.Sprintf("%d and the next of %d", n, len(at)-1)
	})
}

func (i *injector) dropRecord(file string, _ []string) (string, error) {
	at := i.records(file)
	if len(at) < 2 {
		return "", errNothing
	}
	n := i.random.IntN(len(at) - 1)
	return i.edit(file, func(b []byte) ([]byte, string) {
		return append(b[:at[n]:at[n]], b[at[n+1]:]...), fmt.Sprintf("number %d of %d", n, len(at)-1)
	})
}

func (i *injector) doubleRecord(file string, _ []string) (string, error) {
	at := i.records(file)
	if len(at) < 2 {
		return "", errNothing
	}
	n := i.random.IntN(len(at) - 1)
	return i.edit(file, func(b []byte) ([]byte, string) {
		return append(b, b[at[n]:at[n+1]]...), fmt.Sprintf("number %d of %d, at the end", n, len(at)-1)
	})
}

func (i *injector) doubleTail(file string, _ []string) (string, error) {
	return i.edit(file, func(b []byte) ([]byte, string) {
		n := 1 + i.random.IntN(min(len(b), 4096))
		return append(b, b[len(b)-n:]...), fmt.Sprintf("%d bytes of %d", n, len(b))
	})
}

func (i *injector) swapFiles(file string, all []string) (string, error) {
	other := all[i.random.IntN(len(all))]
	if other == file || filepath.Ext(other) != filepath.Ext(file) {
		return "", errNothing
	}
	b, err := os.ReadFile(filepath.Join(i.dir, other))
	if err != nil {
		return "", errNothing
	}
	var mine []byte
	_, err = i.edit(file, func(was []byte) ([]byte, string) { mine = bytes.Clone(was); return b, "" })
	if err == nil {
		_, err = i.edit(other, func([]byte) ([]byte, string) { return mine, "" })
	}
	return "with " + other, err
}

func (i *injector) rollBack(file string, _ []string) (string, error) {
	b, err := os.ReadFile(filepath.Join(i.older, file))
	if err != nil {
		return "", errNothing
	}
	return i.edit(file, func(was []byte) ([]byte, string) { return b, fmt.Sprintf("from %d to %d bytes", len(was), len(b)) })
}

// folderOf is the folder of a stream, its messages, or the tip store.
func (i *injector) folderOf(file string) string {
	folder := filepath.Dir(file)
	if i.random.IntN(2) == 0 && filepath.Base(folder) == "msgs" {
		folder = filepath.Dir(folder)
	}
	return folder
}

func (i *injector) dropFolder(file string, _ []string) (string, error) {
	folder := i.folderOf(file)
	return folder, os.RemoveAll(filepath.Join(i.dir, folder))
}

func (i *injector) rollBackFolder(file string, _ []string) (string, error) {
	folder := i.folderOf(file)
	before := filepath.Join(i.older, folder)
	if _, err := os.Stat(before); err != nil || digest(before) == digest(filepath.Join(i.dir, folder)) {
		return "", errNothing
	}
	to := filepath.Join(i.dir, folder)
	return folder, errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(before)))
}

func (i *injector) copyBlock(file string, _ []string) (string, error) {
	var n int
	if _, err := fmt.Sscanf(filepath.Base(file), "%d.blk", &n); err != nil {
		return "", errNothing
	}
	next := filepath.Join(i.dir, filepath.Dir(file), fmt.Sprintf("%d.blk", n+1))
	b, err := os.ReadFile(filepath.Join(i.dir, file))
	if err != nil {
		return "", errNothing
	}
	if _, err := os.Stat(next); err == nil {
		return "", errNothing
	}
	return next, os.WriteFile(next, b, 0o600)
}

// digest is over the names and contents of all files below a folder that a refused start must not
// change.
func digest(dir string) string {
	sum := sha256.New()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // a missing file counts as changed
		if err != nil {
			return nil //nolint:nilerror // see above
		}
		if name := d.Name(); d.IsDir() && name == "torn" {
			return fs.SkipDir
		} else if d.IsDir() || name == "LOCK" || strings.HasPrefix(name, "ballast") {
			return nil
		}
		b, _ := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n", path, len(b))
		sum.Write(b)
		return nil
	})
	return string(sum.Sum(nil))
}
