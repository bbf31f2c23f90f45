package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	natsconf "payledger/deploy/nats"
)

type natsNode struct {
	*node
	dir     string
	monitor string           // URL of its monitoring
	in      map[string]*link // by the name of the node that connects

	route    string       // without links: the address of its routes, which the other servers know before it starts
	reserved net.Listener // without links: has that address until the server starts
}

// release gives the address of the routes up.
func (n *natsNode) release() {
	if n.reserved != nil {
		n.reserved.Close()
	}
}

// routeTo returns the address at which another server connects.
func (n *natsNode) routeTo(other *natsNode) string {
	if other.route != "" {
		return other.route
	}
	return other.in[n.name].address()
}

// clientOf returns the address at which an API node connects.
func (n *natsNode) clientOf(a *apiNode) string {
	if n.route != "" {
		return n.at
	}
	return n.in[a.name].address()
}

const servers = 3 // the log has a replica on each

// nowhere is the address of the routes that servers announce to each other, so that they use the
// links only.
const nowhere = "127.0.0.1:1"

func (c *cluster) startNATS(ctx context.Context, n *natsNode) error {
	return c.atLast(n.node, c.address+":-1", func(listen string) error { return c.tryNATS(ctx, n, listen) })
}

// atLast starts a node at the address of its last start, or at a free one if there is none or it is
// in use.
func (c *cluster) atLast(n *node, free string, try func(listen string) error) error {
	last := c.settings.Ports[n.name]
	if last == "" {
		return try(free)
	}
	err := try(last)
	if errors.Is(err, errEnded) {
		err = try(free)
	}
	return err
}

func (c *cluster) tryNATS(ctx context.Context, n *natsNode, listen string) error {
	config, err := c.natsConfig(n, listen)
	if err != nil {
		return err
	}
	n.release()
	n.child, err = spawn(filepath.Join(c.programs, "nats-server"), []string{"--config", config}, c.natsEnv(n), c.logOf(n.name))
	if err != nil {
		return err
	}
	ports, err := n.readPorts(ctx)
	if err != nil {
		return err
	}
	n.at, n.monitor = host(ports.NATS[0]), "http://"+host(ports.Monitoring[0])
	for from, l := range n.in {
		if strings.HasPrefix(from, "nats-") {
			l.lead(host(ports.Cluster[0]))
		} else {
			l.lead(n.at)
		}
	}
	c.settings.Ports[n.name] = n.at
	return c.settings.save()
}

// natsConfig writes the server's configuration, which includes the files of deploy/nats.
func (c *cluster) natsConfig(n *natsNode, listen string) (string, error) {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"jetstream.conf", "accounts.conf"} {
		text, err := natsconf.Files.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := writePrivate(filepath.Join(n.dir, name), text); err != nil {
			return "", err
		}
	}
	free := c.address + ":-1"
	routing := free
	if n.route != "" {
		routing = n.route
	}
	var routes []string
	for _, other := range c.nats {
		if other != n {
			routes = append(routes, fmt.Sprintf("nats-route://route:%s@%s", c.settings.RoutePassword, n.routeTo(other)))
		}
	}
	text := fmt.Sprintf(`server_name: %s
listen: %q
http: %q
ports_file_dir: %q
include "jetstream.conf"
include "accounts.conf"
cluster {
  name: payledger
  listen: %q
  advertise: %q
  no_advertise: true
  authorization { user: route, password: $PAYLEDGER_NATS_ROUTE_PASSWORD }
  routes: ["%s"]
}
`, n.name, listen, free, n.dir, routing, nowhere, strings.Join(routes, `", "`))
	file := filepath.Join(n.dir, "nats.conf")
	return file, writePrivate(file, []byte(text))
}

func (c *cluster) natsEnv(n *natsNode) []string {
	return append(c.environment(),
		"PAYLEDGER_NATS_STORE="+strconv.Quote(filepath.Join(n.dir, "store")),
		"PAYLEDGER_NATS_PASSWORD="+c.settings.NATSPassword,
		"PAYLEDGER_NATS_OPERATOR_PASSWORD="+c.settings.OperatorPassword,
		"PAYLEDGER_NATS_ROUTE_PASSWORD="+c.settings.RoutePassword,
	)
}

// ports are the addresses that a NATS server wrote to its file of ports.
type ports struct {
	NATS       []string `json:"nats"`
	Monitoring []string `json:"monitoring"`
	Cluster    []string `json:"cluster"`
}

func (n *natsNode) readPorts(ctx context.Context) (found ports, err error) {
	file := filepath.Join(n.dir, fmt.Sprintf("nats-server_%d.ports", n.child.pid()))
	err = every(ctx, 20*time.Millisecond, func() error {
		if !n.child.running() {
			return fmt.Errorf("%s: %w", n.name, errEnded)
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &found)
		}
		if err != nil || len(found.NATS) == 0 || len(found.Monitoring) == 0 || len(found.Cluster) == 0 {
			return errWait
		}
		return nil
	})
	return found, err
}

// awaitHealth waits until the server's JetStream takes part in the cluster.
func (n *natsNode) awaitHealth(ctx context.Context) error {
	return every(ctx, 50*time.Millisecond, func() error {
		if !n.child.running() {
			return fmt.Errorf("%s: %w", n.name, errEnded)
		}
		if get(ctx, n.monitor+"/healthz", nil) != nil {
			return errWait
		}
		return nil
	})
}

// errWait makes every repeat its check.
var errWait = errors.New("not yet")

// every repeats check until it returns something other than errWait, or ctx ends.
func every(ctx context.Context, pause time.Duration, check func() error) error {
	for {
		if err := check(); !errors.Is(err, errWait) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func host(url string) string {
	_, address, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	return address
}

// get reads JSON from a node into a value, if there is one. Any status but 200 is an error.
func get(ctx context.Context, url string, into any) error {
	status, err := readJSON(ctx, url, into)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d", url, status)
	}
	return err
}

// readJSON is get for every status.
func readJSON(ctx context.Context, url string, into any) (status int, err error) {
	return read(ctx, url, func(body io.Reader) error {
		if into == nil {
			return nil
		}
		return json.NewDecoder(body).Decode(into)
	})
}

func read(ctx context.Context, url string, take func(io.Reader) error) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return answer.StatusCode, take(answer.Body)
}

// client asks the nodes for their state. A paused node does not answer.
var client = &http.Client{Timeout: time.Second}
