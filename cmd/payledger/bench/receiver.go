package bench

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

// receiver takes webhooks and notes when each payment's first one arrived.
type receiver struct {
	listener net.Listener
	end      context.CancelFunc // closes the connections
	running  sync.WaitGroup
	mu       sync.Mutex
	came     map[string]time.Time // by the payment's id
}

func listen(ctx context.Context) (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	open, end := context.WithCancel(context.WithoutCancel(ctx))
	r := &receiver{listener: listener, end: end, came: map[string]time.Time{}}
	r.running.Go(func() { r.accept(open) })
	return r, nil
}

func (r *receiver) url() string { return "http://" + r.listener.Addr().String() + "/webhooks" }

func (r *receiver) close() {
	r.listener.Close()
	r.end()
	r.running.Wait()
}

func (r *receiver) accept(open context.Context) {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		unbind := context.AfterFunc(open, func() { conn.Close() })
		r.running.Go(func() {
			defer conn.Close()
			defer unbind()
			r.serve(conn)
		})
	}
}

func (r *receiver) serve(conn net.Conn) {
	in := bufio.NewReaderSize(conn, 16<<10)
	var body []byte
	for {
		_, length, err := readHead(in)
		if err != nil {
			return
		}
		if body, err = readBody(in, body, length); err != nil {
			return
		}
		if _, payment, _ := bytes.Cut(body, []byte(`"payment":`)); len(payment) > 0 {
			r.note(textOf(payment, "id"))
		}
		if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); err != nil {
			return
		}
	}
}

func (r *receiver) note(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.came[id]; !known {
		r.came[id] = time.Now()
	}
}

// take returns the webhooks that arrived since the last call.
func (r *receiver) take() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	came := r.came
	r.came = map[string]time.Time{}
	return came
}
