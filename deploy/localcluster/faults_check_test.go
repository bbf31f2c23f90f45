//go:build system

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"payledger/domain"
	"payledger/domain/childtest"
)

// findings are the results of a trial's check.
type findings struct {
	payments, recorded    int
	lost, doubled         int
	disordered, undecided int
	newer                 int    // payments with an answer that shows changes made after its own
	replicas              string // the result of verify for each server's copy
}

// entry is a change in the ledger.
type entry struct {
	revision int
	outcome  string // type of the event with the outcome; "" while there is none
}

// succeeded are the outcomes with an effect.
var succeeded = []string{"payment.authorized", "payment.captured", "payment.refunded", "payment.voided"}

// check compares the answers to the clients with the ledger, the ledger with the processors' books,
// and the servers' copies of it.
func (r *trial) check() (found findings) {
	r.t.Helper()
	if err := r.replicated(nil); err != nil {
		r.t.Error(err)
	}
	r.adopt(r.checkLists(), &found)
	r.checkPayments(&found)
	r.reconciled()
	key, dir, programs := r.c.settings.Credentials.MasterKey, r.c.dir, r.c.programs
	servers := r.c.nats
	if err := r.close(); err != nil {
		r.t.Error(err)
	}
	var copies []string
	for _, n := range servers {
		folder := r.t.TempDir()
		if err := os.Symlink(filepath.Join(dir, n.name, "store"), filepath.Join(folder, "events")); err != nil {
			r.t.Fatal(err)
		}
		verify := childtest.Tied(exec.Command(filepath.Join(programs, "payledger"), "verify", "--data", folder))
		verify.Env = append(os.Environ(), "PAYLEDGER_MASTER_KEY="+key)
		text, err := verify.CombinedOutput()
		if err != nil {
			r.t.Errorf("verify of the copy of %s: %v: %s", n.name, err, text)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		found.replicas += fmt.Sprintf("%s: %s\n", n.name, line)
		line, _, _ = strings.Cut(line, " (") // the time that it took
		copies = append(copies, line)
	}
	if copies = slices.Compact(copies); len(copies) != 1 {
		r.t.Errorf("the copies differ: %q", copies)
	}
	return found
}

// checkPayments checks the payments, several at once.
func (r *trial) checkPayments(found *findings) {
	r.t.Helper()
	var checking sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan struct{}, 8)
	for _, p := range r.load.payments {
		turns <- struct{}{}
		checking.Go(func() {
			defer func() { <-turns }()
			var one findings
			r.checkPayment(p, &one)
			mu.Lock()
			defer mu.Unlock()
			found.add(one)
		})
	}
	checking.Wait()
}

func (f *findings) add(o findings) {
	f.payments += o.payments
	f.recorded += o.recorded
	f.lost += o.lost
	f.doubled += o.doubled
	f.disordered += o.disordered
	f.undecided += o.undecided
	f.newer += o.newer
}

// adopt finds the creation of each listed payment that no client knows: its answer was lost.
// checkPayment then compares the two.
func (r *trial) adopt(listed map[string]bool, found *findings) {
	r.t.Helper()
	creations := map[string]*paid{}
	for _, p := range r.load.payments {
		creations[r.hash(p.create)] = p
	}
	for id := range listed {
		if r.load.known[id] != nil {
			continue
		}
		var creation *paid
		for key := range r.history(id) {
			creation = cmp.Or(creation, creations[key])
		}
		switch {
		case creation == nil:
			r.t.Errorf("no client created %s", id)
		case creation.id != "":
			found.doubled++
			r.t.Errorf("%+v created %s and %s", *creation.create, creation.id, id)
		default:
			creation.id = id
		}
	}
}

// hash returns the idempotency key of a call as the ledger has it.
func (r *trial) hash(c *call) string {
	return domain.KeyHash(domain.AccountID(r.load.account), c.key)
}

