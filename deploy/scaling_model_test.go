package deploy_test

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// figure is a measured value and the command that measures it.
type figure struct {
	what    string
	value   float64
	unit    string
	command string
}

// inputs are all that the model knows of payledger. A payment is a client session, a card, an
// authorization and a capture, with two webhooks.
type inputs struct {
	events figure // of a payment

	api, nats figure // ms of CPU of a payment, of all API nodes and of all NATS servers

	log, deliveries, secrets, checkpoints figure // bytes of a payment on each NATS server
	tips, views                           figure // bytes of a payment on each API node

	tipRate  figure // events/s that one API node applies to an empty tip store
	viewRate figure // events/s that one API node applies to empty views
	commit   figure // ms until a replicated group is acknowledged
	idle     figure // cores that a closed segment takes in a cluster
	verify   figure // events/s
	backup   figure // events/s
}

func (f figure) String() string {
	text := fmt.Sprintf("%.3g", f.value)
	if f.value >= 1000 {
		text = grouped(int64(math.Round(f.value)))
	}
	return strings.TrimSpace(text + " " + f.unit)
}

// all returns the inputs in the order of the document.
func (in inputs) all() []figure {
	return []figure{
		in.events, in.api, in.nats, in.log, in.deliveries, in.secrets, in.checkpoints, in.tips, in.views,
		in.tipRate, in.viewRate, in.commit, in.idle, in.verify, in.backup,
	}
}

// Chosen, not measured.
const (
	replicas     = 3
	cores        = 16  // of a machine
	use          = 0.5 // of a machine, on average: the rest is for peaks and for the work of a machine that failed
	groupBytes   = 1e4 // the log's bytes of a group under load: 64 KiB of frames, compressed
	segmentBytes = 128 << 20
	fewestShards = 3
	retention    = 90 * 24 * time.Hour // of deliveries, the default
	month        = 30 * 24 * time.Hour
	year         = 365 * 24 * time.Hour
)

// needs are the resources for payments at a rate.
type needs struct {
	rate    float64 // payments/s
	events  float64 // events/s
	cells   int     // groups of shards, each with its own NATS cluster and API nodes
	limit   string  // of a cell
	shards  int     // of all cells
	servers int     // NATS servers of all cells
	nodes   int     // API nodes of all cells

	serverCores, nodeCores float64 // busy cores of one NATS server and one API node, on average
	server, node           growth  // of the disk of one NATS server and one API node
	segments               float64 // closed a day in a cell
}

// applying returns the seconds that an API node works on an event: first for its tip store, then
// for its views.
func (in inputs) applying() float64 { return 1/in.tipRate.value + 1/in.viewRate.value }

// growth is how a disk fills.
type growth struct {
	kept   float64 // bytes/s that stay for ever
	passes float64 // bytes/s that stay for the retention of deliveries
}

// after returns the bytes on the disk after a time.
func (g growth) after(d time.Duration) float64 {
	return g.kept*d.Seconds() + g.passes*min(d, retention).Seconds()
}

// cellLimit returns the payments/s that one cell takes, and the resource that limits it.
func (in inputs) cellLimit() (rate float64, what string) {
	rate, what = min(in.tipRate.value, in.viewRate.value)*use/in.events.value, "an API node applies every event of its group"
	if server := cores * use * 1000 / (in.nats.value / replicas); server < rate {
		rate, what = server, "the processors of a NATS server"
	}
	return rate, what
}

// shardEvents returns the events/s of one shard: one group after the other.
func (in inputs) shardEvents() float64 {
	return groupBytes / (in.log.value / in.events.value) * 1000 / in.commit.value
}

