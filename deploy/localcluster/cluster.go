package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// node is a place in the cluster; a child runs on it.
type node struct {
	name  string
	child *child // nil before its first start
	at    string // address for its clients, since its first start
	start func(context.Context) error
	links []*link // all of the links from and to it

	ending      atomic.Bool // somebody requested the child's end
	paused, cut bool
	delay       time.Duration // of its links
}

// apiNode is one `payledger serve`.
type apiNode struct {
	*node
	url, admin string
	env        []string // variables of its own
}

type cluster struct {
	dir      string
	programs string
	address  string    // of every listener, without a port
	out      io.Writer // messages for people
	settings *settings
	serve    []string // further flags of the API nodes

	nats      []*natsNode
	simulator *node
	simURL    string
	apis      []*apiNode
	nodes     []*node // all of them, in the order of their start
}

// ready is the line on stdout (I1).
type ready struct {
	Ready         bool           `json:"ready"`
	API           []string       `json:"api"`
	Admin         []string       `json:"admin"`
	NATS          []string       `json:"nats"`
	Simulator     string         `json:"simulator"`
	APIKey        string         `json:"apiKey"`
	SigningSecret string         `json:"signingSecret"`
	Data          string         `json:"data"`
	PIDs          map[string]int `json:"pids"`
}

// loopback is the address of a cluster's listeners. Clusters beside each other may have an address
// of 127.0.0.0/8 each: a port that one gives up for a moment is not taken by another.
const loopback = "127.0.0.1"

