package archive

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// Running is a log that a store of this process uses.
type Running struct {
	Dial        func() (*nats.Conn, error) // to the server
	Dir         string                     // of the tip store, for faults
	Tips        *tipstore.Store
	Checkpoints uint64 // the group of the newest checkpoint whose events Tips has
	// Known reports the damage that the store knows.
	Known func(Damaged) error
	// Inspect checks the server's files, of one shard or with format.NoShard of all streams, and
	// reports each fault; nil: the server's messages of SECRETS are checked.
	Inspect func(ctx context.Context, shard int, damaged Damaged) error
	// Look returns the damage with which the server must not read messages of a stream; nil: the
	// server's files are elsewhere.
	Look func(ctx context.Context, stream string, from, through uint64) error
	// Load returns the newest event of an aggregate; fault.ErrNotFound if it has none.
	Load func(context.Context, format.Key) (*format.Recorded, error)
}

// Of returns the log of a store, up to the ends of the tip store. Close the archive before the
// store.
func Of(ctx context.Context, r Running) (*Archive, error) {
	a := &Archive{dir: r.Dir, running: &r}
	view := r.Tips.Snapshot()
	a.view = &view
	err := a.serve(ctx, r)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// serve connects to the server. It lists the streams after the ends are known, so it finds all
// segments up to them.
func (a *Archive) serve(ctx context.Context, r Running) (err error) {
	if a.Ends, err = tiprow.Ends(*a.view); err != nil {
		return damagedTips(a.dir, err)
	}
	if a.log, err = remote.Over(ctx, r.Dial); err != nil {
		return err
	}
	a.log.Guard(r.Look)
	delete(a.Ends, streams.CheckpointShard) // a later checkpoint may cover later events
	s := Served{Log: a.log, Ends: map[int]uint64{streams.CheckpointShard: r.Checkpoints}}
	for shard, end := range a.Ends {
		s.Ends[shard] = end.Seq
	}
	if r.Inspect == nil {
		if s.Secrets, err = a.log.SecretsEnd(ctx); err != nil {
			return err
		}
	}
	a.Shards, a.streams, a.source = a.log.Shards, a.log.Names(), s.source()
	return nil
}

// InspectShard checks the files of one shard if a server runs on them.
func (a *Archive) InspectShard(ctx context.Context, shard int, damaged Damaged) error {
	if a.running == nil {
		return nil
	}
	return a.inspectRunning(ctx, shard, damaged)
}

// FilesInUse reports whether the server that returns the log runs on files that Inspect checks. It
// would cut a damaged file if it loaded it.
func (a *Archive) FilesInUse() bool { return a.running != nil && a.running.Inspect != nil }

func (a *Archive) inspectRunning(ctx context.Context, shard int, damaged Damaged) error {
	if err := a.running.Known(damaged); err != nil || !a.FilesInUse() {
		return err
	}
	return a.running.Inspect(ctx, shard, damaged)
}