// at returns the resources for a rate of payments.
func (in inputs) at(rate float64) needs {
	limit, what := in.cellLimit()
	n := needs{rate: rate, events: rate * in.events.value, limit: what}
	n.cells = int(math.Ceil(rate / limit))
	inCell := rate / float64(n.cells)
	n.shards = n.cells * max(fewestShards, int(math.Ceil(inCell*in.events.value/(use*in.shardEvents()))))
	n.servers = n.cells * replicas
	n.serverCores = inCell * in.nats.value / replicas / 1000

	applying := inCell * in.events.value * in.applying() // cores of each API node
	requests := inCell * in.api.value / 1000
	perCell := 1 + int(math.Ceil(requests/(cores*use-applying))) // one may fail
	n.nodes = n.cells * perCell
	n.nodeCores = applying + requests/float64(perCell)

	n.server = growth{inCell * (in.log.value + in.secrets.value + in.checkpoints.value), inCell * in.deliveries.value}
	n.node = growth{kept: inCell * (in.tips.value + in.views.value)}
	n.segments = inCell * in.log.value * (24 * time.Hour).Seconds() / segmentBytes
	return n
}

// row is a row of the document's table: a label, and the text for a rate.
type row struct {
	label string
	text  func(needs) string
}

// rows returns the rows of the document's table.
func (in inputs) rows() []row {
	cell := func(n needs, per time.Duration) float64 { return n.events / float64(n.cells) * per.Seconds() }
	return []row{
		{"payments in a month, in a year", func(n needs) string { return count(n.rate*month.Seconds()) + ", " + count(n.rate*year.Seconds()) }},
		{"events/s", func(n needs) string { return count(n.events) }},
		{"groups of shards, each with a NATS cluster", func(n needs) string { return count(float64(n.cells)) }},
		{"shards", func(n needs) string { return count(float64(n.shards)) }},
		{"NATS servers of 16 cores", func(n needs) string { return count(float64(n.servers)) }},
		{"busy cores of each", func(n needs) string { return fmt.Sprintf("%.2f", n.serverCores) }},
		{"API nodes of 16 cores", func(n needs) string { return count(float64(n.nodes)) }},
		{"busy cores of each", func(n needs) string { return fmt.Sprintf("%.2f", n.nodeCores) }},
		{"disk of each NATS server after a month, a year", func(n needs) string { return size(n.server.after(month)) + ", " + size(n.server.after(year)) }},
		{"disk of all NATS servers after a year", func(n needs) string { return size(n.server.after(year) * float64(n.servers)) }},
		{"disk of each API node after a month, a year", func(n needs) string { return size(n.node.after(month)) + ", " + size(n.node.after(year)) }},
		{"segments that each NATS cluster closes in a day", func(n needs) string { return count(n.segments) }},
		{"idle cores of each NATS cluster after a month, if they stay streams", func(n needs) string { return fmt.Sprintf("%.1f", n.segments*30*in.idle.value) }},
		{"an empty API node joins after a month in", func(n needs) string { return duration(cell(n, month) * in.applying()) }},
		{"it joins after a year in", func(n needs) string { return duration(cell(n, year) * in.applying()) }},
		{"it reads 100 million events in", func(needs) string { return duration(1e8 * in.applying()) }},
		{"`verify` of a cluster's month takes", func(n needs) string { return duration(cell(n, month) / in.verify.value) }},
		{"`backup` of a cluster's day takes", func(n needs) string { return duration(cell(n, 24*time.Hour) / in.backup.value) }},
	}
}

// significant rounds to three digits.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	return math.Round(v/step) * step
}

// scaled writes a value in the largest unit that it fills.
func scaled(v float64, units []string) string {
	i := 0
	for ; significant(v) >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	text := fmt.Sprintf("%.4g", significant(v))
	if units[i] != "" {
		text += " " + units[i]
	}
	return text
}

func size(bytes float64) string {
	return scaled(bytes, []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"})
}

func count(n float64) string {
	switch million := significant(n / 1e6); {
	case million >= 1000:
		return grouped(int64(million)) + " million"
	case million >= 1:
		return fmt.Sprintf("%.3g million", million)
	default:
		return grouped(int64(math.Round(n)))
	}
}

func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func duration(seconds float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{48 * 3600, "days"}, {2 * 3600, "h"}, {120, "min"}} {
		if seconds >= unit.seconds {
			per := map[string]float64{"days": 24 * 3600, "h": 3600, "min": 60}[unit.name]
			return fmt.Sprintf("%.3g %s", significant(seconds/per), unit.name)
		}
	}
	return fmt.Sprintf("%.3g s", significant(seconds))
}
