package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ticksPerSecond is the unit of processor time in /proc, the same on every machine that Go
// supports.
const ticksPerSecond = 100

// used returns cpuSeconds while every standby is synchronous: a load without them measures
// something else.
func (p *postgres) used(ctx context.Context, db querier) (float64, error) {
	if err := p.synchronous(ctx, db); err != nil {
		return 0, err
	}
	return p.cpuSeconds()
}

// cpuSeconds returns the processor time of yardstick and of all processes of the server and its
// standbys, those that ended included.
func (p *postgres) cpuSeconds() (float64, error) {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return 0, err
	}
	seconds := float64(self.Utime.Nano()+self.Stime.Nano()) / 1e9
	servers := map[int]bool{}
	for _, s := range p.servers() {
		servers[s.server.Process.Pid] = true
	}
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		if s := parseStat(text); servers[s.pid] || servers[s.parent] {
			seconds += float64(s.ticks) / ticksPerSecond
		}
	}
	return seconds, nil
}

// stat is what Linux says of a process.
type stat struct {
	pid, parent int
	ticks       int // of CPU, of the process and of the children that it waited for
}

// parseStat returns the zero value for an incomplete text.
func parseStat(text []byte) (s stat) {
	pid, _, _ := bytes.Cut(text, []byte(" "))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name in parentheses may have spaces
	if len(fields) < 15 {
		return s
	}
	s.pid, _ = strconv.Atoi(string(pid))
	s.parent, _ = strconv.Atoi(string(fields[1]))
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.Atoi(string(field))
		s.ticks += n
	}
	return s
}
