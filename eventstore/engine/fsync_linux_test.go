package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"payledger/domain/childtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// These variables of the environment make the test binary a child process whose disk fails.
const (
	fsyncDir    = "PAYLEDGER_TEST_FSYNC_DIR"
	fsyncTarget = "PAYLEDGER_TEST_FSYNC_TARGET"
)

// sickDisk is the child's report.
type sickDisk struct {
	Key       eventstore.Key
	Target    eventstore.Key // of the append after the disk failed
	Succeeded bool           // an append was called a success after the disk failed
	Error     string         // the error that it got
	Unknown   bool           // that was ErrUnknown
	Facts     []string       // who wrote the events that readers were given
	Fatal     time.Duration  // from the failure to the call to stop; 0: none came
}

// sickMost is the time within which the log must demand a stop: it takes 13 s on a machine with
// nothing else to do.
const sickMost = 2 * time.Minute

// sickTargets are the aggregates that a child appends to when its disk fails.
var sickTargets = []string{"known aggregate", "new aggregate"}

// TestFsyncFails checks an embedded server whose fsync fails (EIO for every fsync and fdatasync of
// a child process): no append succeeds, no reader gets an unacknowledged event, and the log demands
// a stop. Afterwards the folder opens, and its events are made durable before they are shown.
func TestFsyncFails(t *testing.T) {
	if os.Getenv(fsyncDir) != "" {
		runSickDisk(t)
		return
	}
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dirs, results := make([]string, len(sickTargets)), make([]sickDisk, len(sickTargets))
	var children sync.WaitGroup
	for i, target := range sickTargets { // all at once: a child mostly waits for its deadlines
		dirs[i] = t.TempDir()
		children.Go(func() { results[i] = sickChild(t, dirs[i], target) })
	}
	children.Wait()
	for i, target := range sickTargets {
		t.Run(target, func(t *testing.T) {
			dir, result := dirs[i], results[i]
			if result.Succeeded || !result.Unknown {
				t.Errorf("the append ended with: success %t, %s", result.Succeeded, result.Error)
			}
			if slices.Contains(result.Facts, "lost") || !slices.Contains(result.Facts, "acknowledged") {
				t.Errorf("readers were given %v", result.Facts)
			}
			if result.Fatal == 0 || result.Fatal > sickMost {
				t.Errorf("stopped after %s", result.Fatal)
			}
			t.Logf("stopped after %s; the append ended with %q", result.Fatal.Round(time.Millisecond), result.Error)
			checkAfterSickDisk(t, dir, result)
		})
	}
}

func sickChild(t *testing.T, dir, target string) (result sickDisk) {
	t.Helper()
	child := childtest.Tied(exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFsyncFails$", "-test.count=1", "-test.timeout=5m"))
	child.Env = append(os.Environ(), fsyncDir+"="+dir, fsyncTarget+"="+target)
	output, err := child.Output()
	line, _, _ := bytes.Cut(output, []byte("\n"))
	if err != nil || json.Unmarshal(line, &result) != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return result
}

// checkAfterSickDisk opens the folder on a disk that works again.
func checkAfterSickDisk(t *testing.T, dir string, result sickDisk) {
	t.Helper()
	key := result.Key
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	s := eventstoretest.OpenOn(t, c)
	events, err := s.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, events)
	if countOf(t, events, "acknowledged") != 1 {
		t.Errorf("the acknowledged event is not among %d events", len(events))
	}
	target, err := s.History(testContext(t), result.Target)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		t.Fatal(err)
	}
	checkChain(t, target)
	lost := countOf(t, target, "lost")
	t.Logf("after the restart the event stands there %d times", lost)
	if lost > 1 || len(target)-lost != countOf(t, target, "acknowledged") {
		t.Errorf("%d events, %d lost", len(target), lost)
	}
	last := events[len(events)-1] // the store's start confirmed it with another group
	if end, _, _, _ := s.End(last.Shard); end <= format.GroupOf(last.Seq) {
		t.Errorf("the log shows group %d, acknowledged is %d", format.GroupOf(last.Seq), end)
	}
	mustAdd(t, s, key, added{Who: "after"})
	if next := mustAdd(t, s, result.Target, added{Who: "after"}); next.Recorded.Revision < uint64(len(target)+1) {
		t.Errorf("after %d events came revision %d", len(target), next.Recorded.Revision)
	}
}

// runSickDisk is the child: it reports on its first line of output and ends without closing
// anything.
func runSickDisk(t *testing.T) {
	config := eventstoretest.Config(eventstoretest.Server(t, os.Getenv(fsyncDir)))
	config.ReadTimeout = 10 * time.Second // the stop comes after 13 s
	s := eventstoretest.OpenOn(t, config)
	key := newKey()
	target := key
	if os.Getenv(fsyncTarget) == "new aggregate" {
		target = keyIn(s, s.ShardOf(key))
	}
	result := sickDisk{Key: key, Target: target}
	mustAdd(t, s, key, added{Who: "acknowledged"})
	var mu sync.Mutex
	fact := func(r *eventstore.Recorded) error {
		if r.Key == key || r.Key == target {
			e, err := tallies.Event(r)
			if err != nil {
				return err
			}
			mu.Lock()
			result.Facts = append(result.Facts, e.Who)
			mu.Unlock()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sickMost)
	defer cancel()
	go s.Subscribe(ctx, s.ShardOf(key), 0, fact)
	if err := failFsync(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	lost := make(chan error, 1)
	for _, key := range []eventstore.Key{key, target} {
		go readOn(ctx, s, key, fact)
	}
	go func() { lost <- second(add(t, s, target, added{Who: "lost"})) }()
	select {
	case <-s.Fatal():
		result.Fatal = time.Since(start)
	case <-ctx.Done():
	}
	err := <-lost
	result.Succeeded, result.Unknown = err == nil, errors.Is(err, eventstore.ErrUnknown)
	if err != nil {
		result.Error = err.Error()
	}
	mu.Lock()
	json.NewEncoder(os.Stdout).Encode(result)
	os.Exit(0)
}

// readOn reads the aggregate again and again. Every event that it gets without an error is a fact.
func readOn(ctx context.Context, s *engine.Store, key eventstore.Key, fact func(*eventstore.Recorded) error) {
	pace := time.NewTicker(2 * time.Millisecond) // the children share the machine for ten seconds
	defer pace.Stop()
	for ctx.Err() == nil {
		for _, consistency := range []eventstore.Consistency{eventstore.Applied, eventstore.Latest} {
			if r, err := s.Load(ctx, key, consistency); err == nil {
				fact(r)
			}
		}
		<-pace.C
	}
}

// failFsync makes every fsync and fdatasync of this process fail with EIO, for good.
func failFsync() error {
	const data = 0 // offset of the system call's number
	deny := unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: data},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: deny},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread() // both calls on one thread; TSYNC carries the filter to the others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
