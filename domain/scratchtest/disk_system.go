//go:build system

package scratchtest

// Whole-system tests are the ones that show the service on a disk.
const onDisk = true