// newCluster locks the folder and makes the nodes and the links between them. Nothing runs yet. The
// story of `payledger demo` waits for a processor that never answers: the payment timeout is short.
func newCluster(dir, programs, address string, apis int, out io.Writer) (*cluster, error) {
	c, err := newNodes(dir, programs, address, apis, out)
	if err != nil {
		return nil, err
	}
	c.serve = []string{"--payment-timeout", "3s", "--memory", "512MiB"}
	if err := c.openLinks(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// newDirectCluster is newCluster on loopback and without links, for measurements: nothing stands
// between the nodes.
func newDirectCluster(dir, programs string, apis int, out io.Writer) (*cluster, error) {
	c, err := newNodes(dir, programs, loopback, apis, out)
	if err != nil {
		return nil, err
	}
	c.serve = []string{"--memory", "2GiB", "--log-level", "warn"}
	for _, n := range c.nats {
		if n.reserved, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", c.address+":0"); err != nil {
			return nil, errors.Join(err, c.close())
		}
		n.route = n.reserved.Addr().String()
	}
	return c, nil
}

func newNodes(dir, programs, address string, apis int, out io.Writer) (*cluster, error) {
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s, err := openSettings(dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, programs: programs, address: address, out: out, settings: s}
	for i := range servers {
		n := &natsNode{node: &node{name: fmt.Sprintf("nats-%d", i+1)}, in: map[string]*link{}}
		n.dir = filepath.Join(dir, n.name)
		n.start = func(ctx context.Context) error {
			if err := c.startNATS(ctx, n); err != nil {
				return err
			}
			return n.awaitHealth(ctx)
		}
		c.nats, c.nodes = append(c.nats, n), append(c.nodes, n.node)
	}
	c.simulator = &node{name: "simulator", start: c.startSimulator}
	c.nodes = append(c.nodes, c.simulator)
	for i := range apis {
		a := &apiNode{node: &node{name: fmt.Sprintf("api-%d", i+1)}}
		a.start = func(ctx context.Context) error { return c.startAPI(ctx, a) }
		c.apis, c.nodes = append(c.apis, a), append(c.nodes, a.node)
	}
	return c, nil
}

func (c *cluster) openLinks() error {
	for _, to := range c.nats {
		for _, from := range c.nodes {
			if from == to.node || from == c.simulator {
				continue
			}
			l, err := newLink(context.Background(), c.address)
			if err != nil {
				return fmt.Errorf("link from %s to %s: %w", from.name, to.name, err)
			}
			to.in[from.name] = l
			from.links, to.links = append(from.links, l), append(to.links, l)
		}
	}
	return nil
}

// Limits of a start and a stop. A start makes or reads the log.
const (
	startLimit   = 5 * time.Minute
	restartLimit = 3 * time.Minute // a NATS server with an empty disk on a busy machine needs 75 s
	stopLimit    = 20 * time.Second
)

func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c.say("starting %d NATS servers on %s", len(c.nats), c.dir)
	for _, n := range c.nats { // all of them before one is healthy: two make a quorum
		if err := c.startNATS(ctx, n); err != nil {
			return c.failed(n.node, err)
		}
	}
	for _, n := range c.nats {
		if err := n.awaitHealth(ctx); err != nil {
			return c.failed(n.node, err)
		}
	}
	if c.settings.Credentials == nil {
		c.say("making a log with %d replicas", servers)
		if err := c.init(ctx); err != nil {
			return err
		}
	}
	if err := c.startSimulator(ctx); err != nil {
		return c.failed(c.simulator, err)
	}
	c.say("starting %d API nodes", len(c.apis))
	var starting sync.WaitGroup
	errs := make([]error, len(c.apis))
	for i, a := range c.apis {
		starting.Go(func() {
			if err := a.start(ctx); err != nil {
				errs[i] = c.failed(a.node, err)
			}
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range c.nodes {
		c.settings.Ports[n.name] = n.at
		c.follow(n)
	}
	return errors.Join(c.settings.save(), c.settings.writeEnv(c.dir, c.ready()))
}

// follow reports the end of a node's child that nobody requested.
func (c *cluster) follow(n *node) {
	ended := n.child
	go func() {
		<-ended.ended
		if ended.err != nil && !n.ending.Load() {
			c.say("%s ended: %v; its log is %s", n.name, ended.err, c.logOf(n.name))
		}
	}()
}

func (c *cluster) failed(n *node, err error) error {
	if n.child != nil && !n.child.running() {
		err = errors.Join(err, n.child.err)
	}
	text, _ := os.ReadFile(c.logOf(n.name)) // it may be missing
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s: %w; its log ends with: %s", n.name, err, lines[len(lines)-1])
}

func (c *cluster) init(ctx context.Context) error {
	command := exec.CommandContext(ctx, filepath.Join(c.programs, "payledger"), "init", "--nats-replicas", fmt.Sprint(servers), "--json") //nolint:gosec // our own program
	command.Env = append(c.environment(), "PAYLEDGER_NATS_URL="+c.settings.natsURL(c.natsURLs()))
	command.Dir, command.SysProcAttr = c.dir, ownGroup()
	var complaint bytes.Buffer
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("payledger init: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	var made credentials
	if err := json.Unmarshal(text, &made); err != nil {
		return fmt.Errorf("payledger init printed something else than its credentials: %w", err)
	}
	c.settings.Credentials = &made
	return c.settings.save()
}

func (c *cluster) natsURLs() (urls []string) {
	for _, n := range c.nats {
		urls = append(urls, "nats://"+n.at)
	}
	return urls
}

func (c *cluster) ready() ready {
	r := ready{
		Ready: true, NATS: c.natsURLs(), Simulator: c.simURL, Data: c.dir, PIDs: map[string]int{},
		APIKey: c.settings.Credentials.APIKey, SigningSecret: c.settings.Credentials.SigningSecret,
	}
	for _, a := range c.apis {
		r.API, r.Admin = append(r.API, a.url), append(r.Admin, a.admin)
	}
	for _, n := range c.nodes {
		r.PIDs[n.name] = n.child.pid()
	}
	return r
}

// close ends the children in the reverse order of their start, and every link.
func (c *cluster) close() error {
	var errs []error
	stop := func(nodes []*node) {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		ended := make([]error, len(nodes))
		var stopping sync.WaitGroup
		for i, n := range nodes {
			if n.child == nil {
				continue
			}
			n.ending.Store(true)
			stopping.Go(func() {
				if err := n.child.stop(ctx); err != nil {
					ended[i] = fmt.Errorf("%s: %w", n.name, err)
				}
			})
		}
		stopping.Wait()
		errs = append(errs, ended...)
	}
	stop(c.nodes[len(c.nats)+1:])
	stop([]*node{c.simulator})
	stop(c.nodes[:len(c.nats)])
	for _, n := range c.nats {
		for _, l := range n.in {
			l.close()
		}
		n.release()
	}
	return errors.Join(append(errs, c.settings.close())...)
}

func (c *cluster) say(format string, args ...any) {
	fmt.Fprintf(c.out, "local-cluster: "+format+"\n", args...)
}

func (c *cluster) logOf(name string) string { return filepath.Join(c.dir, "logs", name+".log") }

// environment is that of this process without the settings of payledger: each child has its own.
func (c *cluster) environment() []string {
	return slices.DeleteFunc(os.Environ(), func(set string) bool { return strings.HasPrefix(set, "PAYLEDGER_") })
}
