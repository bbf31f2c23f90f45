//go:build system

package systemtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asContainer, set in the environment, makes the test binary the first process of a container.
const asContainer = "PAYLEDGER_TEST_AS_CONTAINER"

func TestMain(m *testing.M) {
	if order := os.Getenv(asContainer); order != "" {
		if err := contain(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	for _, dir := range built {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// contained is an order for a container.
type contained struct {
	Root   string // the files of the image
	Volume string // the writable folder
	At     string // the volume's place in the image
	UID    string
	Env    []string
	Serve  []string
	Health []string
	Story  []string
}

// namespaces are those of a container. The user of the image is the test's own outside.
func namespaces(t *testing.T, uid string) *syscall.SysProcAttr {
	t.Helper()
	id, err := strconv.Atoi(uid)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}, // until the image's program runs
		Pdeathsig:   syscall.SIGKILL,
	}
}

// containLimit bounds the life of a container.
const containLimit = 5 * time.Minute

// contain sets the container up, runs the image's programs, and prints what they do, one pair of
// texts a line.
func contain(order string) error {
	var c contained
	if err := json.Unmarshal([]byte(order), &c); err != nil {
		return err
	}
	runtime.LockOSThread()                              // capabilities are a thread's own, and programs get those of the thread that starts them
	time.AfterFunc(containLimit, func() { os.Exit(2) }) // the children end with the first process
	if err := errors.Join(enter(c), loopbackUp(), drop()); err != nil {
		return err
	}
	report := json.NewEncoder(os.Stdout)
	tell := func(what string, err error) error {
		text := ""
		if err != nil {
			text = err.Error()
		}
		return report.Encode([2]string{what, text})
	}
	run := func(args []string, env ...string) error {
		command := exec.Command(args[0], args[1:]...)
		command.Env, command.Stderr = append(c.Env, env...), os.Stderr
		if text, err := command.Output(); err != nil {
			os.Stderr.Write(text)
			return err
		}
		return nil
	}
	writing := os.WriteFile("/written", nil, 0o600)
	if failed := new(os.PathError); errors.As(writing, &failed) {
		writing = failed.Err
	}
	before := run(c.Health)

	serve := exec.Command(c.Serve[0], c.Serve[1:]...)
	serve.Env = append(c.Env, "PAYLEDGER_PAYMENT_TIMEOUT=3s", "PAYLEDGER_WEBHOOK_ALLOW_CIDR=127.0.0.0/8")
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		return err
	}
	if err := serve.Start(); err != nil {
		return err
	}
	made, api, err := readyLines(bufio.NewScanner(out))
	if err != nil {
		return err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serve.Process.Pid))
	if err != nil {
		return err
	}
	field := func(name string) error {
		_, rest, _ := strings.Cut(string(status), "\n"+name+":\t")
		value, _, _ := strings.Cut(rest, "\n")
		value, _, _ = strings.Cut(value, "\t")
		return errors.New(value)
	}
	err = errors.Join(
		tell("user", field("Uid")), tell("capabilities", field("CapEff")), tell("root", writing), tell("health before", before),
		tell("health", run(c.Health)),
		tell("story", run(c.Story, "PAYLEDGER_URL="+api, "PAYLEDGER_API_KEY="+made.APIKey, "PAYLEDGER_SIGNING_SECRET="+made.SigningSecret)),
		serve.Process.Signal(syscall.SIGTERM),
	)
	return errors.Join(err, tell("stop", serve.Wait()))
}

// made has the credentials that a new service prints.
type made struct {
	APIKey        string `json:"apiKey"`
	SigningSecret string `json:"signingSecret"`
}

// readyLines reads the lines that serve prints until it is ready.
func readyLines(lines *bufio.Scanner) (m made, api string, err error) {
	for lines.Scan() {
		line := struct {
			Credentials *made  `json:"credentials"`
			Ready       bool   `json:"ready"`
			API         string `json:"api"`
		}{Credentials: &m}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return m, "", err
		}
		if line.Ready {
			_, port, _ := strings.Cut(strings.TrimPrefix(line.API, "http://"), "]:")
			if port == "" {
				port = line.API[strings.LastIndex(line.API, ":")+1:]
			}
			return m, "http://127.0.0.1:" + port, nil
		}
	}
	return m, "", errors.New("serve ended before it was ready")
}

// enter makes the image's files the read-only root, with the volume and the kernel's view of the
// processes.
func enter(c contained) error {
	flags := uintptr(unix.MS_BIND | unix.MS_REC)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"private mounts", func() error { return unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "") }},
		{"root", func() error { return unix.Mount(c.Root, c.Root, "", flags, "") }},
		{"volume", func() error { return unix.Mount(c.Volume, c.Root+c.At, "", flags, "") }},
		{"folder of processes", func() error { return os.Mkdir(c.Root+"/proc", 0o755) }},
		{"processes", func() error { return unix.Mount("proc", c.Root+"/proc", "proc", 0, "") }},
		{"devices", func() error { return devices(c.Root) }},
		{"read-only", func() error {
			return unix.MountSetattr(unix.AT_FDCWD, c.Root, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}},
		{"folder", func() error { return unix.Chdir(c.Root) }},
		{"new root", func() error { return unix.PivotRoot(".", ".") }},
		{"old root", func() error { return unix.Unmount(".", unix.MNT_DETACH) }},
		{"folder of the service", func() error { return unix.Chdir(c.At) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// devices creates the devices that every container has.
func devices(root string) error {
	if err := os.Mkdir(root+"/dev", 0o755); err != nil {
		return err
	}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if err := os.WriteFile(root+name, nil, 0o600); err != nil {
			return err
		}
		if err := unix.Mount(name, root+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// loopbackUp turns on the one network device of the container.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// drop takes away every capability from the programs that this one starts, as --cap-drop ALL does.
func drop() error {
	return errors.Join(unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}
