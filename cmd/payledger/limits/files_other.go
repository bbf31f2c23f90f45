//go:build !unix

package limits

import "io/fs"

// PrivateFiles does nothing: the system has no modes of files.
func PrivateFiles() {}

// Owner returns -1: the owner is unknown.
func Owner(fs.FileInfo) int { return -1 }
