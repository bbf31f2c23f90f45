package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startLimit = time.Minute     // recovery after a crash included
	stopLimit  = 2 * time.Minute // with the last checkpoint

	standbyLimit = 20 * time.Second // a standby's stop
)

// postgres is a server process. The primary has standbys, or none.
type postgres struct {
	name   string // of its folder
	socket string // the folder of its Unix socket
	port   int    // also in the name of the socket
	log    string // its messages
	server *exec.Cmd
	ended  chan struct{} // closed when the server has ended
	err    error         // how it ended; after ended

	standbys []*postgres
	folder   string // of a standby; it is removed with it
}

// installation is the programs of PostgreSQL, and how they run.
type installation struct {
	bin, data  string // folders
	pool       int
	attributes *syscall.SysProcAttr
}

// serverSettings are those of a careful user: nothing is traded for durability.
func serverSettings(socket string, pool int) []string {
	return []string{
		"unix_socket_directories=" + socket, "unix_socket_permissions=0700",
		"fsync=on", "synchronous_commit=on", "full_page_writes=on",
		"shared_buffers=1GB", "max_connections=" + strconv.Itoa(pool+10),
		"max_wal_size=4GB", "min_wal_size=1GB", "checkpoint_timeout=15min", "wal_buffers=4MB",
		"jit=off", "autovacuum_naptime=10s",
	}
}

const defaultPort = 5432 // of a server that has a Unix socket only

// startPostgres makes the cluster in the data folder if there is none, starts the server, and waits
// until it takes connections. With standbys it then makes them, and waits until every one is
// synchronous.
func startPostgres(ctx context.Context, s settings) (*postgres, error) {
	bin, err := findPostgres(s.postgresBin)
	if err != nil {
		return nil, err
	}
	attributes, err := unprivileged()
	if err != nil {
		return nil, err
	}
	i := installation{bin, s.data, s.pool, attributes}
	if err := initialize(ctx, bin, filepath.Join(s.data, primary), attributes); err != nil {
		return nil, err
	}
	if s.standbys > 0 {
		return i.startReplicated(ctx, s.standbys)
	}
	return i.start(ctx, primary, defaultPort, "listen_addresses=")
}

const primary = "postgres" // the name of its folder

// start starts a server on a folder that exists, with further settings, and waits until it takes
// connections.
func (i installation) start(ctx context.Context, name string, port int, further ...string) (*postgres, error) {
	socket, err := os.MkdirTemp("", "yardstick-")
	if err != nil {
		return nil, err
	}
	p := &postgres{name: name, socket: socket, port: port, log: filepath.Join(i.data, name+".log"), ended: make(chan struct{})}
	args := []string{"-D", filepath.Join(i.data, name), "-p", strconv.Itoa(port)}
	for _, setting := range append(serverSettings(socket, i.pool), further...) {
		args = append(args, "-c", setting)
	}
	p.server = exec.Command(filepath.Join(i.bin, "postgres"), args...) //nolint:gosec,noctx // the operator names the folder; stop ends it in order
	p.server.SysProcAttr = i.attributes
	err = own(socket, i.attributes)
	if err == nil {
		err = p.start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(socket))
	}
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// start starts the server on a thread that lives as long as the server: the kernel stops the server
// when that thread ends.
func (p *postgres) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.server.Stdout, p.server.Stderr = log, log
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := p.server.Start()
		started <- err
		if err == nil {
			p.err = p.server.Wait()
			close(p.ended)
		}
	}()
	return <-started
}

func (p *postgres) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		connection, err := pgx.Connect(ctx, p.dsn())
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-p.ended:
			return fmt.Errorf("PostgreSQL did not start (%s): %w; %s has the reason", p.name, p.err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL takes no connections: %w; %s has the reason", err, p.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server in order, and then its standbys. It removes the sockets, and the folders of
// the standbys.
func (p *postgres) stop() error {
	err := p.end(stopLimit, syscall.SIGINT, syscall.SIGQUIT) // fast, then at once
	for _, s := range p.standbys {
		err = errors.Join(err, s.end(standbyLimit, syscall.SIGINT, syscall.SIGKILL), os.RemoveAll(s.folder))
	}
	return err
}

// end sends each signal, until the server has ended.
func (p *postgres) end(limit time.Duration, signals ...syscall.Signal) error {
	for _, how := range signals {
		_ = p.server.Process.Signal(how) // it may have ended
		select {
		case <-p.ended:
			return errors.Join(p.err, os.RemoveAll(p.socket))
		case <-time.After(limit):
		}
	}
	return fmt.Errorf("PostgreSQL does not stop (%s)", p.name)
}

// servers returns the server and its standbys.
func (p *postgres) servers() []*postgres { return append([]*postgres{p}, p.standbys...) }

// anyEnded returns a channel that gets each server that has ended.
func (p *postgres) anyEnded() <-chan *postgres {
	all := p.servers()
	gone := make(chan *postgres, len(all))
	for _, s := range all {
		go func() {
			<-s.ended
			gone <- s
		}()
	}
	return gone
}

func (p *postgres) dsn() string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=postgres sslmode=disable", p.socket, p.port, superuser)
}

const superuser = "yardstick" // connects by the Unix socket, without a password

func findPostgres(given string) (string, error) {
	folders := []string{given}
	if given == "" {
		folders = nil
		if path, err := exec.LookPath("postgres"); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				folders = append(folders, filepath.Dir(path))
			}
		}
		installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
		slices.Reverse(installed)                                  // the newest first
		folders = append(folders, installed...)
	}
	for _, folder := range folders {
		_, err1 := os.Stat(filepath.Join(folder, "initdb"))
		_, err2 := os.Stat(filepath.Join(folder, "postgres"))
		if err1 == nil && err2 == nil {
			return filepath.Abs(folder)
		}
	}
	return "", fmt.Errorf("initdb and postgres are not in %q, in PATH, or below /usr/lib/postgresql: install postgresql, or set --postgres-bin", given)
}

const capDACOverride = 1 // lets the server enter folders that only root may enter

// unprivileged returns the attributes of the server's processes: PostgreSQL refuses to run as root,
// and runs as postgres or nobody then.
func unprivileged() (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT} // a terminal's Ctrl-C goes to yardstick only
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres and no user nobody: %w", err)
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	attributes.AmbientCaps = []uintptr{capDACOverride}
	return attributes, errors.Join(err1, err2)
}

func own(folder string, attributes *syscall.SysProcAttr) error {
	if attributes.Credential == nil {
		return nil
	}
	return os.Chown(folder, int(attributes.Credential.Uid), int(attributes.Credential.Gid))
}

// initialize makes the cluster unless it exists. The folder gets its name when it is complete.
func initialize(ctx context.Context, bin, cluster string, attributes *syscall.SysProcAttr) error {
	if _, err := os.Stat(cluster); err == nil {
		return nil
	}
	unfinished := cluster + ".new"
	if err := errors.Join(os.RemoveAll(unfinished), os.MkdirAll(unfinished, 0o700), own(unfinished, attributes)); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", unfinished, "--username="+superuser, "--auth=trust", //nolint:gosec // the operator names the folder
		"--encoding=UTF8", "--locale=C", "--no-instructions")
	command.SysProcAttr = attributes
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return os.Rename(unfinished, cluster)
}
