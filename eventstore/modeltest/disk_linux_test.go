package modeltest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// disk watches one process write to a folder, and knows which of its bytes and names are sure to
// survive a power failure. The process is stopped at each sync while its file is copied.
type disk struct {
	root     string
	listener int
	kill     func()

	mu     sync.Mutex
	files  map[inode]*file  // every file that was synced or listed by a sync of its folder
	names  map[string]inode // durable names, relative to root
	dirs   map[string]bool  // durable folders
	direct map[string]bool  // files opened for synchronous writes
	syncs  int              // syncs so far
	plan   crashPlan
	down   bool
	err    error
}

type inode struct{ dev, ino uint64 }

// file is a file's content as far as it is durable. It is held open, so that its inode number stays
// its own.
type file struct {
	held    *os.File
	durable []byte
	synced  bool
}

// crashPlan says at which sync the power fails; none while armed is false.
type crashPlan struct {
	armed bool
	after int // syncs that still succeed
	when  crashMoment
}

type crashMoment int

const (
	beforeSync crashMoment = iota // the sync has no effect
	duringSync                    // it takes effect, but never returns
	afterSync                     // it returns
)

func newDisk(root string) (*disk, error) {
	d := &disk{root: root, files: map[inode]*file{}, names: map[string]inode{}, dirs: map[string]bool{}, direct: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.rel(path)
		if e.IsDir() {
			d.dirs[name] = true
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		id, err := d.learn(f)
		if err != nil {
			return err
		}
		d.names[name] = id
		return d.copy(id)
	})
	return d, err
}

func (d *disk) rel(path string) string {
	name, err := filepath.Rel(d.root, path)
	if err != nil {
		panic(err) // both are absolute
	}
	return name
}

// within reports whether a path is below the watched folder.
func (d *disk) within(path string) bool {
	return path == d.root || strings.HasPrefix(path, d.root+string(filepath.Separator))
}

func inodeOf(f *os.File) (inode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return inode{}, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return inode{st.Dev, st.Ino}, nil
}

// learn makes the file known, and takes f over.
func (d *disk) learn(f *os.File) (inode, error) {
	id, err := inodeOf(f)
	if err != nil || d.files[id] != nil {
		return id, errors.Join(err, f.Close())
	}
	d.files[id] = &file{held: f}
	return id, nil
}

// copy makes the file's content durable as it is now.
func (d *disk) copy(id inode) error {
	f := d.files[id]
	content, err := readAll(f.held)
	f.durable, f.synced = content, true
	return err
}

// readAll reads a file that another process may be writing to, from its beginning.
func readAll(f *os.File) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
}

// arm makes the power fail at a coming sync.
func (d *disk) arm(plan crashPlan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	plan.armed = true
	d.plan = plan
}

// powerOff makes every coming sync without effect, and ends the process.
func (d *disk) powerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail()
}

func (d *disk) fail() {
	d.down = true
	d.kill()
}

// serve answers the process's stopped calls until it has ended.
func (d *disk) serve() error {
	for {
		ready := []unix.PollFd{{Fd: int32(d.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("poll: %w", err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents != 0 {
				return d.err // the process has ended
			}
			continue
		}
		var n notification
		switch err := ioctl(d.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR):
			continue // the call was interrupted, and comes again
		case err != nil:
			return fmt.Errorf("receive a stopped call: %w", err)
		}
		d.handle(n)
	}
}

// notification and reply are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

const pathMax = 4096

const replyContinue = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE

func ioctl(fd int, request uint, p unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(p)); errno != 0 {
		return errno
	}
	return nil
}

func (d *disk) handle(n notification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return // the process is being killed: nothing is answered any more
	}
	r := reply{id: n.id, flags: replyContinue}
	var err error
	switch n.number {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		r, err = d.sync(n)
	case unix.SYS_OPENAT:
		err = d.opened(n)
	default:
		err = d.renames(n)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a name can be gone again before the copy
		d.err = errors.Join(d.err, err)
	}
	if d.down && d.plan.when != afterSync {
		return
	}
	err = ioctl(d.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINPROGRESS) {
		d.err = errors.Join(d.err, fmt.Errorf("answer a stopped call: %w", err))
	}
	if d.down {
		d.kill()
	}
}

// sync copies the files that the process syncs, and answers in the place of the kernel: the
// kernel's sync is not needed.
func (d *disk) sync(n notification) (reply, error) {
	through := reply{id: n.id, flags: replyContinue}
	link := fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0])
	path, err := os.Readlink(link)
	if err != nil {
		return through, nil // the file is not open: the kernel says so
	}
	path, removed := strings.CutSuffix(path, " (deleted)")
	if !d.within(path) {
		return through, nil
	}
	done := reply{id: n.id}
	d.syncs++
	if d.plan.armed {
		if d.plan.after == 0 {
			d.down = true
			if d.plan.when == beforeSync {
				d.kill()
				return done, nil
			}
			defer func() {
				if d.plan.when == duringSync {
					d.kill()
				}
			}()
		}
		d.plan.after--
	}
	f, err := os.Open(link)
	if err != nil {
		return done, err
	}
	info, err := f.Stat()
	if err != nil {
		return done, errors.Join(err, f.Close())
	}
	if info.IsDir() {
		err = d.syncDir(d.rel(path))
		return done, errors.Join(err, f.Close())
	}
	id, err := d.learn(f)
	if err != nil {
		return done, err
	}
	if !removed {
		d.name(d.rel(path), id)
	}
	return done, d.copy(id)
}

