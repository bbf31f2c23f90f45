//go:build !system

package scratchtest

const onDisk = false
