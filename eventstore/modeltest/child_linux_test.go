package modeltest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"payledger/domain/childtest"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// childFolder is the environment variable by which the test binary runs as the child that is
// crashed.
const childFolder = "PAYLEDGER_TEST_MODEL_FOLDER"

// command is a line of the child's standard input; every command is answered by one done line.
type command struct {
	Open   *settings    `json:"open,omitempty"`
	Burst  []operation  `json:"burst,omitempty"`
	Follow *followShard `json:"follow,omitempty"`
	Close  bool         `json:"close,omitempty"` // in order, once the followers have seen everything
}

type followShard struct {
	Reader int    `json:"reader"`
	Shard  int    `json:"shard"`
	After  uint64 `json:"after"`
}

// line is a report of the child: exactly one field is set.
type line struct {
	Opened *format.LogID `json:"opened,omitempty"`
	Answer *answer       `json:"answer,omitempty"`
	Sight  *sight        `json:"sight,omitempty"`
	Done   bool          `json:"done,omitempty"`
	Failed string        `json:"failed,omitempty"`
}

// runChild is the child's main: it carries out commands until its input ends.
func runChild() int {
	reports, socket := os.NewFile(3, "reports"), os.NewFile(4, "socket")
	c := &child{dir: os.Getenv(childFolder), out: json.NewEncoder(reports)}
	if err := stopAtSyncs(socket); err != nil {
		c.tell(line{Failed: err.Error()})
		return 1
	}
	commands := json.NewDecoder(os.Stdin)
	for {
		var next command
		if err := commands.Decode(&next); errors.Is(err, io.EOF) {
			return 0
		} else if err != nil {
			c.tell(line{Failed: err.Error()})
			return 1
		}
		if err := c.do(next); err != nil {
			c.tell(line{Failed: err.Error()})
			return 1
		}
		c.tell(line{Done: true})
	}
}

type child struct {
	dir       string
	mu        sync.Mutex
	out       *json.Encoder
	o         *opened
	followers []*follower
}

func (c *child) tell(l line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(l) // an error means that the test has ended
}

func (c *child) do(next command) (err error) {
	switch {
	case next.Open != nil:
		if c.o, err = open(c.dir, *next.Open, zerolog.New(os.Stderr).Level(zerolog.WarnLevel)); err != nil {
			return fmt.Errorf("open: %w", err)
		}
		go c.watch(c.o.store)
		id := c.o.store.ID()
		c.tell(line{Opened: &id})
	case next.Follow != nil:
		f := next.Follow
		c.followers = append(c.followers, follow(context.Background(), c.o.store, f.Shard, f.After, f.Reader,
			func(s sight) { c.tell(line{Sight: &s}) }))
	case next.Close:
		for _, f := range c.followers {
			err = errors.Join(err, f.finish(c.o.store.Appended()[f.shard]))
			<-f.ended
		}
		c.followers = nil
		return errors.Join(err, c.o.close())
	default:
		burst(context.Background(), c.o.store, next.Burst, func(a answer) { c.tell(line{Answer: &a}) })
	}
	return nil
}

// watch reports that the store demanded the end of the process.
func (c *child) watch(s *engine.Store) {
	if err, asked := <-s.Fatal(); asked {
		c.tell(line{Failed: "fatal: " + err.Error()})
	}
}

// life is one run of the child, on a disk that can lose unsynced writes.
type life struct {
	disk   *disk
	cmd    *exec.Cmd
	input  io.WriteCloser
	lines  chan line
	served chan error
	stderr bytes.Buffer
}

func startLife(dir string) (*life, error) {
	d, err := newDisk(dir)
	if err != nil {
		return nil, err
	}
	l := &life{disk: d, lines: make(chan line), served: make(chan error, 1), cmd: childtest.Tied(exec.Command(os.Args[0]))}
	l.cmd.Env = append(os.Environ(), childFolder+"="+dir)
	l.cmd.Stderr = &l.stderr
	if l.input, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reports, reporter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	l.cmd.ExtraFiles = []*os.File{reporter, theirs}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	d.kill = func() { _ = l.cmd.Process.Kill() } // it fails when the child has ended
	closeErr := errors.Join(reporter.Close(), theirs.Close())
	if d.listener, err = receiveListener(ours); err != nil || closeErr != nil {
		d.kill()
		err = errors.Join(err, closeErr)
		return nil, errors.Join(err, l.cmd.Wait())
	}
	go func() { l.served <- d.serve() }()
	go l.read(reports)
	return l, ours.Close()
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "socket")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	return conn.(*net.UnixConn), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// read returns the child's complete lines.
func (l *life) read(reports *os.File) {
	defer close(l.lines)
	defer reports.Close()
	lines := bufio.NewReader(reports)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return // the last line may have been cut
		}
		var next line
		if err := json.Unmarshal(text, &next); err != nil {
			next = line{Failed: err.Error()}
		}
		l.lines <- next
	}
}

// do lets the child carry out a command, and gives its reports to the model. It returns false when
// the child has crashed.
func (l *life) do(next command, m *model) (bool, error) {
	text, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	m.noteCalls(next.Burst)
	_, _ = l.input.Write(append(text, '\n')) // it fails when the child has crashed
	for {
		got, open := <-l.lines
		switch {
		case !open:
			return false, nil
		case got.Failed != "":
			return false, fmt.Errorf("%s\n%s", got.Failed, l.stderr.Bytes())
		case got.Done:
			return true, nil
		default:
			l.tell(got, m)
		}
	}
}

func (l *life) tell(got line, m *model) {
	switch {
	case got.Opened != nil:
		m.opened(*got.Opened)
	case got.Answer != nil:
		m.answered(*got.Answer)
	case got.Sight != nil:
		m.saw(*got.Sight)
	}
}

// crash ends the child with kill -9, wherever it is, and takes its last reports.
func (l *life) crash(m *model) error {
	l.disk.powerOff()
	var failed error
	for got := range l.lines {
		if got.Failed != "" {
			failed = errors.Join(failed, errors.New(got.Failed))
			continue
		}
		l.tell(got, m)
	}
	_ = l.cmd.Wait() // it says that the child was killed
	return errors.Join(failed, <-l.served, unix.Close(l.disk.listener))
}
