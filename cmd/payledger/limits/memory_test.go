package limits

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMemorySize: a size has a number and a known unit; any other text is an error.
func TestMemorySize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"512MiB": 512 << 20, "4GiB": 4 << 30, "1 TiB": 1 << 40, "300000000": 300000000, "0": 0, "768MB": 768_000_000} {
		var m Size
		if err := m.UnmarshalText([]byte(text)); err != nil || m != want {
			t.Errorf("%q: %d, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "1.5GiB", "99999999999TiB", "much"} {
		var m Size
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, m)
		}
	}
}

// TestMemoryBounds: the caches follow the memory within their bounds.
func TestMemoryBounds(t *testing.T) {
	t.Parallel()
	for limit, want := range map[Size]int64{256 << 20: minCaches, 4 << 30: 256 << 20, 1 << 40: maxCaches} {
		if m := Of(limit); m.Limit != int64(limit) || m.Caches != want || m.Pages > m.Limit/48 || m.Pages < minPages || m.Bodies > m.Limit/8 || m.Answers > m.Limit/8 {
			t.Errorf("%d: %+v", limit, m)
		}
	}
	for _, test := range []struct{ memory, files, want int64 }{
		{768 << 20, 1 << 20, 6144}, {768 << 20, 1024, 512}, {256 << 20, 100, minConnections}, {1 << 40, 1 << 20, maxConnections},
	} {
		if n := Of(Size(test.memory)).Connections(int(test.files)); n != int(test.want) {
			t.Errorf("%+v: %d connections", test, n)
		}
	}
	if m := Of(0); m.Limit < 100<<20 || m.Limit > available("/") {
		t.Errorf("by default %+v of %d", m, available("/"))
	}
}

// TestAvailable: the available memory is the least of the machine's memory and the limits of the
// process's cgroups, of version 1 and 2. In a container the process sees its own cgroup as the top.
func TestAvailable(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:        4194304 kB\nMemFree:          100000 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing tells": {nil, 8 << 30},
		"the machine":   {map[string]string{"proc/meminfo": meminfo}, 4 << 30},
		"a cgroup": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/service/payledger\n",
			"sys/fs/cgroup/service/payledger/memory.max": "805306368\n", "sys/fs/cgroup/service/memory.max": "max\n",
		}, 768 << 20},
		"a cgroup around it": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/service/payledger\n",
			"sys/fs/cgroup/service/payledger/memory.max": "max\n", "sys/fs/cgroup/service/memory.max": "1073741824\n",
		}, 1 << 30},
		"a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "805306368\n",
		}, 768 << 20},
		"a container of version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "805306368\n",
		}, 768 << 20},
		"no limit of version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
		}, 4 << 30},
	} {
		root := t.TempDir()
		for file, text := range test.files {
			at := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := available(root); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
