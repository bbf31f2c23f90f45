//go:build !unix

package limits

import "math"

// OpenFiles is how many files the process may have open: nothing tells.
func OpenFiles() int { return math.MaxInt }
