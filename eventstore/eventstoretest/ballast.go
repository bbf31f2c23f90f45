//go:build !system

package eventstoretest

import "payledger/eventstore/disk"

// A test program has hundreds of logs, and their files can be in memory: 54 MB of ballast each
// would have to be cleared. With the build tag system they have their real size, as the tests of
// full disks need it.
func init() { disk.BallastSpace, disk.StartBallastSpace = 4096, 4096 }
