package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/client"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
)

// processors is the simulator in this process, which outlives the killed services. It records the
// calls that reach it.
type processors struct {
	*adapter.Adapter        // of the demo, past the record
	url, recorded    string // without the record, for the adapter; and with it, for the service and its operators
	sim              *simulator.Simulator
	servers          []*http.Server

	mu     sync.Mutex
	calls  []call
	inside atomic.Int64 // calls without their end
}

type call struct {
	key    domain.OperationKey
	send   bool             // the operation itself; otherwise a question about its key
	answer processor.Lookup // to a question
}

func openProcessors(ctx context.Context, dir, secret string) (_ *processors, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	p := &processors{}
	if p.sim, err = simulator.New(simulator.Config{Dir: dir, Secret: []byte(secret)}); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		handler http.Handler
		url     *string
	}{{p.sim.Handler(), &p.url}, {p.record(p.sim.Handler()), &p.recorded}} {
		url, server, err := serve(ctx, side.handler)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("simulator: %w", err), p.close())
		}
		*side.url, p.servers = url, append(p.servers, server)
	}
	if p.Adapter, err = adapter.New(p.url, nil); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *processors) close() error {
	errs := []error{p.sim.Close()} // first: it cuts the requests that it holds
	for _, server := range p.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// record returns the handler with a record of the operations and of the questions about them (D14).
func (p *processors) record(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("POST /v1/processors/{name}/operations", func(w http.ResponseWriter, r *http.Request) {
		p.inside.Add(1)
		defer p.inside.Add(-1)
		p.add(call{key: domain.OperationKey(r.Header.Get(protocol.HeaderIdempotencyKey)), send: true})
		next.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /v1/processors/{name}/operations/{key}", func(w http.ResponseWriter, r *http.Request) {
		p.inside.Add(1)
		defer p.inside.Add(-1)
		copied := &copier{ResponseWriter: w}
		asked := call{key: domain.OperationKey(r.PathValue("key"))}
		next.ServeHTTP(copied, r)
		_ = json.Unmarshal(copied.body.Bytes(), &asked.answer) // without a state it is an error answer
		p.add(asked)
	})
	return mux
}

type copier struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (c *copier) Write(text []byte) (int, error) {
	c.body.Write(text)
	return c.ResponseWriter.Write(text)
}

func (p *processors) add(c call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
}

func (p *processors) about(key domain.OperationKey) []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.calls), func(c call) bool { return c.key != key })
}

// errLate is the error of until for a result that does not come.
var errLate = errors.New("did not come")

// until calls done at short intervals until it reports true. After patience its error is errLate
// and names what.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	for late := time.Now().Add(patience); ; {
		reached, err := done()
		if reached || err != nil {
			return err
		}
		if time.Now().After(late) {
			return fmt.Errorf("%s %w within %s", what, errLate, patience)
		}
		if err := client.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