// history reads the changes of a payment from the ledger, by the hash of their idempotency keys,
// when every change has its outcome.
func (r *trial) history(id string) (changes map[string][]entry) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*recoverLimit)
	defer cancel()
	err := every(ctx, 200*time.Millisecond, func() error {
		status, text, err := r.load.send(0, http.MethodGet, "/payments/"+id+"/events", nil, "")
		if err != nil || status != http.StatusOK {
			return errWait
		}
		var list struct {
			Data []struct {
				Revision int
				Type     string
				Event    struct {
					KeyHash string
					Request int
				}
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return errWait
		}
		changes = map[string][]entry{}
		outcomes := map[int]string{}
		for _, e := range list.Data {
			if outcomes[e.Revision] != "" {
				return fmt.Errorf("revision %d of %s is there twice", e.Revision, id)
			}
			if e.Event.Request > 0 && !strings.HasSuffix(e.Type, "_requested") {
				outcomes[e.Event.Request] = e.Type
			}
		}
		for _, e := range list.Data {
			if e.Event.KeyHash == "" {
				continue
			}
			outcome := outcomes[e.Revision]
			switch {
			case strings.HasSuffix(e.Type, "_refused"):
				outcome = e.Type
			case outcome == "":
				return errWait
			}
			changes[e.Event.KeyHash] = append(changes[e.Event.KeyHash], entry{e.Revision, outcome})
		}
		return nil
	})
	if err != nil {
		r.t.Errorf("the events of %s: %v; %v", id, err, changes)
	}
	return changes
}

