package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
)

// Config is what a run copies, and where to.
type Config struct {
	Source *Source
	Out    string // folder of the events
	Keys   string // folder of the keys
	Now    func() time.Time
	// Progress, if set, gets the number of copied events, and the number of events to copy; 0 if it
	// is unknown.
	Progress func(done, of uint64)

	stepped func(step string) error // for tests that end a run after a step
}

// Result describes a complete run.
type Result struct {
	Number     uint64
	Events     uint64 // of the log, up to the ends
	New        uint64 // events that this run copied
	Files      int    // new files
	Bytes      int64  // of the new files
	KeyBytes   int64  // of the file of keys
	Adopted    int    // files of an interrupted run that this run took over
	Checkpoint uint64 // the newest one
	Time       time.Time
}

type run struct {
	Config
	chain    *Chain
	manifest *Manifest
	left     map[string]Header // files of an interrupted run, by name
	result   Result
	of       uint64
}

// maxAttempts is how often a run begins again because the server dropped old deliveries meanwhile.
const maxAttempts = 5

// Run makes a back-up, or continues the one in the folder.
func Run(ctx context.Context, c Config) (result Result, err error) {
	outer, err := lock(c.Out)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, outer.Unlock()) }()
	keys, err := lock(c.Keys)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, keys.Unlock()) }()
	for attempt := 1; ; attempt++ {
		r := &run{Config: c}
		if err = r.run(ctx); err == nil {
			return r.result, nil
		}
		if attempt == maxAttempts || errors.Is(err, remote.ErrBusy) || errors.Is(err, fault.ErrNoMajority) || !r.dropped(ctx) {
			return result, err
		}
	}
}

// dropped reports whether the server has dropped a segment of deliveries since the cut. Its files
// are then missing.
func (r *run) dropped(ctx context.Context) bool {
	if r.Source.now == nil || ctx.Err() != nil {
		return false
	}
	cut, err := r.Source.now(ctx)
	return err == nil && cut.Dropped > r.Source.cut.Dropped
}

func (r *run) run(ctx context.Context) error {
	var err error
	if r.chain, err = ReadChain(r.Out); err == nil {
		err = r.chain.Check()
	}
	if err == nil {
		err = r.Source.begin(ctx)
	}
	if err == nil {
		err = r.begin()
	}
	if err != nil {
		return err
	}
	for _, shard := range streams.All(r.Source.shards) {
		if err := r.copyShard(ctx, shard); err != nil {
			return err
		}
	}
	if err := r.copyKeys(ctx); err != nil {
		return err
	}
	if err := r.manifest.write(r.Out); err != nil { // the run is complete
		return err
	}
	r.result.Number, r.result.Events, r.result.Checkpoint, r.result.Time = r.manifest.Number, r.manifest.Events, r.manifest.Checkpoint, r.manifest.Time
	r.result.New = r.manifest.Events
	if before := r.chain.Newest(); before != nil {
		r.result.New -= before.Events
	}
	if err := r.step("manifest"); err != nil {
		return err
	}
	if err := dropKeys(r.Keys, r.manifest.Number); err != nil {
		return err
	}
	if err := r.step("old keys"); err != nil {
		return err
	}
	return r.prune()
}

func (r *run) begin() error {
	before := r.chain.Newest()
	newest, err := newestKeys(r.Keys)
	if err != nil {
		return err
	}
	number, previous := uint64(0), ""
	if before != nil {
		number, previous, r.of = before.Number, before.digest, before.Events
		if before.Log != r.Source.log {
			return fmt.Errorf("%w: %s is the back-up of log %s, and this is log %s; name another folder with --out", ErrOther, r.Out, before.Log, r.Source.log)
		}
	}
	if err := r.checkKeys(newest); err != nil {
		return err
	}
	if r.of = max(r.Source.cut.Events, r.of) - r.of; r.Source.now == nil {
		r.of = 0
	}
	r.manifest = &Manifest{
		Format: manifestFormat, Number: max(number, newest) + 1, Time: r.Now().UTC().Truncate(time.Second), Previous: previous,
		Log: r.Source.log, Shards: r.Source.shards,
	}
	return r.leftover()
}

// checkKeys refuses a folder with the keys of another log: they would be destroyed.
func (r *run) checkKeys(newest uint64) error {
	if newest == 0 {
		return nil
	}
	path := filepath.Join(r.Keys, numbered(newest, keysEnding))
	h, err := readHeader(path)
	if err != nil {
		return fmt.Errorf("%w; move the file away, and repeat the command", err)
	}
	if h.Log != r.Source.log {
		return fmt.Errorf("%w: %s has the keys of log %s, and this is log %s; name another folder with --keys-out", ErrOther, r.Keys, h.Log, r.Source.log)
	}
	return nil
}

func readHeader(path string) (h Header, err error) {
	_, err = Read(path, func(found Header) error { h = found; return errHeader }, nil)
	if errors.Is(err, errHeader) {
		err = nil
	}
	return h, err
}

var errHeader = errors.New("backup: only the header is wanted")

func (r *run) added(f File) {
	r.manifest.Files = append(r.manifest.Files, f)
	r.result.Files++
	r.result.Bytes += f.Bytes
}

func (r *run) progressed(events uint64) {
	r.result.New += events
	if r.Progress != nil {
		r.Progress(r.result.New, r.of)
	}
}

func (r *run) step(name string) error {
	if r.stepped == nil {
		return nil
	}
	return r.stepped(name)
}

// prune removes the files of streams that the log has dropped. The newest manifest does not list
// them.
func (r *run) prune() error {
	for _, m := range append(slices.Clone(r.chain.Manifests), r.manifest) {
		for _, f := range m.Files {
			if !slices.Contains(r.manifest.Streams, f.Stream) {
				if err := removeFile(filepath.Join(r.Out, f.Name)); err != nil {
					return err
				}
			}
		}
	}
	for name := range r.left {
		if err := removeFile(filepath.Join(r.Out, name)); err != nil {
			return err
		}
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return writeError(err)
	}
	return nil
}
