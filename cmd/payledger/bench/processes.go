package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// process is a process of this machine whose CPU time counts.
type process struct {
	name string
	id   int
}

func parseProcesses(texts []string) (all []process, err error) {
	for _, text := range texts {
		name, id, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(id)
		if err != nil || n < 1 || name == "" {
			return nil, fmt.Errorf("--processes %q must be a name and the id of a process, such as nats=4711", text)
		}
		all = append(all, process{name, n})
	}
	return all, nil
}

// tick is the unit of CPU time in /proc, the same on every Linux that Go supports.
const tick = 10 * time.Millisecond

// cpuOf returns the CPU time of processes by name. The time of a process does not have that of its
// children.
func cpuOf(processes []process) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.id))
		if err != nil {
			return nil, fmt.Errorf("--processes %s=%d: %w", p.name, p.id, err)
		}
		spent, err := cpuOfStat(text)
		if err != nil {
			return nil, fmt.Errorf("--processes %s=%d: %w", p.name, p.id, err)
		}
		all[p.name] += spent
	}
	return all, nil
}

// cpuOfStat returns utime and stime of a file stat in /proc.
func cpuOfStat(text []byte) (spent time.Duration, err error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the program's name may have spaces and parentheses
	if len(fields) < 13 {
		return 0, fmt.Errorf("its file stat in /proc is too short")
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseUint(string(field), 10, 63)
		if err != nil {
			return 0, err
		}
		spent += time.Duration(ticks) * tick
	}
	return spent, nil
}
