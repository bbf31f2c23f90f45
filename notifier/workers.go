package notifier

import (
	"sync"
	"sync/atomic"
)

// maxIdle is the number of goroutines that wait for a job.
const maxIdle = 128

// workers runs jobs on goroutines that it reuses. A goroutine that has made an attempt has the stack that attempts need; the
// stack of a new one grows by doubling.
type workers struct {
	jobs    chan func()
	closed  chan struct{}
	idle    atomic.Int64
	running sync.WaitGroup
}

func newWorkers() *workers { return &workers{jobs: make(chan func()), closed: make(chan struct{})} }

// start runs a job on another goroutine. It does not wait for one.
func (w *workers) start(job func()) {
	select {
	case w.jobs <- job:
	default:
		w.running.Go(func() { w.work(job) })
	}
}

// work does a job, and further ones, unless enough goroutines wait for one.
func (w *workers) work(job func()) {
	for {
		job()
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case job = <-w.jobs:
			w.idle.Add(-1)
		case <-w.closed:
			w.idle.Add(-1)
			return
		}
	}
}

// close waits until all jobs are done and their goroutines have ended. A job that is started later gets a goroutine of its own.
func (w *workers) close() {
	close(w.closed)
	w.running.Wait()
}
