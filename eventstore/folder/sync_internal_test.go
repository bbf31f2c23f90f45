package folder

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

// removing is a folder in which the server removes a folder after it was listed.
type removing struct{ fstest.MapFS }

const removed = "streams/__msgs__"

func (f removing) Open(name string) (fs.File, error) {
	if name == removed {
		return nil, fs.ErrNotExist
	}
	return f.MapFS.Open(name)
}

func (f removing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == removed {
		return nil, fs.ErrNotExist
	}
	return f.MapFS.ReadDir(name)
}

// TestEachFile: what the server removes in the background is left out, and an unreadable file is an
// error.
func TestEachFile(t *testing.T) {
	files := removing{fstest.MapFS{removed + "/1.blk": {}, "streams/msgs/1.blk": {}}}
	var done []string
	err := eachFile(files, func(path string) error {
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		done = append(done, path)
		return f.Close()
	})
	if want := []string{".", "streams", "streams/msgs", "streams/msgs/1.blk"}; err != nil || !slices.Equal(done, want) {
		t.Errorf("%v: %v", done, err)
	}
	if err := eachFile(files, func(string) error { return fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if err := eachFile(fstest.MapFS{}, func(string) error { return fs.ErrNotExist }); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder itself is gone:", err)
	}
}
