package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// ErrClosed is the error of an append after Close.
var ErrClosed = errors.New("journal closed")

// Journal is an open file of lines. Its methods may be called from many goroutines.
type Journal struct {
	file *os.File
	wake chan struct{} // capacity 1: there is something to flush, or to end
	done chan struct{} // closed when the flusher has ended

	mu      sync.Mutex
	waiting []byte  // lines of the batch that is being collected
	spare   []byte  // the buffer of the last batch, for reuse
	batch   *Commit // what those lines wait for
	closing bool
	failed  error // the first write or fsync error; final
}

// Commit is the durability of a batch of lines.
type Commit struct {
	done chan struct{}
	err  error // set before done is closed
}

// Wait blocks until the lines are durable, or returns the error of the write or fsync. A nil Commit
// has no lines.
func (c *Commit) Wait() error {
	if c == nil {
		return nil
	}
	<-c.done
	return c.err
}

func newCommit() *Commit { return &Commit{done: make(chan struct{})} }

func settled(err error) *Commit {
	c := newCommit()
	c.err = err
	close(c.done)
	return c
}

// Append adds line, without a newline, behind all earlier ones. It does not block: the line counts
// once the commit's Wait returns nil.
func (j *Journal) Append(line []byte) *Commit {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return settled(j.failed)
	case j.closing:
		return settled(ErrClosed)
	}
	if len(j.waiting) == 0 {
		select {
		case j.wake <- struct{}{}:
		default: // the flusher has a call waiting already
		}
	}
	j.waiting = append(append(j.waiting, line...), '\n')
	return j.batch
}

func (j *Journal) run() {
	defer close(j.done)
	for range j.wake {
		for j.flush() {
		}
	}
}

func (j *Journal) flush() bool {
	j.mu.Lock()
	if len(j.waiting) == 0 {
		j.mu.Unlock()
		return false
	}
	lines, batch, err := j.waiting, j.batch, j.failed
	j.waiting, j.spare, j.batch = j.spare[:0], nil, newCommit()
	j.mu.Unlock()

	if err == nil {
		_, err = j.file.Write(lines)
	}
	if err == nil {
		err = j.file.Sync() // the commit point
	}

	j.mu.Lock()
	if err != nil && j.failed == nil {
		j.failed = fmt.Errorf("journal %s: %w", j.file.Name(), err)
	}
	j.spare = lines
	batch.err = j.failed
	j.mu.Unlock()
	close(batch.done)
	return true
}

// Err returns the error that ended writing; nil if there is none.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Close makes every appended line durable and closes the file. It is called once.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closing = true
	j.mu.Unlock()
	close(j.wake)
	<-j.done
	return errors.Join(j.Err(), j.file.Close())
}
