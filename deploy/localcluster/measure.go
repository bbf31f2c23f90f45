package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// measureFlags is the command line of deploy/measure-cluster.
type measureFlags struct {
	Data        string        `help:"Folder of all data, on the disk to be measured; its subfolder payledger-measured is removed (default: a temporary folder)." type:"path"`
	Nodes       []mix         `help:"Numbers of API nodes, each at most 9; 1+2 are one with views and two of --role api." default:"1,2,3,1+2"`
	Connections []int         `help:"Connections of the creates. The one in the middle is also that of the other requests." default:"16,64,256"`
	Duration    time.Duration `help:"Time under load of each figure, for payledger and for the yardstick." default:"6s"`
	Rounds      int           `help:"Rounds of a figure: payledger and the yardstick take turns." default:"3"`
	Pool        int           `help:"Connections of the yardstick to PostgreSQL." default:"64"`
	Idle        time.Duration `help:"Time for which the messages of an idle cluster are counted." default:"10s"`
	Runs        int           `help:"Runs, one after the other, each with a table. Several have a table of medians at their end." default:"1"`
	Programs    string        `help:"Folder with the programs payledger, nats-server and yardstick." type:"path" required:"" hidden:""`
	OwnPrograms bool          `help:"Remove the folder of the programs at the end." hidden:""`
}

// mix is a number of API nodes: some that do everything, and some of --role api.
type mix struct{ views, api int }

// UnmarshalText reads 3, or 1+2.
func (m *mix) UnmarshalText(text []byte) (err error) {
	views, api, mixed := strings.Cut(string(text), "+")
	if m.views, err = strconv.Atoi(views); err == nil && mixed {
		m.api, err = strconv.Atoi(api)
	}
	if err != nil {
		return fmt.Errorf("%q is no number of nodes, such as 3 or 1+2", text)
	}
	return nil
}

func (m mix) sum() int { return m.views + m.api }

func (m mix) String() string {
	if m.api == 0 {
		return strconv.Itoa(m.views)
	}
	return fmt.Sprintf("%d+%d", m.views, m.api)
}

// measureCommand is the first argument that selects the measurement.
const measureCommand = "measure"

// measure is the program of deploy/measure-cluster. It returns the exit status.
func measure(args []string, stdout, stderr io.Writer) int {
	var f measureFlags
	status := -1
	parser, err := kong.New(&f,
		kong.Name("measure-cluster"),
		kong.Description("Measures clusters of payledger on this machine beside the same work on PostgreSQL, and prints a table in Markdown."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { status = code }),
	)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if f.OwnPrograms {
		defer os.RemoveAll(f.Programs)
	}
	if status >= 0 { // --help was answered
		return status
	}
	if err = errors.Join(err, f.check()); err != nil {
		fmt.Fprintln(stderr, "measure-cluster:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "measure-cluster:", err)
		return exitFailure
	}
	return 0
}

func (f *measureFlags) check() error {
	var errs []error
	fault := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	between := func(values []int, most int) bool {
		return len(values) > 0 && slices.Min(values) >= 1 && slices.Max(values) <= most
	}
	fault(len(f.Nodes) == 0 || slices.ContainsFunc(f.Nodes, func(n mix) bool { return n.views < 1 || n.api < 0 || n.sum() > 9 }),
		"--nodes must be between 1 and 9, or of the form 1+2")
	fault(!between(f.Connections, 1024), "--connections must be between 1 and 1024")
	fault(f.Duration < time.Second || f.Duration > time.Hour, "--duration must be between 1s and 1h")
	fault(f.Rounds < 1 || f.Rounds > 100, "--rounds must be between 1 and 100")
	fault(f.Pool < 1 || f.Pool > 1000, "--pool must be between 1 and 1000")
	fault(f.Idle < time.Second || f.Idle > time.Hour, "--idle must be between 1s and 1h")
	fault(f.Runs < 1 || f.Runs > 100, "--runs must be between 1 and 100")
	return errors.Join(errs...)
}

// middle is the number of connections for everything but the creates.
func (f *measureFlags) middle() int { return f.Connections[len(f.Connections)/2] }

// run prints a table for each run. A figure that fails stands in the table as such, and makes run
// return an error at its end.
func (f *measureFlags) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	dir := f.Data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "payledger-measure-"); err != nil {
			return fmt.Errorf("temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var tables []*table
	for n := range f.Runs {
		t := &table{title: fmt.Sprintf("Run %d of %d", n+1, f.Runs), machine: machine(), before: loadAverage()}
		for _, nodes := range f.Nodes {
			fmt.Fprintf(stderr, "measure-cluster: run %d of %d, API nodes: %s\n", n+1, f.Runs, nodes)
			if err := f.column(ctx, dir, nodes, t, stderr); err != nil {
				return fmt.Errorf("API nodes: %s: %w", nodes, err)
			}
		}
		t.after = loadAverage()
		tables = append(tables, t)
		fmt.Fprintln(stdout, t.markdown())
	}
	if len(tables) > 1 {
		fmt.Fprintln(stdout, medians(tables).markdown())
	}
	failed := 0
	for _, t := range tables {
		failed += len(t.failures())
	}
	if failed > 0 {
		return fmt.Errorf("%d figures failed; the tables name the reasons", failed)
	}
	return nil
}

// column measures one number of API nodes, with an empty cluster and an empty PostgreSQL, and adds
// the figures to the table.
func (f *measureFlags) column(ctx context.Context, dir string, nodes mix, t *table, stderr io.Writer) (err error) {
	dir = filepath.Join(dir, "payledger-measured")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := newDirectCluster(filepath.Join(dir, "cluster"), f.Programs, nodes.sum(), stderr)
	if err != nil {
		return err
	}
	for _, a := range c.apis[nodes.views:] {
		a.env = []string{"PAYLEDGER_ROLE=api"}
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.start(ctx); err != nil {
		return err
	}
	y, err := startYardstick(ctx, c, filepath.Join(dir, "yardstick"), f.Pool)
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit) // PostgreSQL writes a last checkpoint
		defer cancel()
		err = errors.Join(err, y.child.stop(ending))
	}()
	column := &measurement{flags: f, cluster: c, yardstick: y, table: t, out: stderr}
	t.nodes = append(t.nodes, nodes)
	return column.run(ctx)
}

// yardstick is a running deploy/yardstick: the same work on PostgreSQL with two synchronous
// standbys, with the cluster's processors.
type yardstick struct {
	child *child
	url   string
}

const standbys = "2"

func startYardstick(ctx context.Context, c *cluster, dir string, pool int) (y *yardstick, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	y = &yardstick{}
	args := []string{"--data", dir, "--listen", c.address + ":0", "--pool", fmt.Sprint(pool), "--standbys", standbys,
		"--processor", c.simURL, "--api-key", c.settings.Credentials.APIKey}
	if y.child, err = spawn(filepath.Join(c.programs, "yardstick"), args, c.environment(), c.logOf("yardstick")); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var line struct{ API string }
	if err := y.child.awaitReady(ctx, &line); err != nil {
		stopping, stopped := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer stopped()
		failed := c.failed(&node{name: "yardstick", child: y.child}, err)
		return nil, errors.Join(failed, y.child.stop(stopping))
	}
	y.url = line.API
	return y, nil
}

// machine names the processors.
func machine() string {
	model := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d × %s, %s", runtime.NumCPU(), model, runtime.GOOS)
}

// loadAverage returns the numbers of running processes over 1, 5 and 15 minutes.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // other systems have none
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
