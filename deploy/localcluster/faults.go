package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = "kill N, pause N, cut N [M], slow N, heal [N], start N, quit; N is a node's name or number"

var errQuit = errors.New("quit")

func (c *cluster) obey(ctx context.Context, line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	switch {
	case words[0] == "quit" && len(words) == 1:
		return "", errQuit
	case words[0] == "heal" && len(words) == 1:
		return c.healAll(ctx)
	case len(words) != 2 && (len(words) != 3 || words[0] != "cut"):
		return "", errors.New(usage)
	}
	n, err := c.find(words[1])
	if err != nil {
		return "", err
	}
	if len(words) == 3 {
		to, err := c.find(words[2])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("nothing from %s reaches %s; heal %s ends it", n.name, to.name, n.name), c.deafen(to, n)
	}
	switch words[0] {
	case "kill":
		return n.name + " is killed; start it again with: start " + n.name, n.kill()
	case "pause":
		return n.name + " is paused; it goes on with: heal " + n.name, n.pause(true)
	case "cut":
		return n.name + " is cut off from NATS; connect it with: heal " + n.name, n.cutOff(true)
	case "slow":
		return n.name + " has slow links to NATS; they are fast again with: heal " + n.name, n.slowDown(slowLink)
	case "heal":
		return n.name + " is healed", c.heal(ctx, n)
	case "start":
		return n.name + " runs", c.restart(ctx, n)
	default:
		return "", errors.New(usage)
	}
}

// find returns a node by its name, or by its number in the table.
func (c *cluster) find(word string) (*node, error) {
	for i, n := range c.nodes {
		if n.name == word || strconv.Itoa(i+1) == word {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %s", word)
}

func (n *node) kill() error {
	n.ending.Store(true)
	n.paused = false
	err := n.child.signal(syscall.SIGKILL)
	<-n.child.ended
	return err
}

// pause stops the process without ending it, as a virtual machine that is moved.
func (n *node) pause(pause bool) error {
	signal := syscall.SIGCONT
	if pause {
		signal = syscall.SIGSTOP
	}
	n.paused = pause
	return n.child.signal(signal)
}

func (n *node) cutOff(cut bool) error {
	n.cut = cut && len(n.links) > 0
	return n.eachLink(func(l *link) { l.cut(cut) })
}

func (n *node) eachLink(do func(*link)) error {
	if len(n.links) == 0 {
		return fmt.Errorf("%s has no link to NATS; pause it instead", n.name)
	}
	for _, l := range n.links {
		do(l)
	}
	return nil
}

const slowLink = 100 * time.Millisecond // of each piece of bytes

// slowDown delays the bytes of every link from and to the node; 0 ends it.
func (n *node) slowDown(delay time.Duration) error {
	if len(n.links) > 0 {
		n.delay = delay
	}
	return n.eachLink(func(l *link) { l.slow(delay) })
}

// deafen holds every byte from one node to another. Bytes the other way go on.
func (c *cluster) deafen(to, from *node) error {
	found := false
	for _, n := range c.nats {
		if n.node == to && n.in[from.name] != nil {
			n.in[from.name].hold(there, true)
			found = true
		}
		if n.node == from && n.in[to.name] != nil {
			n.in[to.name].hold(back, true)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("there is no link between %s and %s", from.name, to.name)
	}
	return nil
}

// heal ends every fault of a node. A link to another node that is cut off or slow stays so.
func (c *cluster) heal(ctx context.Context, n *node) error {
	var errs []error
	n.cut, n.delay = false, 0
	for _, l := range n.links {
		l.cut(false)
		l.slow(0)
	}
	for _, other := range c.nodes {
		if other.delay > 0 {
			errs = append(errs, other.slowDown(other.delay))
		}
		if other.cut {
			errs = append(errs, other.cutOff(true))
		}
	}
	if n.paused {
		errs = append(errs, n.pause(false))
	}
	if !n.child.running() {
		errs = append(errs, c.restart(ctx, n))
	}
	return errors.Join(errs...)
}

func (c *cluster) healAll(ctx context.Context) (string, error) {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, c.heal(ctx, n))
	}
	return "every node is healed", errors.Join(errs...)
}

func (c *cluster) restart(ctx context.Context, n *node) error {
	if n.child.running() {
		return fmt.Errorf("%s runs", n.name)
	}
	n.ending.Store(false)
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	if err := n.start(ctx); err != nil {
		return c.failed(n, err)
	}
	c.follow(n)
	return nil
}
