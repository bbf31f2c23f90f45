//go:build !unix

package limits

import "math"

// OpenFiles returns the largest int: the limit is unknown.
func OpenFiles() int { return math.MaxInt }
