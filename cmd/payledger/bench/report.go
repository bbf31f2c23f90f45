package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/ceiling"
)

// Report is the answer of bench --json (I1). Times are in milliseconds, rates per second.
type Report struct {
	Scenario              string               `json:"scenario"`
	Concurrency           int                  `json:"concurrency"`
	Seconds               float64              `json:"seconds"`
	Requests              int                  `json:"requests"` // that succeeded
	Errors                int                  `json:"errors"`
	PerSecond             float64              `json:"perSecond"`
	P50                   float64              `json:"p50Ms"`
	P99                   float64              `json:"p99Ms"`
	P999                  float64              `json:"p999Ms"`
	EventsPerSecond       float64              `json:"eventsPerSecond"` // of the log; in replay: read
	ServerCPUMsPerRequest float64              `json:"serverCpuMsPerRequest"`
	ProcessCPU            map[string]float64   `json:"processCpuMsPerRequest,omitempty"` // by the names of --processes
	Yardsticks            map[string]Yardstick `json:"yardsticks"`
	Ratios                map[string]float64   `json:"ratios"`
}

// Yardstick is a figure of the machine, or of another service, from the same rounds.
type Yardstick struct {
	PerSecond       float64 `json:"perSecond"`
	P50             float64 `json:"p50Ms"`
	P99             float64 `json:"p99Ms,omitempty"`
	CPUMsPerRequest float64 `json:"serverCpuMsPerRequest,omitempty"`
	Errors          int     `json:"errors,omitempty"` // of another service
}

const (
	fsyncYardstick   = "fsync"
	publishYardstick = "durablePublish"
	tripYardstick    = "roundTrip"
	otherYardstick   = "otherService"
)

func (m *measurement) report() Report {
	t, events := &m.ours.tally, float64(m.ours.spent.events)
	t.sorted()
	m.trips.sorted()
	if m.command.Scenario == replaying {
		events = float64(t.read)
	}
	r := Report{
		Scenario: m.command.Scenario, Concurrency: m.command.Concurrency, Seconds: t.lasted.Seconds(), Requests: len(t.took), Errors: t.errors,
		PerSecond: t.perSecond(), P50: t.percentile(0.5), P99: t.percentile(0.99), P999: t.percentile(0.999),
		EventsPerSecond: ratio(events, t.lasted.Seconds()), ServerCPUMsPerRequest: m.ours.cpu(),
		Yardsticks: map[string]Yardstick{}, Ratios: map[string]float64{},
	}
	if !m.command.NoCeilings {
		r.Yardsticks[fsyncYardstick], r.Yardsticks[publishYardstick] = mean(m.fsyncs), mean(m.publish)
		r.Yardsticks[tripYardstick] = Yardstick{PerSecond: m.trips.perSecond(), P50: m.trips.percentile(0.5)}
	}
	for name, spent := range m.ours.spent.processes {
		if r.ProcessCPU == nil {
			r.ProcessCPU = map[string]float64{}
		}
		r.ProcessCPU[name] = ratio(float64(spent)/float64(time.Millisecond), float64(len(t.took)))
	}
	y := r.Yardsticks
	r.compare("eventsPerSecond/durablePublish", r.EventsPerSecond, y[publishYardstick].PerSecond)
	if slices.Contains([]string{reading, replaying}, r.Scenario) { // they write nothing
		r.compare("p50/roundTrip", r.P50, y[tripYardstick].P50)
	} else {
		r.compare("p50/(2*fsync+roundTrip)", r.P50, 2*y[fsyncYardstick].P50+y[tripYardstick].P50)
	}
	if m.theirs != nil {
		other := &m.theirs.tally
		other.sorted()
		y[otherYardstick] = Yardstick{PerSecond: other.perSecond(), P50: other.percentile(0.5), P99: other.percentile(0.99), CPUMsPerRequest: m.theirs.cpu(), Errors: other.errors}
		r.compare("perSecond/otherService", r.PerSecond, y[otherYardstick].PerSecond)
		r.compare("serverCpuMsPerRequest/otherService", r.ServerCPUMsPerRequest, y[otherYardstick].CPUMsPerRequest)
	}
	return r
}

// compare adds a ratio, unless a figure is missing: without metrics there are no events and no CPU
// time.
func (r *Report) compare(name string, figure, yardstick float64) {
	if figure > 0 && yardstick > 0 {
		r.Ratios[name] = figure / yardstick
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// cpu returns the CPU time of the service for a request, in milliseconds.
func (m *measured) cpu() float64 {
	return ratio(float64(m.spent.cpu)/float64(time.Millisecond), float64(len(m.tally.took)))
}

func mean(rates []ceiling.Rate) (y Yardstick) {
	for _, r := range rates {
		y.PerSecond += r.PerSecond / float64(len(rates))
		y.P50 += milliseconds(r.Median) / float64(len(rates))
	}
	return y
}

func (r Report) text(out io.Writer) error {
	fmt.Fprintf(out, "%s over %s, %.1f s: %s, %s\n\n", r.Scenario, terminal.Count(r.Concurrency, "connection"), r.Seconds,
		terminal.Count(r.Requests, "request"), terminal.Count(r.Errors, "error"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tper second\tp50 ms\tp99 ms\tp99.9 ms\tCPU ms\t")
	fmt.Fprintf(table, "payledger\t%.0f\t%.2f\t%.2f\t%.2f\t%.3f\t\n", r.PerSecond, r.P50, r.P99, r.P999, r.ServerCPUMsPerRequest)
	names := slices.Sorted(maps.Keys(r.Yardsticks))
	for _, name := range names {
		y := r.Yardsticks[name]
		fmt.Fprintf(table, "%s\t%.0f\t%.2f\t%s\t\t%s\t\n", name, y.PerSecond, y.P50, figure("%.2f", y.P99), figure("%.3f", y.CPUMsPerRequest))
	}
	for _, name := range slices.Sorted(maps.Keys(r.ProcessCPU)) {
		fmt.Fprintf(table, "processes %s\t\t\t\t\t%.3f\t\n", name, r.ProcessCPU[name])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nevents per second %.0f\n\n", r.EventsPerSecond)
	for _, name := range slices.Sorted(maps.Keys(r.Ratios)) {
		fmt.Fprintf(out, "%-36s %6.2f\n", name, r.Ratios[name])
	}
	most := max(r.PerSecond, 1)
	for _, y := range r.Yardsticks {
		most = max(most, y.PerSecond)
	}
	fmt.Fprintln(out)
	bar := func(name string, rate float64) {
		fmt.Fprintf(out, "%16s %s %.0f/s\n", name, strings.Repeat("█", int(50*rate/most)), rate)
	}
	bar("payledger", r.PerSecond)
	for _, name := range names {
		bar(name, r.Yardsticks[name].PerSecond)
	}
	return nil
}

func figure(format string, value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf(format, value)
}
