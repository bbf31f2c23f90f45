package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"payledger/cmd/payledger/control"
)

type question struct{ Count int }

// counting answers with the numbers up to Count.
func counting() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/count", control.Command(func(_ context.Context, q question, emit func(any) error) (any, error) {
		for n := range q.Count {
			if err := emit(n); err != nil {
				return nil, err
			}
		}
		if q.Count == 0 {
			return nil, errors.New("nothing to count: name a number")
		}
		return map[string]int{"counted": q.Count}, nil
	}))
	return mux
}

// count asks the service of a folder.
func count(t *testing.T, data string, q question) (lines int, done map[string]int, err error) {
	t.Helper()
	client, err := control.Find(t.Context(), data)
	if err != nil {
		return 0, nil, err
	}
	err = client.Call(t.Context(), "count", q, func(json.RawMessage) error { lines++; return nil }, &done)
	return lines, done, err
}

func serve(t *testing.T, data string) *control.Server {
	t.Helper()
	s, err := control.Listen(t.Context(), data, counting())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stop(t *testing.T, s *control.Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// folders returns a data folder with a short path, and a folder whose path is too long for a
// socket.
func folders(t *testing.T) map[string]string {
	t.Helper()
	short, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	long := filepath.Join(short, strings.Repeat("a-long-name/", 12))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"short": short, "long": long}
}

// TestCommands: a service answers on a short and on a long path. It leaves nothing outside its data
// folder, except where a system gives open folders no short paths.
func TestCommands(t *testing.T) {
	test := func(t *testing.T, data, temporary string, outside int) {
		if _, _, err := count(t, data, question{1}); !errors.Is(err, control.ErrNoService) {
			t.Errorf("without a service: %v", err)
		}
		before := entries(t, temporary)
		s := serve(t, data)
		info, err := os.Stat(filepath.Join(data, "control.sock"))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 || info.Mode()&os.ModeSocket == 0 {
			t.Errorf("the socket has the mode %v", info.Mode())
		}
		if made := entries(t, temporary) - before; made != outside {
			t.Errorf("the folder for temporary files has %d entries of the service, expected %d", made, outside)
		}
		if lines, done, err := count(t, data, question{3}); err != nil || lines != 3 || done["counted"] != 3 {
			t.Errorf("%d lines, %v, %v", lines, done, err)
		}
		if _, _, err := count(t, data, question{0}); err == nil || err.Error() != "nothing to count: name a number" {
			t.Errorf("a failed command: %v", err)
		}
		if _, err := control.Listen(t.Context(), data, counting()); err == nil || !strings.Contains(err.Error(), "another service") {
			t.Errorf("a second service: %v", err)
		}
		stop(t, s)
		if left, err := filepath.Glob(filepath.Join(data, "*control*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		if left := entries(t, temporary) - before; left != 0 {
			t.Errorf("%d entries stay in the folder for temporary files", left)
		}
	}
	all := folders(t)
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			temporary, outside := t.TempDir(), 0
			t.Setenv("TMPDIR", temporary)
			if _, err := os.Stat("/proc/self/fd"); err != nil && name == "long" {
				outside = 1
			}
			test(t, data, temporary, outside)
		})
	}
	t.Run("long without descriptors", func(t *testing.T) {
		test(t, all["long"], withoutDescriptors(t), 1)
	})
}

// withoutDescriptors makes this process one of a system without /proc/self/fd. It returns the
// folder for temporary files, whose path must be short there.
func withoutDescriptors(t *testing.T) string {
	t.Helper()
	control.WithoutDescriptors(t)
	above := os.TempDir()
	if len(above) > 50 {
		above = "/dev/shm"
	}
	temporary, err := os.MkdirTemp(above, "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temporary) })
	t.Setenv("TMPDIR", temporary)
	return temporary
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestStaleSocket: a killed service leaves its socket, which refuses connections. The next service
// replaces it.
func TestStaleSocket(t *testing.T) {
	for name, data := range folders(t) {
		t.Chdir(data) // the path of a socket is short in its own folder
		left, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "control.sock")
		if err != nil {
			t.Fatal(err)
		}
		left.(*net.UnixListener).SetUnlinkOnClose(false)
		left.Close()
		if _, _, err := count(t, data, question{1}); !errors.Is(err, control.ErrNoService) {
			t.Errorf("%s: a stale socket: %v", name, err)
		}
		s := serve(t, data)
		if lines, _, err := count(t, data, question{2}); err != nil || lines != 2 {
			t.Errorf("%s: %d lines, %v", name, lines, err)
		}
		stop(t, s)
	}
}

// TestServiceOfAnotherFolder: a command that is sent to a copied folder does not reach the service
// of the original, to which the copy's link or socket leads; also if the original is not visible
// under the service's path, as in a container.
func TestServiceOfAnotherFolder(t *testing.T) {
	for name, copySocket := range map[string]func(from, to string) error{
		"long": func(from, to string) error {
			link, err := os.Readlink(from)
			return errors.Join(err, os.Symlink(link, to))
		},
		"short": os.Link, // as cp -al
	} {
		t.Run(name, func(t *testing.T) {
			if name == "long" {
				withoutDescriptors(t)
			}
			data := folders(t)[name]
			var calls atomic.Int64
			mux := http.NewServeMux()
			mux.Handle("/count", control.Command(func(context.Context, question, func(any) error) (any, error) {
				calls.Add(1)
				return map[string]int{"counted": 1}, nil
			}))
			s, err := control.Listen(t.Context(), data, mux)
			if err != nil {
				t.Fatal(err)
			}
			copied, moved := t.TempDir(), strings.TrimSuffix(data, "/")+"-moved"
			if err := copySocket(filepath.Join(data, "control.sock"), filepath.Join(copied, "control.sock")); err != nil {
				t.Fatal(err)
			}
			refused := func(what string) {
				t.Helper()
				if _, _, err := count(t, copied, question{1}); err == nil || !strings.Contains(err.Error(), "leads to the service of") || calls.Load() > 0 {
					t.Errorf("%s: %v, and the command ran %d times", what, err, calls.Load())
				}
			}
			refused("the service of another folder")
			if err := os.Rename(data, moved); err != nil {
				t.Fatal(err)
			}
			refused("the service of a folder that is not visible")
			if _, _, err := count(t, moved, question{1}); err != nil || calls.Load() != 1 {
				t.Errorf("under another path: %v, and the command ran %d times", err, calls.Load())
			}
			if err := os.Rename(moved, data); err != nil {
				t.Fatal(err)
			}
			stop(t, s)
		})
	}
}

func TestUnknownCommand(t *testing.T) {
	data := folders(t)["short"]
	s := serve(t, data)
	defer stop(t, s)
	client, err := control.Find(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Call(t.Context(), "unknown", 1, nil, nil); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an unknown command: %v", err)
	}
}
