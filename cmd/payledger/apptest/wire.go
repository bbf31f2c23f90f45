package apptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Wire is a merchant's persistent connection with almost no cost, as load generators have: it
// writes requests as bytes, and reads only the status and the length of an answer.
type Wire struct {
	Conn   net.Conn
	reader *bufio.Reader
	head   string // of every request, behind the path
	buffer []byte
}

// DialWire opens a connection to the API.
func DialWire(url, key string) (*Wire, error) {
	address := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Wire{Conn: conn, reader: bufio.NewReader(conn), head: " HTTP/1.1\r\nHost: " + address +
		"\r\nX-API-KEY: " + key + "\r\nX-API-VERSION: 2.4\r\nContent-Type: application/json\r\n"}, nil
}

// Pay creates a payment and returns the status of the answer.
func (w *Wire) Pay(token, key string) (status int, err error) {
	return w.Post("/payments", key, `{"paymentMethodToken":"`+token+`"}`)
}

// Post sends a request, with an idempotency key unless it is empty, and returns the status of the
// answer.
func (w *Wire) Post(path, key, body string) (status int, err error) {
	w.buffer = fmt.Appendf(w.buffer[:0], "POST %s%s", path, w.head)
	if key != "" {
		w.buffer = fmt.Appendf(w.buffer, "X-Idempotency-Key: %s\r\n", key)
	}
	w.buffer = fmt.Appendf(w.buffer, "Content-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := w.Conn.Write(w.buffer); err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch name, value, _ := strings.Cut(text, ": "); {
		case status == 0:
			if status, err = strconv.Atoi(text[len("HTTP/1.1 "):][:3]); err != nil {
				return 0, err
			}
		case text == "":
			if length < 0 {
				return 0, errors.New("an answer without a length")
			}
			_, err := io.CopyN(io.Discard, w.reader, int64(length))
			return status, err
		case name == "Content-Length":
			if length, err = strconv.Atoi(value); err != nil {
				return 0, err
			}
		}
	}
}

// CPUTime returns the CPU time of the process so far.
func CPUTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Rest waits for a time, or until ctx ends.
func Rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Probes requests url again and again, each time over a new connection, until ctx ends. It returns
// the time of each request, and an error for each without an answer of status 200.
func Probes(ctx context.Context, url string, every time.Duration) (took []time.Duration, failed []error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		began := time.Now()
		a, err := client.Get(url)
		if err == nil {
			a.Body.Close()
			if a.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s answered %d", url, a.StatusCode)
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
		took = append(took, time.Since(began))
		Rest(ctx, every)
	}
	slices.Sort(took)
	return took, failed
}

// Probed is the output of a process of probes.
type Probed struct {
	Took   []time.Duration
	Failed []string
}

// probe is the process of probesBeside.
func probe(url string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, in) // until the test closes it
		cancel()
	}()
	took, failed := Probes(ctx, url, 50*time.Millisecond)
	result := Probed{Took: took}
	for _, err := range failed {
		result.Failed = append(result.Failed, err.Error())
	}
	return json.NewEncoder(out).Encode(result)
}

// Memory returns a figure of the process in MiB, as the system reports it.
func (p *Process) Memory(name string) float64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), name)
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		p.t.Fatal(err)
	}
	return kib / 1024
}

// clockTick is the unit of processor times in /proc.
const clockTick = 10 * time.Millisecond

// CPU returns the processor time that the process has used.
func (p *Process) CPU() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the process's name may have spaces
	fields := strings.Fields(after)                // the times of user and system are fields 14 and 15 of the whole line
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		p.t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		p.t.Fatal(err)
	}
	return time.Duration(user+system) * clockTick
}

// The sizes of the floods.
var (
	FloodConnections = flag.Int("flood-connections", 2000, "how many connections BenchmarkFlood creates payments over")
	FloodTime        = flag.Duration("flood-time", 10*time.Second, "how long each part of BenchmarkFlood takes")
	FloodPayments    = flag.Int("flood-payments", 0, "how many payments the log has before BenchmarkFlood")
	floodFiles       = flag.Int("flood-files", 0, "how many files the service may have open; 0: as the test")
	FloodPause       = flag.Duration("flood-pause", 0, "how long a caller waits that was answered 503")
)
