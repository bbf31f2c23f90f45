package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// measurement adds a column of figures to a table.
type measurement struct {
	flags     *measureFlags
	cluster   *cluster
	yardstick *yardstick
	table     *table
	out       io.Writer // messages for people
	runs      int       // of payledger bench
}

// report is the part of the answer of `payledger bench --json` that the table needs.
type report struct {
	Errors     int
	PerSecond  float64
	P99Ms      float64
	ProcessCPU map[string]float64 `json:"processCpuMsPerRequest"`
	Yardsticks struct {
		OtherService struct {
			PerSecond, ServerCPUMsPerRequest float64
			Errors                           int
		}
	}
}

// run measures the figures, in the order of the table.
func (m *measurement) run(ctx context.Context) error {
	middle := m.flags.middle()
	var usual report
	var failed error
	for _, connections := range m.flags.Connections {
		r, err := m.bench(ctx, "authorize", connections, true)
		other := r.Yardsticks.OtherService
		m.table.add(figure{
			row: fmt.Sprintf("create ÷ yardstick, %d connections", connections), unit: "%.2f", value: share(r.PerSecond, other.PerSecond),
			detail: fmt.Sprintf("%.0f ÷ %.0f/s", r.PerSecond, other.PerSecond), err: err,
		})
		if connections == middle {
			usual, failed = r, err
		}
		took, err := fsyncs(m.cluster.dir)
		if err != nil {
			return err
		}
		m.table.fsyncs = append(m.table.fsyncs, took)
	}
	of := fmt.Sprintf(" a payment, %d connections", middle)
	m.table.add(figure{row: "p99 of a create, " + fmt.Sprintf("%d connections", middle), unit: "%.0f ms", value: usual.P99Ms, err: failed})
	m.table.add(figure{row: "CPU of all API nodes" + of, unit: "%.2f ms", value: usual.ProcessCPU[apiProcesses], err: failed})
	m.table.add(figure{row: "CPU of the three NATS servers" + of, unit: "%.2f ms", value: usual.ProcessCPU[natsProcesses], err: failed})
	m.table.add(figure{row: "CPU of the yardstick and PostgreSQL" + of, unit: "%.2f ms", value: usual.Yardsticks.OtherService.ServerCPUMsPerRequest, err: failed})
	r, err := m.bench(ctx, "read", middle, false)
	m.table.add(figure{row: fmt.Sprintf("GET /payments/{id}, %d connections", middle), unit: "%.0f/s", value: r.PerSecond, err: err})
	groups, err := m.groups(ctx)
	m.table.add(figure{row: "groups of a create and its capture, all shards", unit: "%.1f", value: groups, err: err})
	if r, err = m.bench(ctx, "webhooks", middle, false); err == nil && r.ProcessCPU[apiProcesses] == 0 {
		err = errors.New("no CPU time was counted")
	}
	m.table.add(figure{
		row: fmt.Sprintf("CPU of all API nodes a create with one webhook, %d connections", middle), unit: "%.2f ms", value: r.ProcessCPU[apiProcesses],
		detail: fmt.Sprintf("%.0f/s", r.PerSecond), err: err,
	})
	log, others, err := m.idle(ctx)
	m.table.add(figure{row: "messages of the log of an idle cluster", unit: "%.1f/s", value: log, zero: true, err: err})
	m.table.add(figure{row: "messages of its other streams (records of the nodes)", unit: "%.1f/s", value: others, zero: true, err: err})
	return ctx.Err()
}

// fsyncs returns the median time of an fsync of a small write in a folder, in milliseconds.
func fsyncs(dir string) (ms float64, err error) {
	const writes, size = 50, 2300 // bytes of an event before compression
	name := filepath.Join(dir, "fsyncs")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(name)) }()
	took := make([]float64, writes)
	for i := range took {
		began := time.Now()
		if _, err := file.Write(make([]byte, size)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began)) / float64(time.Millisecond)
	}
	return median(took), nil
}

func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// The names of processes in reports.
const (
	apiProcesses  = "api"
	natsProcesses = "nats"
)

