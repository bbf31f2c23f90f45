package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is the length of a socket's path, in bytes, that every Unix accepts.
const maxPath = 100

// descriptors is the folder of Linux in which each open file of this process has a short path.
var descriptors = "/proc/self/fd"

// errTooLong means that a path is too long for a socket, and that this system has no shorter one.
var errTooLong = errors.New("the path is too long for a socket")

// shortened returns a path of the socket in a folder that has at most maxPath bytes. The path is
// valid in this process until done.
func shortened(folder string) (path string, done func(), err error) {
	path, done = filepath.Join(folder, socketName), func() {}
	if len(path) <= maxPath {
		return path, done, nil
	}
	if _, err := os.Stat(descriptors); err != nil {
		return "", done, errTooLong
	}
	open, err := os.Open(folder)
	if err != nil {
		return "", done, err
	}
	path = filepath.Join(descriptors, fmt.Sprint(open.Fd()), socketName)
	return path, func() { _ = open.Close() }, nil // it was only opened for its path
}
