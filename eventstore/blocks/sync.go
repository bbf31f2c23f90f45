package blocks

import (
	"errors"
	"fmt"
	"os"
)

// Sync syncs the newest block of every stream of an account. After a kill the newest messages may
// be in the memory of the system only.
func Sync(dir, account string) error {
	names, err := Streams(dir, account)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		files, filesErr := Files(Folder(dir, account, name))
		if errors.Is(filesErr, os.ErrNotExist) || filesErr == nil && len(files) == 0 {
			continue
		}
		if err = errors.Join(err, filesErr); err != nil {
			break
		}
		f, openErr := os.Open(files[len(files)-1].Path)
		if openErr != nil {
			err = openErr
			break
		}
		if err = errors.Join(f.Sync(), f.Close()); err != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("blocks: %w", err)
	}
	return nil
}
