package faulttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"payledger/domain/childtest"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// These variables of the environment make the test binary a child process whose disk fails under
// one stream.
const (
	eioDir    = "PAYLEDGER_TEST_EIO_DIR"
	eioStream = "PAYLEDGER_TEST_EIO_STREAM"
)

// eioMost is the time within which the log must demand a stop, start and first writes included.
const eioMost = 2 * time.Minute

// eioResult is the child's report.
type eioResult struct {
	Acknowledged []string      // written before and after the disk failed, and answered with success
	Lied         []string      // writes to the failed stream that were answered with success
	Stop         time.Duration // from the failure to the call to stop; 0: none came
	Healthy      bool          // at the end
	Reason       string
}

// TestDiskFailsUnderOneStream: a disk fails under one stream (EIO for every fsync of its files). No
// write to it succeeds, the log demands a stop, and after a restart every acknowledged record is
// there.
func TestDiskFailsUnderOneStream(t *testing.T) {
	if os.Getenv(eioDir) != "" {
		runFailingDisk(t)
		return
	}
	t.Parallel()
	streams := []string{"LEDGER_", "SECRETS_", "DELIVERIES_", "CHECKPOINTS_"}
	if seedtest.Sampled() {
		streams = streams[:2]
	}
	dirs, results := make([]string, len(streams)), make([]eioResult, len(streams))
	var children sync.WaitGroup
	for i, stream := range streams { // all at once: a child mostly waits for its deadlines
		dirs[i] = t.TempDir()
		children.Go(func() { results[i] = eioChild(t, dirs[i], stream) })
	}
	children.Wait()
	for i, stream := range streams {
		r := results[i]
		t.Logf("%s: stops after %s: %s", stream, r.Stop.Round(time.Millisecond), r.Reason)
		if len(r.Lied) > 0 {
			t.Errorf("%s: answered with success: %v", stream, r.Lied)
		}
		if r.Healthy || r.Stop == 0 || r.Stop > eioMost {
			t.Errorf("%s: stops after %s, healthy %t", stream, r.Stop, r.Healthy)
		}
		checkAcknowledged(t, stream, dirs[i], r.Acknowledged)
	}
}

func eioChild(t *testing.T, dir, stream string) (result eioResult) {
	t.Helper()
	child := childtest.Tied(exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDiskFailsUnderOneStream$", "-test.count=1", "-test.timeout=5m"))
	child.Env = append(os.Environ(), eioDir+"="+dir, eioStream+"="+stream)
	output, err := child.CombinedOutput()
	line, _, _ := bytes.Cut(output, []byte("\n"))
	if err != nil || json.Unmarshal(line, &result) != nil {
		t.Errorf("%s: %v\n%s", stream, err, output)
	}
	return result
}

// writer writes the n-th thing of every stream.
type writer struct {
	o *open
	n int
}

func (w *writer) write(ctx context.Context, stream string) (string, error) {
	w.n++
	switch stream {
	case "LEDGER_":
		meta, err := w.o.store.NewMeta("test", "")
		if err != nil {
			return "", err
		}
		id := fmt.Sprintf("01note%020d", w.n)
		_, err = eventstore.ExecuteNew(ctx, w.o.store, notes, notes.Key("acct", id), meta, func(note) (noted, error) { return noted{"text"}, nil })
		return "note " + id, err
	case "SECRETS_":
		name := fmt.Sprintf("customer-key.acct.%d", w.n)
		return "secret " + name, w.o.secrets.Create(ctx, name, []byte(name))
	case "DELIVERIES_":
		name := fmt.Sprintf("acct.endpoint.%d.created", w.n)
		_, err := w.o.deliveries.Put(ctx, name, 0, []byte(name), true)
		return "delivery " + name, err
	default:
		return "checkpoint", w.o.checkpoint(ctx)
	}
}

// checkAcknowledged opens the folder on a disk that works again.
func checkAcknowledged(t *testing.T, stream, dir string, acknowledged []string) {
	t.Helper()
	ctx := t.Context()
	o, err := start(ctx, dir)
	if err != nil {
		t.Errorf("%s: the next start: %v", stream, err)
		return
	}
	for _, what := range acknowledged {
		kind, name, _ := strings.Cut(what, " ")
		var err error
		switch kind {
		case "note":
			_, err = o.store.Load(ctx, notes.Key("acct", name), eventstore.Applied)
		case "secret":
			_, err = o.secrets.Get(ctx, name)
		case "delivery":
			_, err = o.deliveries.Last(ctx, name)
		default:
			_, err = o.store.Checkpoints().Last(ctx)
		}
		if err != nil {
			t.Errorf("%s: %s was acknowledged: %v", stream, what, err)
		}
	}
	if err := errors.Join(o.store.Scrub(ctx), o.stop()); err != nil {
		t.Errorf("%s: %v", stream, err)
	}
}

// runFailingDisk is the child: it reports on its first line of output and ends without closing
// anything.
func runFailingDisk(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), eioMost)
	defer cancel()
	o, err := start(ctx, os.Getenv(eioDir), func(c *engine.Config) { c.ReadTimeout = 10 * time.Second }) // the stop comes after 13 s
	if err != nil {
		t.Fatal(err)
	}
	result, failing := eioResult{}, os.Getenv(eioStream)
	w := &writer{o: o}
	streams := []string{"LEDGER_", "SECRETS_", "DELIVERIES_", "CHECKPOINTS_"}
	for range 3 {
		for _, stream := range streams {
			var what string
			err := eventstoretest.Again(ctx, func() (err error) { what, err = w.write(ctx, stream); return err })
			if err != nil {
				t.Fatal(stream, err)
			}
			result.Acknowledged = append(result.Acknowledged, what)
		}
	}
	if failing == "CHECKPOINTS_" { // the checkpoints need an event to cover
		if _, err := w.write(ctx, "LEDGER_"); err != nil {
			t.Fatal(err)
		}
	}
	if err := failFiles(failing); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	trying, done := context.WithCancel(ctx)
	go func() {
		for trying.Err() == nil {
			if what, err := w.write(trying, failing); err == nil {
				result.Lied = append(result.Lied, what)
			}
		}
		done()
	}()
	select {
	case <-o.store.Fatal():
		result.Stop = time.Since(began)
	case <-ctx.Done():
	}
	if err := o.store.Healthy(); err != nil {
		result.Reason = err.Error()
	}
	result.Healthy = o.store.Healthy() == nil
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// failFiles makes every fsync and fdatasync of this process on a file whose path contains a text
// fail with EIO. The kernel notifies a goroutine of each call, and the goroutine decides.
func failFiles(text string) error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	flags := unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	go decide(listener, text)
	return nil
}

// decide answers the kernel. A notification is id (8 bytes), pid, flags (4 each), the number of the
// system call (4), its architecture (4), instruction (8) and six arguments (8 each); an answer is
// id, value (8 each), error, flags (4 each).
func decide(listener uintptr, text string) {
	for {
		var question [80]byte
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&question))); errno != 0 {
			continue
		}
		path, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", binary.LittleEndian.Uint64(question[32:])))
		var answer [24]byte
		copy(answer[:], question[:8])
		if strings.Contains(path, "/"+text) {
			failure := -int32(unix.EIO)
			binary.LittleEndian.PutUint32(answer[16:], uint32(failure))
		} else {
			binary.LittleEndian.PutUint32(answer[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}
