package web

import (
	"net/http"
	"sync/atomic"
)

// Door is a handler that forwards to another handler, which Open replaces while the server listens.
type Door struct {
	inside atomic.Pointer[http.Handler]
}

// NewDoor returns a Door that forwards to h.
func NewDoor(h http.Handler) *Door {
	d := &Door{}
	d.Open(h)
	return d
}

// Open makes h serve later requests.
func (d *Door) Open(h http.Handler) { d.inside.Store(&h) }

func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*d.inside.Load()).ServeHTTP(w, r) }
