package limits

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

const (
	// memoryShare is the share of the machine's or the cgroup's memory that the process uses by
	// default, in percent.
	memoryShare = 75
	// MinMemory is the smallest --memory, in bytes.
	MinMemory = 256 << 20
	// The page cache of each read model file takes 1/48 of the memory, within these bounds in
	// bytes.
	pageShare, minPages, maxPages = 48, 4 << 20, 32 << 20
	// Bodies and answers in memory take 1/8 each.
	heldShare, maxHeld = 8, 1 << 30
	// Large send buffers of connections take 1/16, at most maxSend bytes.
	sendShare, maxSend = 16, 256 << 20
	// connectionSize is about the most memory that an idle connection takes, with its kernel
	// buffers, in bytes.
	connectionSize = 128 << 10
	// minConnections is the number of connections that any memory allows.
	minConnections, maxConnections = 256, 16 << 10
	// Connections take at most half of the files that the process may open.
	fileShare = 2
	// The log's caches take 1/16 of the memory, within these bounds in bytes.
	minCaches = 32 << 20
	maxCaches = 1 << 30
	// The buffers of the server for analysts take 1/8 of the memory, at most maxAnalysts bytes.
	analystShare, maxAnalysts = 8, 1 << 30
)

// Size is a number of bytes on the command line: "512MiB", "4GiB", "768MB", or a plain number.
type Size int64

var memoryUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"", 1}}

// UnmarshalText reads a size.
func (m *Size) UnmarshalText(text []byte) error {
	for _, unit := range memoryUnits {
		number, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/unit.bytes {
			break
		}
		*m = Size(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size; write for example 512MiB or 4GiB", text)
}

// Bounds are the memory limits of the process and its parts, in bytes.
type Bounds struct {
	Limit, Caches   int64 // of the process, and of the log's caches
	Pages           int64 // the page cache of each file of the read models
	Bodies, Answers int64 // of requests, while they are in memory
	Send            int64 // the large send buffers of connections
	Analysts        int64 // the buffers of the server for analysts, if there is one
}

// Connections returns the number of connections that the memory and the number of open files allow.
func (m Bounds) Connections(files int) int {
	return max(minConnections, min(int(m.Limit/connectionSize), files/fileShare, maxConnections))
}

// Of returns the bounds for --memory; 0 means memoryShare of the memory of the cgroup or the
// machine.
func Of(flag Size) Bounds {
	limit := int64(flag)
	if limit == 0 {
		limit = available("/") / 100 * memoryShare
	}
	held := min(limit/heldShare, maxHeld)
	return Bounds{
		Limit: limit, Caches: min(max(limit/16, minCaches), maxCaches),
		Pages: min(max(limit/pageShare, minPages), maxPages), Bodies: held, Answers: held,
		Send:     min(limit/sendShare, maxSend),
		Analysts: min(limit/analystShare, maxAnalysts),
	}
}

// Apply sets the runtime's memory limit. A lower limit in GOMEMLIMIT stays in force.
func (m Bounds) Apply() {
	const heapShare = 85 // percent: stacks, SQLite's and the kernel's share take the rest
	if before := debug.SetMemoryLimit(m.Limit / 100 * heapShare); before < m.Limit/100*heapShare {
		debug.SetMemoryLimit(before)
	}
}

// available returns the least memory of the machine and of the process's cgroups, in bytes. root is
// the folder of the system's files.
func available(root string) int64 {
	least := int64(8 << 30) // if nothing reports the memory
	if text, err := os.ReadFile(filepath.Join(root, "proc/meminfo")); err == nil {
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					least = n << 10
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			least = min(least, cgroupLimit(filepath.Join(root, "sys/fs/cgroup"), parts[2], "memory.max"))
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			least = min(least, cgroupLimit(filepath.Join(root, "sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// cgroupLimit returns the least limit of a cgroup and its parents, in bytes. A container sees its
// own cgroup as the top.
func cgroupLimit(top, at, file string) int64 {
	least := int64(math.MaxInt64)
	for at = path.Clean("/" + at); ; at = path.Dir(at) {
		if text, err := os.ReadFile(filepath.Join(top, at, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
		if at == "/" {
			return least
		}
	}
}
