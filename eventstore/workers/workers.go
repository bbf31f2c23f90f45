package workers

import (
	"sync"
	"sync/atomic"
)

const maxIdle = 128 // the number of goroutines that wait for a job

// Workers are the goroutines. All methods may be called from many goroutines.
type Workers struct {
	jobs    chan func()
	closed  chan struct{}
	close   func()
	idle    atomic.Int64 // goroutines that wait for a job
	running sync.WaitGroup
}

// New returns workers. Close ends them.
func New() *Workers {
	closed := make(chan struct{})
	return &Workers{jobs: make(chan func()), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// Start runs a job on another goroutine. Start never blocks.
func (w *Workers) Start(job func()) {
	select {
	case w.jobs <- job:
	default:
		w.running.Go(func() { w.work(job) })
	}
}

// work does a job, and further ones, unless enough goroutines wait for one.
func (w *Workers) work(job func()) {
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

// Close waits until all jobs are done and their goroutines have ended. The caller must start no job
// at the same time; a job that is started later gets a goroutine of its own.
func (w *Workers) Close() {
	w.close()
	w.running.Wait()
}
