package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"
)

// script draws operations, and numbers them.
type script struct {
	ops     int64
	readers int
}

var burstSizes = rapid.SampledFrom([]int{1, 1, 2, 3, 4, 8, 16, 32, 64})

// pads are sizes of events, in bytes: small ones share a group, one past a group's limit goes
// alone.
var pads = rapid.SampledFrom([]int{0, 0, 0, 10, 300, 300, 2_000, 20_000, 70_000})

func (s *script) burst(t *rapid.T) []operation {
	n := burstSizes.Draw(t, "size")
	keys := rapid.IntRange(1, max(1, min(n, 12))).Draw(t, "keys")
	space := rapid.SampledFrom([]int{3, 20, 200}).Draw(t, "of")
	hurried := rapid.IntRange(0, 3).Draw(t, "hurried") == 0
	first := rapid.IntRange(0, space-1).Draw(t, "first")
	operations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operation {
		o := operation{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Pad: pads.Draw(t, "pad"), Ends: -1}
		if hurried {
			o.Ends = rapid.IntRange(-1, n-1).Draw(t, "ends")
		}
		o.ID = "k" + strconv.Itoa((first+rapid.IntRange(0, keys-1).Draw(t, "key"))%space)
		return o
	}), n, n).Draw(t, "operations")
	for i := range operations {
		s.ops++
		operations[i].Op = s.ops
	}
	return operations
}

// settingsOf draws the settings for opening a log. The number of shards is that of its creation.
func settingsOf(t *rapid.T, shards int) settings {
	return settings{
		Shards:  shards,
		Segment: rapid.SampledFrom([]int64{0, 0, 1, 2_000, 40_000, 1 << 20}).Draw(t, "segment"),
		Memory:  rapid.SampledFrom([]int64{0, 0, 1 << 14, 1 << 17, 1 << 20}).Draw(t, "memory"),
	}
}

// TestInProcess: bursts, cut connections, callers that leave, restarts, and stores and servers that
// are closed with appends under way.
func TestInProcess(t *testing.T) {
	total := counts{n: map[string]int{}}
	logs := t.TempDir()
	checks(t, size(*rounds, 16, 100), func(t *rapid.T) {
		p := &inProcess{T: t, m: newModel(), dir: folder(t, logs)}
		p.run()
		total.fates(p.m)
	})
	t.Log(total.n)
}

// inProcess is one log and its model.
type inProcess struct {
	*rapid.T
	script
	dir       string
	shards    int
	o         *opened
	mu        sync.Mutex // of the model
	m         *model
	followers []*follower
}

func (p *inProcess) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *inProcess) run() {
	p.shards = rapid.IntRange(1, 4).Draw(p.T, "shards")
	p.open()
	steps := map[string]func(){
		"burst": p.plain, "burst again": p.plain, "cut": p.cut, "end": p.end, "restart": p.restart, "follow": p.follow, "look": p.lookReadOnly,
	}
	for range rapid.IntRange(1, 8).Draw(p.T, "steps") {
		steps[rapid.SampledFrom(sortedKeys(steps)).Draw(p.T, "step")]()
	}
	p.restart()
	p.must(p.o.close())
}

func (p *inProcess) open() {
	o, err := open(p.dir, settingsOf(p.T, p.shards), zerolog.Nop())
	p.must(err)
	p.o = o
	p.m.opened(o.store.ID())
}

func (p *inProcess) report(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m.answered(a)
}

func (p *inProcess) sighted(s sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m.saw(s)
}

func (p *inProcess) start(operations []operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m.noteCalls(operations)
}

// plain is a burst that nothing disturbs.
func (p *inProcess) plain() {
	operations := p.burst(p.T)
	p.start(operations)
	burst(p.Context(), p.o.store, operations, p.report)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.must(p.m.undisturbed(operations))
}

// cut is a burst with a connection that breaks.
func (p *inProcess) cut() {
	p.o.wire.cut(rapid.Bool().Draw(p.T, "sent"), rapid.IntRange(1, 30_000).Draw(p.T, "bytes"))
	operations := p.burst(p.T)
	p.start(operations)
	burst(p.Context(), p.o.store, operations, p.report)
	p.must(p.o.wire.whole(p.Context()))
}

// end closes the store, or its server first, after some answers of a burst, and opens the log
// again.
func (p *inProcess) end() {
	operations := p.burst(p.T)
	after := rapid.IntRange(0, len(operations)).Draw(p.T, "after")
	server := rapid.Bool().Draw(p.T, "server first")
	var once sync.Once
	var err error
	stop := func() {
		once.Do(func() {
			if server {
				err = errors.Join(p.o.server.Close(), p.o.store.Close())
			} else {
				err = errors.Join(p.o.store.Close(), p.o.server.Close())
			}
		})
	}
	p.start(operations)
	answers := make(chan answer)
	go func() {
		defer close(answers)
		burst(p.Context(), p.o.store, operations, func(a answer) { answers <- a })
	}()
	stopped := make(chan struct{})
	n := 0
	halt := func() {
		go func() { defer close(stopped); stop() }()
	}
	if after == 0 {
		halt()
	}
	for a := range answers {
		p.report(a)
		if n++; n == after {
			halt()
		}
	}
	<-stopped
	p.must(err)
	p.leave()
	p.reopen()
}

// leave ends the followers where they are.
func (p *inProcess) leave() {
	for _, f := range p.followers {
		f.cancel()
		<-f.ended
	}
	p.followers = nil
}

// restart closes the log in order, once its followers have seen everything.
func (p *inProcess) restart() {
	for _, f := range p.followers {
		p.must(f.finish(p.o.store.Appended()[f.shard]))
		<-f.ended
	}
	p.followers = nil
	p.must(p.o.close())
	p.reopen()
}

// reopen opens a closed log, and compares it with the model.
func (p *inProcess) reopen() {
	if rapid.IntRange(0, 3).Draw(p.T, "drop tips") == 0 {
		p.must(dropTips(p.dir))
	}
	p.open()
	p.check()
}

func (p *inProcess) check() *view {
	v, err := look(context.Background(), p.o.store)
	p.must(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.must(p.m.check(v))
	return v
}

// follow begins a subscription from somewhere.
func (p *inProcess) follow() {
	shard := rapid.IntRange(0, p.shards-1).Draw(p.T, "shard")
	v, err := look(context.Background(), p.o.store)
	for n := 0; err != nil && n < 100; n++ { // an append of a caller that has left may arrive between two reads
		v, err = look(context.Background(), p.o.store)
	}
	p.must(err)
	after := uint64(0)
	if events := v.Shards[shard]; len(events) > 0 {
		if i := rapid.IntRange(0, len(events)).Draw(p.T, "from"); i > 0 {
			after = events[i-1].Place.Address
		}
	}
	p.readers++
	p.mu.Lock()
	p.m.readers[p.readers] = &reader{shard: shard, after: after}
	p.mu.Unlock()
	p.followers = append(p.followers, follow(p.Context(), p.o.store, shard, after, p.readers, p.sighted))
}

// lookReadOnly closes the log, looks at it without changing it, and opens it again.
func (p *inProcess) lookReadOnly() {
	p.restart()
	v := p.check()
	p.must(p.o.close())
	c := settingsOf(p.T, p.shards)
	c.ReadOnly = true
	again, err := lookAt(p.dir, c)
	if err != nil && len(p.m.calls) == 0 {
		err = fmt.Errorf("an empty log: %w", err)
	}
	p.must(err)
	p.must(same(v, again))
	p.open()
}
