package bench

import (
	"bufio"
	"bytes"
	"net"
	"sync"
	"time"
)

// receiver takes webhooks and notes when each payment's first one arrived.
type receiver struct {
	listener net.Listener
	mu       sync.Mutex
	came     map[string]time.Time // by the payment's id
}

func listen() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: listener, came: map[string]time.Time{}}
	go r.accept()
	return r, nil
}

func (r *receiver) url() string { return "http://" + r.listener.Addr().String() + "/webhooks" }

func (r *receiver) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.serve(conn)
	}
}

// serve answers the webhooks of one connection.
func (r *receiver) serve(conn net.Conn) {
	defer conn.Close()
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
		if id := idIn(body, `"payment":`); id != "" {
			r.note(id)
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

// arrived returns when the payment's webhook came.
func (r *receiver) arrived(id string) (at time.Time, came bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, came = r.came[id]
	return at, came
}

// idIn returns the payment's id in a webhook or an answer: the first field "id" behind a text.
func idIn(body []byte, behind string) string {
	_, rest, _ := bytes.Cut(body, []byte(behind))
	_, rest, _ = bytes.Cut(rest, []byte(`"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}
