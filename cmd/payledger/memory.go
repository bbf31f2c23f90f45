package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// memoryShare is the part of the machine's or the cgroup's memory that the process uses by default, in percent.
	memoryShare = 75
	// minMemory is the least that --memory may be, in bytes.
	minMemory = 256 << 20
	// Bodies and answers that are held take an eighth each.
	heldShare, maxHeld = 8, 1 << 30
	// connectionSize is about what a connection takes at most by itself, its buffers in the kernel included, in bytes.
	connectionSize = 128 << 10
	maxConnections = 16 << 10
	// The log's caches take a sixteenth of the memory, within these bounds, in bytes.
	minCaches = 32 << 20
	maxCaches = 1 << 30
)

// memorySize is a number of bytes on the command line: "512MiB", "4GiB", "768MB", or a plain number.
type memorySize int64

var memoryUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"", 1}}

// UnmarshalText reads a size.
func (m *memorySize) UnmarshalText(text []byte) error {
	for _, unit := range memoryUnits {
		number, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/unit.bytes {
			break
		}
		*m = memorySize(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size; write for example 512MiB or 4GiB", text)
}

// memory is how many bytes the process may use, and how many of them the log's caches get.
type memory struct {
	Limit, Caches   int64
	Bodies, Answers int64 // of requests, while they are held
}

// connections returns how many connections the memory and a number of open files allow.
func (m memory) connections(files int) int {
	return max(leastConnections, min(int(m.Limit/connectionSize), files/fileShare, maxConnections))
}

// memoryOf returns the bounds for --memory; 0 takes memoryShare of what the cgroup or the machine has.
func memoryOf(flag memorySize) memory {
	limit := int64(flag)
	if limit == 0 {
		limit = available() / 100 * memoryShare
	}
	held := min(limit/heldShare, maxHeld)
	return memory{Limit: limit, Caches: min(max(limit/16, minCaches), maxCaches), Bodies: held, Answers: held}
}

// limitMemory has the runtime collect in time to stay below the limit. What the operator sets in GOMEMLIMIT below it
// stays.
func (m memory) limitMemory() {
	const heapShare = 85 // percent: stacks, SQLite's and the kernel's share take the rest
	if before := debug.SetMemoryLimit(m.Limit / 100 * heapShare); before < m.Limit/100*heapShare {
		debug.SetMemoryLimit(before)
	}
}

// available returns the memory of the cgroup or of the machine, in bytes, whichever is less.
func available() int64 {
	least := int64(8 << 30) // when nothing tells
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					least = n << 10
				}
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	return least
}
