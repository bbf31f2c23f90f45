//go:build unix

package control

import (
	"fmt"
	"os"
	"syscall"
)

// identity returns the device and the number of a folder, which are the same under each of its
// paths, also in a container; "" if they are unknown.
func identity(folder string) string {
	info, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	of, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return ""
	}
	return fmt.Sprintf("%d:%d", of.Dev, of.Ino)
}
