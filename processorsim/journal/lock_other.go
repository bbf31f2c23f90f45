//go:build !unix

package journal

import "os"

// lock does nothing: these systems have no lock that kill -9 releases in the standard library.
func lock(*os.File) error { return nil }