// checkPayment checks one payment: every acknowledged change is in the ledger once, nothing else is
// there, and the answers fit one order of the requests.
func (r *trial) checkPayment(p *paid, found *findings) {
	r.t.Helper()
	if p.id == "" {
		if p.create.fate != unknown && p.create.fate != nothing {
			r.t.Errorf("a payment without an id: %+v", *p.create)
		}
		return
	}
	found.payments++
	for node := range r.c.apis { // every node shows the same at the end
		k := &call{client: clients + node, kind: "get"}
		ctx, cancel := context.WithTimeout(context.Background(), recoverLimit)
		err := every(ctx, 200*time.Millisecond, func() error {
			if _, err := (&caller{l: r.load, node: node}).attempt(k, http.MethodGet, "/payments/"+p.id, ""); err != nil || k.fate != done {
				return errWait
			}
			return nil
		})
		cancel()
		if err != nil {
			r.t.Errorf("the last read of %s: %+v %v", p.id, *k, err)
			continue
		}
		p.calls = append(p.calls, k)
	}
	changes := r.history(p.id)
	known := map[string]bool{}
	var operations []porcupine.Operation
	for _, c := range append([]*call{p.create}, p.calls...) {
		there := changes[r.hash(c)]
		known[r.hash(c)] = true
		if c.key != "" {
			found.recorded += len(there)
			r.checkOnce(p, c, there, found)
		}
		if o, use := operation(c, there); use {
			operations = append(operations, o)
		}
	}
	for key, there := range changes {
		if !known[key] {
			r.t.Errorf("%s has %v under a key that no client used", p.id, there)
		}
	}
	if there := changes[r.hash(p.create)]; len(there) > 0 && there[0].outcome != "payment.authorized" {
		return // no order of other requests
	}
	switch result := ordered(operations); result {
	case porcupine.Ok:
	case newer:
		found.newer++
	case porcupine.Unknown:
		found.undecided++
	default:
		for _, o := range operations {
			r.t.Logf("%s: %d ms to %d ms: %s", p.id, o.Call/1e6, o.Return/1e6, paymentModel.DescribeOperation(o.Input, o.Output))
		}
		found.disordered++
		slices.SortFunc(operations, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, o := range operations {
			r.say("%12d–%12d %s", o.Call/1e6, o.Return/1e6, paymentModel.DescribeOperation(o.Input, o.Output))
		}
		r.t.Errorf("%s: the answers fit no order of the requests", p.id)
		r.say("%s: the answers fit no order of the requests", p.id)
	}
}

// checkOnce compares what a client knows about a change with the ledger.
func (r *trial) checkOnce(p *paid, c *call, there []entry, found *findings) {
	r.t.Helper()
	switch {
	case len(there) > 1:
		found.doubled++
		r.t.Errorf("%s: %+v is in the ledger twice: %v", p.id, *c, there)
	case len(there) == 0 && (c.fate == done || c.fate == repeated || c.fate == refused && c.reason != "InvalidPaymentStatus"):
		found.lost++
		r.t.Errorf("%s: %+v is lost", p.id, *c)
	case len(there) == 1 && c.fate == nothing:
		r.t.Errorf("%s: the answer to %+v said that nothing was recorded: %v", p.id, *c, there)
	}
}

// operation returns a call as an operation of the model. It leaves out a call without an effect and
// without an answer.
func operation(c *call, there []entry) (o porcupine.Operation, use bool) {
	o = porcupine.Operation{ClientId: c.client, Input: c, Call: int64(c.from), Output: c, Return: int64(c.to)}
	effect := len(there) == 1 && slices.Contains(succeeded, there[0].outcome)
	switch {
	case c.kind == "get" || c.kind == "list":
		return o, c.fate == done
	case c.kind == "create" && c.fate == done && c.status != "PENDING":
		return o, effect
	case c.fate == refused:
		return o, true
	case c.fate == done && !c.late && c.kind != "create":
		if !effect { // the processor refused it: the answer has the payment as it is
			read := *c
			read.kind, read.key = "get", ""
			o.Input, o.Output = &read, &read
		}
		return o, true
	}
	late := *c // it took effect after the first attempt began, perhaps after the answer
	late.late = true
	o.Call, o.Return, o.Input, o.Output = int64(c.first), math.MaxInt64, &late, &late
	return o, effect
}

// checkLists checks that every API node lists every payment, and returns all that they list.
func (r *trial) checkLists() (all map[string]bool) {
	r.t.Helper()
	all = map[string]bool{}
	for node := range r.c.apis {
		ctx, cancel := context.WithTimeout(context.Background(), recoverLimit)
		missing := 0
		err := every(ctx, 200*time.Millisecond, func() error {
			listed := map[string]bool{}
			for path, more := "/payments?limit=100", true; more; {
				status, text, err := r.load.send(node, http.MethodGet, path, nil, "")
				var page struct {
					Data       []answer
					NextCursor string
				}
				if err != nil || status != http.StatusOK || json.Unmarshal(text, &page) != nil {
					return errWait
				}
				for _, one := range page.Data {
					listed[one.ID] = true
				}
				path, more = "/payments?limit=100&cursor="+page.NextCursor, page.NextCursor != ""
			}
			missing = 0
			for _, p := range r.load.payments {
				if p.id != "" && !listed[p.id] {
					missing++
				}
			}
			if missing > 0 {
				return errWait
			}
			maps.Copy(all, listed)
			return nil
		})
		cancel()
		if err != nil {
			r.t.Errorf("API node %d does not list %d payments: %v", node+1, missing, err)
		}
	}
	return all
}

// reconciled compares the ledger with the books of every processor.
func (r *trial) reconciled() {
	r.t.Helper()
	for _, name := range []string{"ADYEN", "BRAINTREE", "CHECKOUT", "PAYPAL", "STRIPE", "WORLDPAY"} {
		reconcile := childtest.Tied(exec.Command(filepath.Join(r.c.programs, "payledger"), "reconcile", "--processor", name, "--url", r.c.apis[0].url, "--json"))
		reconcile.Env = append(os.Environ(), "PAYLEDGER_API_KEY="+r.load.key)
		text, err := reconcile.CombinedOutput()
		var sheet struct {
			Differences []any
			Compared    struct{ Open int }
		}
		if err == nil {
			err = json.Unmarshal(text, &sheet)
		}
		if err != nil || len(sheet.Differences) > 0 || sheet.Compared.Open > 0 {
			r.t.Errorf("reconcile with %s: %v: %s", name, err, text)
		}
		r.say("reconcile with %s: %s", name, strings.Join(strings.Fields(string(text)), " "))
	}
}
