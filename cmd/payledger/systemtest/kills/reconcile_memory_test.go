//go:build system

package kills

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/childtest"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

var archived = flag.Int("archived", 2000, "how many operations to reconcile in a stopped folder")

const (
	archivedEach   = 10 // operations of a payment
	archivedAtOnce = 64
)

// archivedFolder is a folder with payments that the simulator's books agree with, written without
// the one or the other.
type archivedFolder struct {
	store *engine.Store
	owner domain.AccountID
	at    account.Processor

	mu    sync.Mutex
	books *bufio.Writer
}

// TestReconcileArchive compares a stopped folder with many operations in a separate process, and
// prints the memory of that process. For a figure: -archived 200000.
func TestReconcileArchive(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	owner := app.Credentials.AccountID
	tip, err := eventstore.Load(context.Background(), app.Ledger.Store, eventstore.Accounts, eventstore.Accounts.Key(owner, string(owner)), eventstore.Applied)
	if err := errors.Join(err, app.Stop()); err != nil {
		t.Fatal(err)
	}
	a := archivedFolder{owner: owner}
	a.at, _ = tip.State.Processor(processor.Adyen)
	a.fill(t, o, *archived/archivedEach)
	command := childtest.Tied(exec.Command(os.Args[0], "reconcile", "--processor", "ADYEN", "--data", o.Data))
	command.Env = append(os.Environ(), apptest.AsProgram+"=1")
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	began := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	memory := peakMemory(command.Process.Pid)
	err = command.Wait()
	want := fmt.Sprintf("0 differences. Compared with ADYEN: %d payments of the ledger with %[2]d operations there, %[2]d entries", *archived/archivedEach, *archived)
	if err != nil || !strings.HasPrefix(out.String(), want) {
		t.Fatalf("%v: %s, not %s", err, out.String(), want)
	}
	t.Logf("%d operations in %s; resident at most: %s", *archived, time.Since(began).Round(time.Millisecond), <-memory)
}

// peakMemory measures the peak memory of a running process, and sends it when the process has
// ended. Unlike the result of wait it leaves out the parent's memory. Systems without /proc give no
// number.
func peakMemory(pid int) <-chan string {
	peaks := make(chan string, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for peak := "unknown"; ; <-tick.C {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found { // it is gone, or as good as gone
				peaks <- peak
				return
			}
			peak, _, _ = strings.Cut(strings.TrimSpace(after), "\n")
		}
	}()
	return peaks
}

// fill writes the log and the books.
func (a *archivedFolder) fill(t *testing.T, o options.Options, payments int) {
	t.Helper()
	l, err := ledger.Open(context.Background(), o, ledger.Create, engine.Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(o.Data, ledger.SimulatorFolder, "books.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.store, a.books = l.Store, bufio.NewWriter(file)
	numbers := make(chan int)
	var writers sync.WaitGroup
	for range archivedAtOnce {
		writers.Go(func() {
			for n := range numbers {
				if err := a.payment(n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range payments {
		numbers <- n
	}
	close(numbers)
	writers.Wait()
	if err := errors.Join(a.books.Flush(), file.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// payment writes an approved payment that was captured in parts out of band.
func (a *archivedFolder) payment(n int) error {
	id := domain.PaymentID(fmt.Sprintf("01archived%08d", n))
	key := eventstore.Payments.Key(a.owner, string(id))
	add := func(decide func(eventstore.Meta) payment.Event) error {
		meta, err := a.store.NewMeta("test", "request")
		if err != nil {
			return err
		}
		_, err = eventstore.Execute(context.Background(), a.store, eventstore.Payments, key, meta, func(payment.State) (payment.Event, error) { return decide(meta), nil })
		return err
	}
	err := add(func(meta eventstore.Meta) payment.Event {
		return payment.Created{
			At: meta.At, ID: id, Account: a.owner, Currency: "EUR", Amount: 1000, OrderID: "order",
			Route: []payment.Target{{Processor: processor.Adyen, MerchantID: a.at.MerchantID}},
		}
	})
	err = errors.Join(err, add(func(meta eventstore.Meta) payment.Event {
		return payment.Authorized{Answer: payment.Answer{At: meta.At, Request: 1, EventID: meta.EventID, TransactionID: "tx-" + string(id)}}
	}))
	now := a.store.Now()
	err = errors.Join(err, a.book(id, processor.Authorize, 1, "", now))
	for i := 2; i <= archivedEach; i++ {
		err = errors.Join(err, add(func(meta eventstore.Meta) payment.Event {
			return payment.CapturedOutOfBand{OutOfBand: payment.OutOfBand{
				At: meta.At, EventID: meta.EventID, ID: fmt.Sprint("op-", id, "-", i), Amount: 10, TransactionID: fmt.Sprint("tx-", id, "-", i), DoneAt: now,
			}}
		}), a.book(id, processor.Capture, i, "tx-"+string(id), now))
	}
	return err
}

// book writes the simulator's line for it.
func (a *archivedFolder) book(id domain.PaymentID, kind processor.Kind, i int, parent string, at time.Time) error {
	operation := map[string]any{
		"id": fmt.Sprint("op-", id, "-", i), "processor": processor.Adyen, "processorMerchantId": a.at.MerchantID, "reference": id, "operation": kind,
		"key": fmt.Sprint(id, ".1"), "amount": 1000, "currency": "EUR", "createdAt": at, "card": "visa-1",
		"answer": map[string]any{"state": "SUCCEEDED", "processorTransactionId": "tx-" + string(id), "at": at},
	}
	if kind == processor.Capture {
		operation["key"], operation["amount"], operation["parentId"] = fmt.Sprint("sim.", id, "-", i), 10, parent
		operation["answer"] = map[string]any{"state": "SUCCEEDED", "processorTransactionId": fmt.Sprint("tx-", id, "-", i), "at": at}
	}
	line, err := json.Marshal(map[string]any{"type": "accepted", "at": at, "operation": operation})
	a.mu.Lock()
	defer a.mu.Unlock()
	_, failed := a.books.Write(append(line, '\n'))
	return errors.Join(err, failed)
}
