package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	replicator = "standby" // the role of the standbys
	loopback   = "127.0.0.1"
)

// hostRules let the superuser in by the Unix socket, which only its user may enter, and the
// standbys by TCP with their password.
const hostRules = "local all " + superuser + " trust\nhost replication " + replicator + " " + loopback + "/32 scram-sha-256\n"

// startReplicated starts the primary and its standbys. A commit of the primary waits until one
// standby has synced it to its disk.
func (i installation) startReplicated(ctx context.Context, standbys int) (_ *postgres, err error) {
	rules := filepath.Join(i.data, primary, "pg_hba.conf")
	if err := errors.Join(os.WriteFile(rules, []byte(hostRules), 0o600), own(rules, i.attributes)); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	p, err := i.start(ctx, primary, port, "listen_addresses="+loopback, "synchronous_standby_names="+standbyNames(standbys), "wal_keep_size=4GB")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	connection, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		return nil, err
	}
	defer connection.Close(context.WithoutCancel(ctx))
	password := rand.Text() // letters and digits
	for _, statement := range []string{
		"set synchronous_commit = local", // there is no standby yet
		"drop role if exists " + replicator,
		"create role " + replicator + " replication login password '" + password + "'",
	} {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	for n := range standbys {
		s, err := i.startStandby(ctx, standbyName(n+1), port, password)
		if err != nil {
			return nil, err
		}
		p.standbys = append(p.standbys, s)
	}
	return p, p.awaitStandbys(ctx, connection)
}

func standbyName(n int) string { return "standby_" + strconv.Itoa(n) }

// standbyNames is the setting synchronous_standby_names: any one standby is enough.
func standbyNames(standbys int) string {
	names := make([]string, standbys)
	for n := range names {
		names[n] = standbyName(n + 1)
	}
	return "ANY 1 (" + strings.Join(names, ", ") + ")"
}

// freePort returns a port that nobody uses: PostgreSQL cannot choose one.
func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback+":0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// startStandby copies the primary into a folder of the standby's name, and starts a server there
// that follows the primary. An earlier folder, of a yardstick that was killed, is removed.
func (i installation) startStandby(ctx context.Context, name string, port int, password string) (*postgres, error) {
	folder := filepath.Join(i.data, name)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700), own(folder, i.attributes)); err != nil {
		return nil, err
	}
	source := fmt.Sprintf("host=%s port=%d user=%s application_name=%s sslmode=disable", loopback, port, replicator, name)
	command := exec.CommandContext(ctx, filepath.Join(i.bin, "pg_basebackup"), "--pgdata="+folder, "--dbname="+source, //nolint:gosec // the operator names the folder
		"--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-password")
	command.Env, command.SysProcAttr = append(os.Environ(), "PGPASSWORD="+password), i.attributes // it becomes a part of the recovery's settings
	if said, err := command.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("pg_basebackup: %w: %s", err, strings.TrimSpace(string(said))), os.RemoveAll(folder))
	}
	s, err := i.start(ctx, name, defaultPort, "listen_addresses=")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.folder = folder
	return s, nil
}

// querier is a connection, or a pool of them.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// replica is a row of pg_stat_replication.
type replica struct{ name, state, sync string }

// synchronous returns an error unless each standby receives the primary's log, and counts for the
// primary's commits.
func (p *postgres) synchronous(ctx context.Context, db querier) error {
	if len(p.standbys) == 0 {
		return nil
	}
	rows, err := db.Query(ctx, "select application_name, coalesce(state, ''), coalesce(sync_state, '') from pg_stat_replication order by 1")
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r replica, err error) {
		err = row.Scan(&r.name, &r.state, &r.sync)
		return r, err
	})
	if err != nil {
		return err
	}
	return checkReplicas(found, len(p.standbys))
}

func checkReplicas(found []replica, standbys int) error {
	good := map[string]bool{}
	for _, r := range found {
		if r.state == "streaming" && r.sync == "quorum" {
			good[r.name] = true
		}
	}
	for n := range standbys {
		if !good[standbyName(n+1)] {
			return fmt.Errorf("%d of %d standbys are synchronous: pg_stat_replication has %+v", len(good), standbys, found)
		}
	}
	return nil
}

// awaitStandbys waits until every standby is synchronous.
func (p *postgres) awaitStandbys(ctx context.Context, db querier) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var last error
	for {
		err := p.synchronous(ctx, db)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(last, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
