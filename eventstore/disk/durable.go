package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Unfinished is the ending that the name of a file has until the file is whole and on the disk.
const Unfinished = ".part"

// Write writes a file durably. After a kill or a power failure, and after an error, the file is
// whole, or as it was before; an unfinished one may remain, which the next Write replaces.
func Write(path string, data []byte) error {
	return Fill(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill is Write for contents that a function writes.
func Fill(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path+Unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Rename(path+Unfinished, path)
}

// Rename renames a file, which is on the disk, within its folder. It returns when the name is
// durable.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
