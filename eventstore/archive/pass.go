package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"payledger/eventstore/format"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// Pass is one reading of all files of a running server, for the scrub.
type Pass struct {
	Files    *Files
	Tips     *tipstore.Store
	Log      format.LogID
	After    string                    // the last stream that an interrupted pass has read; "": there was none
	Uncached bool                      // reads from the disk instead of the system's cache
	Pace     func(n int) error         // is called after each read with its number of bytes
	Read     func(stream string) error // is called after each stream
	Damaged  Damaged
}

// Run reads the files, and compares them with each other and with what the process knows. A stream
// that cannot be read does not end the pass: Run reads the others, and returns the errors.
func (p Pass) Run(ctx context.Context) (unread error) {
	in := (&inspection{dir: p.Files.Dir, tips: p.Tips, live: p.Files, whole: true, uncached: p.Uncached}).with(ctx, p.Damaged)
	in.pace = p.Pace
	if err := in.prepare(nil); err != nil {
		return err
	}
	if err := in.gone(); err != nil {
		return err
	}
	skip := slices.Contains(in.names, p.After) && !in.wasDropped(p.After)
	for _, shard := range slices.Sorted(maps.Keys(in.newest)) {
		linked := p.linked()
		err := in.readShard(ctx, shard, func(name string) error {
			if skip {
				skip, in.bad[name] = name != p.After, true
				return nil
			}
			read := func() error { return in.readGroups(shard, name, 0, linked) }
			if streams.KindOf(shard).Destroys {
				read = func() error { return in.readStream(name) }
			}
			switch err := read(); {
			case err == nil:
				return p.Read(name)
			case ctx.Err() != nil:
				return err
			default:
				in.bad[name], unread = true, errors.Join(unread, fmt.Errorf("%s: %w", name, err))
				return nil
			}
		})
		if err == nil {
			err = in.compareShard(shard)
		}
		if err != nil {
			return err
		}
	}
	return unread
}

// linked returns a function that refuses a group that does not follow the one before it.
func (p Pass) linked() func(string, *format.Group) error {
	var before format.Link
	return func(_ string, g *format.Group) error {
		switch {
		case g.Log != p.Log:
			return fmt.Errorf("%w: it is a group of another log", stored.ErrRefused)
		case before.Seq+1 == g.Seq && before.Hash != g.Before && g.Seq > 1:
			return fmt.Errorf("%w: group %d names another group before it", stored.ErrRefused, g.Seq)
		}
		before = format.Link{Seq: g.Seq, Hash: g.Hash}
		return nil
	}
}