// name makes a file's name durable. Names that it had before and has no more are gone with it.
func (d *disk) name(name string, id inode) {
	for old, there := range d.names {
		if there == id && old != name && d.inodeAt(old) != id {
			delete(d.names, old)
		}
	}
	d.names[name] = id
	d.keepDir(filepath.Dir(name))
}

func (d *disk) keepDir(dir string) {
	for ; !d.dirs[dir]; dir = filepath.Dir(dir) {
		d.dirs[dir] = true
	}
}

// inodeAt is the inode that has a name now; zero when there is none.
func (d *disk) inodeAt(name string) inode {
	var st unix.Stat_t
	if unix.Lstat(filepath.Join(d.root, name), &st) != nil {
		return inode{}
	}
	return inode{st.Dev, st.Ino}
}

// syncDir makes the names in a folder durable as they are now. It says nothing about the content
// behind them.
func (d *disk) syncDir(dir string) error {
	entries, err := os.ReadDir(filepath.Join(d.root, dir))
	if err != nil {
		return err
	}
	d.keepDir(dir)
	there := map[string]bool{}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		there[name] = true
		if e.IsDir() {
			d.keepDir(name)
			continue
		}
		f, err := os.Open(filepath.Join(d.root, name))
		if errors.Is(err, os.ErrNotExist) {
			delete(there, name)
			continue
		}
		if err != nil {
			return err
		}
		id, err := d.learn(f)
		if err != nil {
			return err
		}
		d.name(name, id)
	}
	for name := range d.names {
		if filepath.Dir(name) == dir && !there[name] {
			delete(d.names, name)
		}
	}
	for sub := range d.dirs {
		if sub != dir && filepath.Dir(sub) == dir && !there[sub] {
			d.removeDir(sub)
		}
	}
	return nil
}

func (d *disk) removeDir(dir string) {
	below := dir + string(filepath.Separator)
	for name := range d.names {
		if strings.HasPrefix(name, below) {
			delete(d.names, name)
		}
	}
	for sub := range d.dirs {
		if sub == dir || strings.HasPrefix(sub, below) {
			delete(d.dirs, sub)
		}
	}
}

// opened notes a file that is opened for synchronous writes.
func (d *disk) opened(n notification) error {
	path, err := d.argument(n, 0, 1)
	if err == nil && d.within(path) {
		d.direct[path] = true
	}
	return err
}

// renames makes the content of a file that was written synchronously durable before it gets its
// name. The name itself is not durable yet.
func (d *disk) renames(n notification) error {
	path, err := d.argument(n, 0, 1)
	if err != nil || !d.direct[path] {
		return err
	}
	delete(d.direct, path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	id, err := d.learn(f)
	if err != nil {
		return err
	}
	return d.copy(id)
}

// argument reads the path that a stopped call names by a folder's descriptor and a text.
func (d *disk) argument(n notification, folder, text int) (string, error) {
	b := make([]byte, pathMax)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return "", err
	}
	defer memory.Close()
	got, err := memory.ReadAt(b, int64(n.args[text]))
	end := strings.IndexByte(string(b[:got]), 0)
	if end < 0 {
		return "", fmt.Errorf("read the path of a stopped call: %w", err)
	}
	path := string(b[:end])
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base := fmt.Sprintf("/proc/%d/cwd", n.pid)
	if fd := int32(n.args[folder]); fd != unix.AT_FDCWD {
		base = fmt.Sprintf("/proc/%d/fd/%d", n.pid, fd)
	}
	dir, err := os.Readlink(base)
	return filepath.Join(dir, path), err
}

func (d *disk) close() {
	for _, f := range d.files {
		f.held.Close()
	}
}

// stopAtSyncs makes the kernel stop this process at each call that makes something durable. It
// sends the descriptor for answering these calls over the socket.
func stopAtSyncs(socket *os.File) error {
	const (
		number = 0        // offset of the system call's number
		flags  = 16 + 8*2 // offset of openat's flags
	)
	notify := uint32(unix.SECCOMP_RET_USER_NOTIF)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 7, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 6, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 5, K: unix.SYS_RENAMEAT},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 4, K: unix.SYS_RENAMEAT2},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 2, K: unix.SYS_OPENAT},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 1, K: unix.O_DSYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: notify},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread() // both calls on one thread; TSYNC carries the filter to the others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	how := unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(how), uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("seccomp filter with a listener: %w", errno)
	}
	defer unix.Close(int(listener))
	return unix.Sendmsg(int(socket.Fd()), []byte{0}, unix.UnixRights(int(listener)), nil, 0)
}

// receiveListener takes the descriptor that stopAtSyncs sends.
func receiveListener(socket *net.UnixConn) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, fmt.Errorf("receive the listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("receive the listener: %d messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, fmt.Errorf("receive the listener: %d descriptors: %w", len(fds), err)
	}
	return fds[0], nil
}
