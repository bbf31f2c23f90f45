package main

import (
	"context"
	"path/filepath"
)

// startSimulator starts the simulated processors, at the address of their last start if it is free.
func (c *cluster) startSimulator(ctx context.Context) error {
	var line struct{ Simulator string }
	env := append(c.environment(), "PAYLEDGER_PROCESSOR_SECRET="+c.settings.ProcessorSecret)
	err := c.startAt(ctx, c.simulator, env, &line, func(listen string) []string {
		return []string{"processorsim", "--listen", listen, "--data", filepath.Join(c.dir, "simulator"), "--log-format", "json"}
	})
	c.simURL, c.simulator.at = line.Simulator, host(line.Simulator)
	return err
}

// startAPI starts an API node.
func (c *cluster) startAPI(ctx context.Context, a *apiNode) error {
	var urls []string
	for _, n := range c.nats {
		urls = append(urls, "nats://"+n.clientOf(a))
	}
	env := append(c.environment(),
		"PAYLEDGER_NATS_URL="+c.settings.natsURL(urls),
		"PAYLEDGER_MASTER_KEY="+c.settings.Credentials.MasterKey,
		"PAYLEDGER_PROCESSOR_SECRET="+c.settings.ProcessorSecret,
	)
	env = append(env, a.env...)
	var line struct{ API, Admin string }
	err := c.startAt(ctx, a.node, env, &line, func(listen string) []string {
		return append([]string{
			"serve", "--data", filepath.Join(c.dir, a.name), "--listen", listen, "--admin-listen", c.address + ":0", "--processor-url", c.simURL,
			"--webhook-allow-cidr", "127.0.0.0/8", "--log-format", "json",
		}, c.serve...)
	})
	a.url, a.admin, a.at = line.API, line.Admin, host(line.API)
	return err
}

// startAt starts a node of the program payledger at the address of its last start, or at a free
// one, and reads its ready line.
func (c *cluster) startAt(ctx context.Context, n *node, env []string, line any, args func(listen string) []string) error {
	return c.atLast(n, c.address+":0", func(listen string) (err error) {
		if n.child, err = spawn(filepath.Join(c.programs, "payledger"), args(listen), env, c.logOf(n.name)); err != nil {
			return err
		}
		return n.child.awaitReady(ctx, line)
	})
}
