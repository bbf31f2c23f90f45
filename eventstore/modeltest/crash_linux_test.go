package modeltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

const livesOfLog = 4

// TestCrashes lets a child write to a log and kills it at a random sync, also while it opens the
// log. Then the folder is opened in the state after the crash, or after a power failure that lost
// unsynced writes, again and again.
func TestCrashes(t *testing.T) {
	logs := t.TempDir()
	total, crashed := &counts{n: map[string]int{}}, &counts{n: map[string]int{}}
	checks(t, (size(*crashes, 12, 60)+livesOfLog-1)/livesOfLog, func(t *rapid.T) {
		c := &crashTest{T: t, m: newModel(), logs: logs, dir: folder(t, logs), crashed: crashed}
		c.shards = rapid.IntRange(1, 4).Draw(t, "shards")
		for range livesOfLog {
			c.live()
		}
		total.fates(c.m)
	})
	t.Logf("%v; %v", crashed.n, total.n)
}

type crashTest struct {
	*rapid.T
	script
	logs, dir string
	shards    int
	m         *model
	crashed   *counts
	last      *view
}

func (c *crashTest) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// live is one run of the child, from its start to the check of its folder.
func (c *crashTest) live() {
	l, err := startLife(c.dir)
	c.must(err)
	defer l.disk.close()
	end := c.work(l)
	err = l.crash(c.m)
	if err != nil {
		c.Fatalf("%v\n%s", err, l.stderr.Bytes())
	}
	c.ruin(l, end)
}

// work lets the child run until its crash, and says when that was.
func (c *crashTest) work(l *life) string {
	bursts := rapid.IntRange(0, 4).Draw(c.T, "bursts")
	crash := rapid.IntRange(-2, bursts).Draw(c.T, "crash in") // −2 none, −1 while the log is opened, else in or after a burst
	plan := crashPlan{
		after: rapid.IntRange(0, 40).Draw(c.T, "syncs"),
		when:  crashMoment(rapid.IntRange(int(beforeSync), int(afterSync)).Draw(c.T, "moment")),
	}
	do := func(next command, phase int) bool {
		if crash == phase {
			l.disk.arm(plan)
		}
		alive, err := l.do(next, c.m)
		c.must(err)
		return alive
	}
	opening := settingsOf(c.T, c.shards)
	if !do(command{Open: &opening}, -1) {
		return "while it was opened"
	}
	for range rapid.IntRange(0, 2).Draw(c.T, "followers") {
		if !do(command{Follow: c.follower()}, -2) {
			return "before a burst"
		}
	}
	for i := range bursts {
		operations := c.burst(c.T)
		if !do(command{Burst: operations}, i) {
			return "in a burst"
		}
		if crash != i {
			c.must(c.m.undisturbed(operations))
		}
	}
	if rapid.Bool().Draw(c.T, "close") {
		if !do(command{Close: true}, bursts) {
			return "while it was closed"
		}
		return "after its close"
	}
	return "after the bursts"
}

// follower draws a subscription from somewhere.
func (c *crashTest) follower() *followShard {
	f := &followShard{Shard: rapid.IntRange(0, c.shards-1).Draw(c.T, "shard")}
	if c.last != nil && len(c.last.Shards) > f.Shard {
		events := c.last.Shards[f.Shard]
		if i := rapid.IntRange(0, len(events)).Draw(c.T, "from"); i > 0 {
			f.After = events[i-1].Place.Address
		}
	}
	c.readers++
	f.Reader = c.readers
	c.m.readers[f.Reader] = &reader{shard: f.Shard, after: f.After}
	return f
}

// ruin makes the folder after the crash, and compares copies of it with the model.
func (c *crashTest) ruin(l *life, end string) {
	how := survival(rapid.IntRange(int(allSurvives), int(someSurvives)).Draw(c.T, "survives"))
	lot := rand.New(rand.NewPCG(rapid.Uint64().Draw(c.T, "lot"), 0))
	found := folder(c.T, c.logs)
	lost, err := l.disk.ruins(found, how, lot)
	c.must(err)
	what := [...]string{"kill -9", "nothing unsynced survived", "some of the unsynced survived"}[how]
	c.crashed.add(what, 1)
	c.crashed.add(end, 1)
	c.Logf("crash %s after %d syncs, %s: lost %s", end, l.disk.syncs, what, lost)
	if err := c.inspect(found); err != nil {
		if *keep != "" {
			err = errors.Join(err, os.CopyFS(filepath.Join(*keep, filepath.Base(found)), os.DirFS(found)))
		}
		c.Fatalf("after a crash %s, %s, lost %s: %v\nfolder %s\n%s", end, what, lost, err, filepath.Base(found), l.stderr.Bytes())
	}
	c.must(os.RemoveAll(c.dir))
	c.dir = found
	if rapid.IntRange(0, 5).Draw(c.T, "drop tips") == 0 {
		c.must(dropTips(c.dir))
	}
}

// inspect opens a copy of the folder twice, and once more without its tip store.
func (c *crashTest) inspect(found string) error {
	copied := folder(c.T, c.logs)
	if err := os.CopyFS(copied, os.DirFS(found)); err != nil {
		return err
	}
	first, err := lookAt(copied, settingsOf(c.T, c.shards))
	if err != nil {
		return fmt.Errorf("the first look: %w", err)
	}
	if err := c.m.check(first); err != nil {
		return err
	}
	c.last = first
	second := settingsOf(c.T, c.shards)
	second.ReadOnly = rapid.Bool().Draw(c.T, "read only")
	again, err := lookAt(copied, second)
	if err == nil {
		err = same(first, again)
	}
	if err != nil {
		return fmt.Errorf("the second look: %w", err)
	}
	if err := dropTips(copied); err != nil {
		return err
	}
	again, err = lookAt(copied, settingsOf(c.T, c.shards))
	if err == nil {
		err = same(first, again)
	}
	if err != nil {
		return fmt.Errorf("a look without the tip store: %w", err)
	}
	return errors.Join(os.RemoveAll(copied))
}
