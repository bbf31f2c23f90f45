package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"payledger/eventstore/blocks"
	"payledger/eventstore/disk"
)

// SyncNewest syncs the newest messages of every stream. After a kill they may be in the memory of
// the system only.
func SyncNewest(dir string) error {
	names, err := Streams(dir)
	for _, name := range names {
		files, filesErr := blocks.Files(of(dir, name))
		if errors.Is(filesErr, fs.ErrNotExist) || filesErr == nil && len(files) == 0 {
			continue
		}
		if err = errors.Join(err, filesErr); err == nil {
			err = syncOne(os.Open(files[len(files)-1].Path))
		}
		if err != nil {
			return fmt.Errorf("eventstore: the log cannot be synced: %w", err)
		}
	}
	return err
}

// SyncStreams syncs all files of streams, with their folders.
func SyncStreams(dir string, names []string) error {
	for _, name := range names {
		if err := SyncAll(of(dir, name)); err != nil {
			return err
		}
	}
	return disk.SyncFolder(home(dir))
}

// SyncAll syncs a folder, with all that is in it.
func SyncAll(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	err = eachFile(root.FS(), func(path string) error { return syncOne(root.Open(path)) })
	return errors.Join(err, root.Close())
}

func syncOne(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// eachFile calls do with each file and each folder. It leaves out those that are removed meanwhile:
// the server removes purged files in the background, also after its end, and replaces its index.
func eachFile(files fs.FS, do func(path string) error) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			err = do(path)
		}
		if errors.Is(err, fs.ErrNotExist) && path != "." {
			return nil
		}
		return err
	})
}
