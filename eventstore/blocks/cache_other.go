//go:build !linux

package blocks

import "os"

// forget does nothing: only Linux can drop one file from the cache.
func forget(*os.File) {}
