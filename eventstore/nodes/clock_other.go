//go:build !linux

package nodes

import "time"

var started = time.Now()

// Clock returns the time since the process started.
func Clock() time.Duration { return time.Since(started) }
