//go:build system

package engine_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"payledger/domain/childtest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// serverConfig is the environment variable by which the test binary runs as a server of a cluster.
const serverConfig = "PAYLEDGER_TEST_CLUSTER_SERVER"

// TestLeaderKilled kills (SIGKILL) the leading process of a cluster of three during calls, and
// starts it again. Every acknowledged event is in the log once, and all answers fit one order of
// the calls.
func TestLeaderKilled(t *testing.T) { // alone: elections have their time
	if config := os.Getenv(serverConfig); config != "" {
		runClusterServer(t, config)
		return
	}
	c := clusterOfProcesses(t, 2)
	m := startModel(t, c.rig)
	for range scale(1, 3) {
		m.more(t, 50)
		leader := c.leader(t, engine.StreamName(0))
		c.kill(t, leader) // under callers of its store
		m.down[leader].Store(true)
		m.more(t, 100)
		m.pause(func() {
			if err := c.nodes[leader].store.Close(); err != nil {
				t.Error(err)
			}
			c.start(t, leader)
			c.open(t, leader)
		})
		m.down[leader].Store(false)
		m.more(t, 50)
	}
	m.check(t)
}

// processes is a cluster of three servers, each in its own process, with a store on each in the
// test's process.
type processes struct {
	*rig
	servers [3]*serverProcess
}

// serverProcess is a server that can be killed.
type serverProcess struct {
	cmd    *exec.Cmd
	ended  func() error
	listen serverListens
}

// clusterOfProcesses starts a cluster with every stream on all three servers.
func clusterOfProcesses(t *testing.T, shards int) *processes {
	t.Helper()
	c := &processes{rig: &rig{shards: shards}}
	for i := range c.servers {
		c.nodes = append(c.nodes, &node{dir: t.TempDir()})
		c.proxies = append(c.proxies, nil)
		for range c.servers {
			c.proxies[i] = append(c.proxies[i], newProxy(t, ""))
		}
	}
	for i := range c.servers {
		c.start(t, i)
	}
	for i := range c.servers {
		c.open(t, i)
	}
	return c
}

// start starts a server's process and leads the routes of the others to it.
func (c *processes) start(t *testing.T, i int) {
	t.Helper()
	var routes []string
	for j := range c.servers {
		if j != i {
			routes = append(routes, c.proxies[i][j].Addr())
		}
	}
	config, err := json.Marshal(memberConfig{c.nodes[i].dir, "n" + strconv.Itoa(i), routes})
	if err != nil {
		t.Fatal(err)
	}
	cmd := childtest.Tied(exec.Command(os.Args[0], "-test.run=^TestLeaderKilled$", "-test.count=1", "-test.timeout=0"))
	cmd.Env, cmd.Stderr = append(os.Environ(), serverConfig+"="+string(config)), os.Stderr
	_, err = cmd.StdinPipe() // it ends when this process does
	output, outputErr := cmd.StdoutPipe()
	if err := errors.Join(err, outputErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p := &serverProcess{cmd: cmd, ended: sync.OnceValue(cmd.Wait)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it fails when the process has ended
		_ = p.ended()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(line, &p.listen)); err != nil {
		t.Fatalf("server %d said %q: %v", i, line, err)
	}
	c.servers[i] = p
	for j := range c.servers {
		c.proxies[j][i].Heal(p.listen.Cluster)
	}
}

// open opens a store on a server as soon as the cluster answers.
func (c *processes) open(t *testing.T, i int) {
	t.Helper()
	config := eventstoretest.ConfigAt(at(c.servers[i].listen.Clients))
	config.Shards = c.shards
	c.nodes[i].store = openWhenReady(t, config)
}

// kill kills a server's process (SIGKILL): nothing of it ends in order.
func (c *processes) kill(t *testing.T, i int) {
	t.Helper()
	p := c.servers[i]
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.ended(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was to be killed and ended with %v", err)
	}
}

// leader is the server that leads the stream, as they say.
func (c *processes) leader(t *testing.T, stream string) (leader int) {
	t.Helper()
	eventually(t, 2*time.Minute, stream+" has a leader", func() error {
		answer, err := c.store().Conn().Request("$JS.API.STREAM.INFO."+stream, nil, 10*time.Second)
		if err != nil {
			return err
		}
		var info struct{ Cluster struct{ Leader string } }
		if err := json.Unmarshal(answer.Data, &info); err != nil {
			return err
		}
		for i := range c.servers {
			if info.Cluster.Leader == "n"+strconv.Itoa(i) {
				leader = i
				return nil
			}
		}
		return errors.New("none")
	})
	return leader
}

// serverListens has the addresses of a server.
type serverListens struct{ Clients, Cluster string }

// memberConfig is the configuration of one server process.
type memberConfig struct {
	Dir, Name string
	Routes    []string
}

// runClusterServer is a server's process: it prints its address, and runs until its input ends or
// it is killed.
func runClusterServer(t *testing.T, config string) {
	var c memberConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	server := clustertest.StartServer(t, member(t, c.Dir, c.Name, c.Routes))
	if err := json.NewEncoder(os.Stdout).Encode(serverListens{server.Addr().String(), server.ClusterAddr().String()}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
