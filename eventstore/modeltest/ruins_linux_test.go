package modeltest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// survival is the share of unsynced writes that the disk holds after a crash.
type survival int

const (
	allSurvives  survival = iota // the process died, and the machine did not
	noneSurvives                 // only synced writes
	someSurvives                 // any of the pages and names
)

const (
	pageSize   = 4096
	sectorSize = 512
)

// chance decides by lot.
type chance interface {
	IntN(n int) int
}

// ruins writes the folder as it is found after the crash into the empty folder to. lost describes
// the writes that are gone.
func (d *disk) ruins(to string, how survival, lot chance) (lost string, err error) {
	now, dirs, err := d.present()
	if err != nil {
		return "", err
	}
	names, folders := d.names, d.dirs
	switch how {
	case allSurvives:
		names, folders = now, dirs
	case someSurvives:
		names, folders = mixNames(d.names, now, lot), map[string]bool{}
		for _, dir := range sortedKeys(dirs) {
			folders[dir] = d.dirs[dir] || lot.IntN(2) == 0
		}
	}
	var lostNames []string
	for _, name := range sortedKeys(now) {
		if names[name] != now[name] {
			lostNames = append(lostNames, name)
		}
	}
	for dir, there := range folders {
		if there {
			if err := os.MkdirAll(filepath.Join(to, dir), 0o700); err != nil {
				return "", err
			}
		}
	}
	lostBytes := 0
	for _, name := range sortedKeys(names) {
		f := d.files[names[name]]
		written, err := readAll(f.held)
		if err != nil {
			return "", err
		}
		content := written
		switch how {
		case noneSurvives:
			content = f.durable
		case someSurvives:
			content = mixPages(f.durable, written, lot)
		}
		lostBytes += differs(content, written)
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d bytes, and the names %s", lostBytes, lostNames), nil
}

// present reads the folder as the process sees it. Files that were never synced become known.
func (d *disk) present() (names map[string]inode, dirs map[string]bool, err error) {
	names, dirs = map[string]inode{}, map[string]bool{}
	err = filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.rel(path)
		if e.IsDir() {
			dirs[name] = true
			return nil
		}
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		id, err := d.learn(f)
		names[name] = id
		return err
	})
	return names, dirs, err
}

// mixNames takes any of the changes that lead from the durable names to those of now. A rename is
// one change.
func mixNames(durable, now map[string]inode, lot chance) map[string]inode {
	names := map[string]inode{}
	moved := map[string]string{} // new name to old
	byInode := map[inode]string{}
	for name, id := range durable {
		names[name] = id
		byInode[id] = name
	}
	for name, id := range now {
		if old, known := byInode[id]; known && old != name && now[old] != id {
			moved[name] = old
		}
	}
	for _, name := range sortedKeys(now) {
		if durable[name] == now[name] || lot.IntN(2) == 0 {
			continue
		}
		names[name] = now[name]
		if old, renamed := moved[name]; renamed && names[old] == now[name] {
			delete(names, old)
		}
	}
	wasMoved := map[string]bool{}
	for _, old := range moved {
		wasMoved[old] = true
	}
	for _, name := range sortedKeys(durable) {
		if _, there := now[name]; !there && !wasMoved[name] && lot.IntN(2) == 0 {
			delete(names, name)
		}
	}
	return names
}

// mixPages takes any of the pages that were written after the last sync; one of them may be torn.
func mixPages(durable, written []byte, lot chance) []byte {
	if bytes.Equal(durable, written) {
		return durable
	}
	size := len(durable)
	appended := bytes.HasPrefix(written, durable)
	switch choice := lot.IntN(4); {
	case choice == 0 && !appended: // it was emptied and written again
		size = 0
	case choice == 1 && len(written) > size: // somewhere between
		size += lot.IntN(len(written) - size)
	case choice >= 2:
		size = len(written)
	}
	content := make([]byte, size)
	copy(content, durable)
	unit := pageSize
	if lot.IntN(2) == 0 {
		unit = sectorSize // torn
	}
	pages := (size + unit - 1) / unit
	first, last, odds := 0, pages, 1 // odds 1: all between first and last
	switch lot.IntN(3) {
	case 0: // up to some place
		last = lot.IntN(pages + 1)
	case 1: // from some place on: the pages before stayed as they were, or empty
		first = lot.IntN(pages + 1)
	case 2:
		odds = 2
	}
	for p := first; p < last; p++ {
		at, end := p*unit, min((p+1)*unit, size)
		if at < len(written) && lot.IntN(odds) == 0 {
			copy(content[at:end], written[at:])
		}
	}
	return content
}

// differs counts the bytes of written that content does not hold.
func differs(content, written []byte) (n int) {
	for i := range written {
		if i >= len(content) || content[i] != written[i] {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
