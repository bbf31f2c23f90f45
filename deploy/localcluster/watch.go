package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// watch shows the cluster each second, and obeys commands. On a terminal it draws over the last
// picture; elsewhere it prints a picture after each command, and every ten seconds.
type watch struct {
	cluster  *cluster
	in       io.Reader
	out      io.Writer
	terminal bool
	fresh    bool   // the next picture begins with an empty screen
	note     string // of the last command
	last     sight
	at       time.Time // of last
}

const watchEvery = time.Second

func newWatch(c *cluster, in io.Reader, out io.Writer) *watch {
	file, ok := out.(*os.File)
	return &watch{cluster: c, in: in, out: out, terminal: ok && term.IsTerminal(int(file.Fd())), note: usage, fresh: true}
}

func (w *watch) run(ctx context.Context) error {
	commands := make(chan string)
	go func() {
		for lines := bufio.NewScanner(w.in); lines.Scan(); {
			select {
			case commands <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	pause := watchEvery
	if !w.terminal {
		pause = 10 * watchEvery
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		w.show(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case line := <-commands:
			note, err := w.cluster.obey(ctx, line)
			switch {
			case errors.Is(err, errQuit):
				return nil
			case err != nil:
				note = err.Error()
			}
			w.note, w.fresh = note, true
		}
	}
}

func (w *watch) show(ctx context.Context) {
	now, at := w.cluster.observe(ctx), time.Now()
	seconds := at.Sub(w.at).Seconds()
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %d of %d streams have a leader, %s groups/s\n\n", at.Format(time.TimeOnly), now.leaders, now.streams, w.rate(float64(now.groups), float64(w.last.groups), seconds))
	fmt.Fprintf(&text, "  %-3s%-11s%-23s%-9s%7s%8s%12s  %s\n", "N", "node", "address", "state", "leads", "lag", "requests/s", "")
	for i, n := range now.nodes {
		leads, lag, requests := "", "", ""
		switch kind, _, _ := strings.Cut(n.name, "-"); kind {
		case "nats":
			leads, lag = fmt.Sprint(n.leads), fmt.Sprint(n.lag)
		case "api":
			if requests = "-"; len(w.last.nodes) > i {
				requests = w.rate(n.requests, w.last.nodes[i].requests, seconds)
			}
		}
		fmt.Fprintf(&text, "  %-3d%-11s%-23s%-9s%7s%8s%12s  %s\n", i+1, n.name, n.address, n.state, leads, lag, requests, n.reason)
	}
	fmt.Fprintf(&text, "\n%s\n", w.note)
	w.draw(text.String())
	w.last, w.at = now, at
}

// The control sequences of terminals that draw needs.
const (
	clearScreen   = "\x1b[2J"
	home          = "\x1b[H"
	clearLine     = "\x1b[K"
	saveCursor    = "\x1b7"
	restoreCursor = "\x1b8"
)

// draw prints the picture. On a terminal it keeps the half line that the reader types.
func (w *watch) draw(text string) {
	switch {
	case !w.terminal:
	case w.fresh:
		text = home + clearScreen + text + "> "
	default:
		text = saveCursor + home + strings.ReplaceAll(text, "\n", clearLine+"\n") + restoreCursor
	}
	w.fresh = false
	fmt.Fprint(w.out, text)
}

// rate returns an increase per second. A node that started again begins at zero.
func (w *watch) rate(now, before, seconds float64) string {
	if w.at.IsZero() || now < before {
		return "-"
	}
	return fmt.Sprintf("%.1f", (now-before)/seconds)
}