// bench runs `payledger bench` against all API nodes, and in turn against the yardstick. A failed
// request is an error; the report has the other requests.
func (m *measurement) bench(ctx context.Context, scenario string, connections int, beside bool) (r report, err error) {
	c := m.cluster
	args := []string{
		"bench", "--json", "--scenario", scenario, "--concurrency", fmt.Sprint(connections), "--duration", m.flags.Duration.String(),
		"--rounds", fmt.Sprint(m.flags.Rounds), "--without-ceilings", "--scratch", c.dir, "--url", c.apis[0].url, "--admin-url", c.apis[0].admin,
	}
	for i, a := range c.apis {
		args = append(args, "--processes", fmt.Sprintf("%s=%d", apiProcesses, a.child.pid()))
		if i > 0 {
			args = append(args, "--peers", a.url)
		}
	}
	for _, n := range c.nats {
		args = append(args, "--processes", fmt.Sprintf("%s=%d", natsProcesses, n.child.pid()))
	}
	if beside {
		args = append(args, "--yardstick", m.yardstick.url)
	}
	m.runs++
	began := time.Now()
	defer func() {
		fmt.Fprintf(m.out, "measure-cluster: %s, %d connections: %.0f/s, in %s\n", scenario, connections, r.PerSecond, time.Since(began).Round(time.Second))
	}()
	log := c.logOf(fmt.Sprintf("bench-%d", m.runs))
	b, err := spawn(filepath.Join(c.programs, "payledger"), args, append(c.environment(), "PAYLEDGER_API_KEY="+c.settings.Credentials.APIKey), log)
	if err != nil {
		return r, err
	}
	var line []byte
	select {
	case line = <-b.lines:
	case <-ctx.Done():
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		return r, errors.Join(ctx.Err(), b.stop(stopping))
	}
	<-b.ended
	said, _ := os.ReadFile(log) // it may be missing
	switch {
	case b.err != nil:
		return r, fmt.Errorf("payledger bench: %w: %s", b.err, bytes.TrimSpace(said))
	case json.Unmarshal(line, &r) != nil:
		return r, fmt.Errorf("payledger bench printed %q", line)
	case r.Errors > 0 || r.Yardsticks.OtherService.Errors > 0:
		return r, errors.New(string(bytes.TrimSpace(said)))
	}
	return r, nil
}

// pairs is the number of payments from which the groups of a create and its capture are counted.
const pairs = 20

// groups returns the number of messages of the log for a create and its capture, one after the
// other, through the first node.
func (m *measurement) groups(ctx context.Context) (float64, error) {
	shop := merchant{m.cluster.apis[0].url, m.cluster.settings.Credentials.APIKey}
	token, err := shop.vault(ctx)
	if err != nil {
		return 0, err
	}
	before := m.cluster.observe(ctx)
	for n := range pairs {
		if err := shop.payAndCapture(ctx, token, n); err != nil {
			return 0, err
		}
	}
	return float64(m.cluster.observe(ctx).groups-before.groups) / pairs, nil
}

// Limits of the wait for the end of a cluster's work after its last request: until the log has had
// no message for quietTime.
const (
	quietTime   = 2 * time.Second
	settleLimit = 30 * time.Second
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// idle returns the messages a second of a cluster without requests: of the log, and of its other
// streams.
func (m *measurement) idle(ctx context.Context) (log, others float64, err error) {
	groups, since := m.cluster.observe(ctx).groups, time.Now()
	for end := time.Now().Add(settleLimit); time.Since(since) < quietTime && time.Now().Before(end) && ctx.Err() == nil; {
		pause(ctx, quietTime/4)
		if now := m.cluster.observe(ctx).groups; now != groups {
			groups, since = now, time.Now()
		}
	}
	before, began := m.cluster.observe(ctx), time.Now()
	pause(ctx, m.flags.Idle)
	after, seconds := m.cluster.observe(ctx), time.Since(began).Seconds()
	if before.streams == 0 || after.streams != before.streams {
		return 0, 0, fmt.Errorf("the NATS servers showed %d streams, and %d later", before.streams, after.streams)
	}
	return float64(after.groups-before.groups) / seconds, float64(after.others-before.others) / seconds, ctx.Err()
}

// merchant makes single requests to an API node.
type merchant struct{ url, key string }

func (s merchant) call(ctx context.Context, path string, header map[string]string, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-API-KEY", s.key)
	request.Header.Set("X-API-VERSION", "2.4")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s answered %d", path, answer.StatusCode)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// vault returns a token that pays many times.
func (s merchant) vault(ctx context.Context) (token string, err error) {
	var session struct{ ClientToken string }
	if err := s.call(ctx, "/client-session", nil, `{"orderId":"vault","currencyCode":"EUR","amount":2500,"customerId":"measured"}`, &session); err != nil {
		return "", err
	}
	var instrument struct{ Token string }
	body := fmt.Sprintf(`{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"%d",`+
		`"cardholderName":"Ada Lovelace"},"tokenType":"MULTI_USE","paymentFlow":"VAULT"}`, time.Now().Year()+3)
	err = s.call(ctx, "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, body, &instrument)
	return instrument.Token, err
}

func (s merchant) payAndCapture(ctx context.Context, token string, n int) error {
	var payment struct{ ID, Status string }
	body := fmt.Sprintf(`{"paymentMethodToken":%q,"amount":2500,"currencyCode":"EUR","orderId":"captured-%d","customerId":"measured"}`, token, n)
	if err := s.call(ctx, "/payments", map[string]string{"X-Idempotency-Key": fmt.Sprintf("captured-%d", n)}, body, &payment); err != nil {
		return err
	}
	if err := s.call(ctx, "/payments/"+payment.ID+"/capture", nil, "", &payment); err != nil {
		return err
	}
	if payment.Status != "SETTLED" && payment.Status != "SETTLING" {
		return fmt.Errorf("a captured payment is %s", payment.Status)
	}
	return nil
}
