package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"payledger/eventstore/disk"
	"payledger/eventstore/fault"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// maxTails is how often the end of SECRETS is read again, while the server destroys values.
const maxTails = 100

// copyKeys writes the stream SECRETS into a new file, after the ends of the log were read, and
// without destroyed values (doc.go).
func (r *run) copyKeys(ctx context.Context) error {
	for {
		if err := r.copyKeysOnce(ctx); !errors.Is(err, errSegment) {
			return err
		}
	}
}

// errSegment means that the server began a segment after the file's header was written.
var errSegment = errors.New("backup: SECRETS has a new segment")

func (r *run) copyKeysOnce(ctx context.Context) (err error) {
	read, segments, err := r.Source.secrets(ctx)
	if err != nil {
		return err
	}
	c, err := secretlog.NewCopy(ctx, read, r.Source.cut.Secrets)
	if err != nil {
		return err
	}
	header := Header{Number: r.manifest.Number, Log: r.Source.log, Stream: streams.Secrets, First: 1}
	if header.Configs, err = r.configs(segments); err != nil {
		return err
	}
	w, err := newWriter(filepath.Join(r.Keys, numbered(r.manifest.Number, keysEnding)), header)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && w != nil {
			err = errors.Join(err, w.f.Close(), shred(w.path+temporary))
		}
	}()
	through := r.Source.cut.Secrets
	for try := 0; ; try++ {
		err := c.Each(ctx, through, func(m stored.Message) error {
			if header.Configs[secretlog.StreamOf(m.Subject)] == nil {
				return errSegment
			}
			return w.add(m)
		})
		if err != nil {
			return err
		}
		missing, whole := c.Whole()
		if whole {
			break
		}
		if r.Source.secretsEnd == nil || try == maxTails {
			return fault.Damage(streams.Secrets, missing, errors.New("the record is missing, and no destruction names it"))
		}
		if through, err = r.Source.secretsEnd(ctx); err != nil {
			return err
		}
	}
	file, err := w.finish()
	w = nil
	if err != nil {
		return err
	}
	r.manifest.Keys, r.result.KeyBytes = file.SHA256, file.Bytes
	return r.step("keys")
}

func (r *run) configs(names []string) (map[string]json.RawMessage, error) {
	configs := map[string]json.RawMessage{}
	for _, name := range names {
		var err error
		if configs[name], _, err = r.Source.config(name); err != nil {
			return nil, err
		}
	}
	return configs, nil
}

// newestKeys returns the number of the newest complete file of keys; 0 if there is none.
func newestKeys(dir string) (newest uint64, err error) {
	names, err := filesIn(dir, keysEnding)
	for _, name := range names {
		newest = max(newest, numberOf(name))
	}
	return newest, err
}

// dropKeys destroys every file of keys but the newest complete one, if the events have a manifest
// of its number or of a lower one.
func dropKeys(dir string, keep uint64) error {
	names, err := filesIn(dir, keysEnding, keysEnding+temporary)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == numbered(keep, keysEnding) {
			continue
		}
		if err := shred(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return writeError(disk.SyncFolder(dir))
}

// KeysFile returns the path and the number of the newest file of keys. It refuses keys that are
// older than the newest manifest (doc.go).
func KeysFile(dir string, c *Chain) (path string, number uint64, err error) {
	number, err = newestKeys(dir)
	if err != nil {
		return "", 0, err
	}
	newest := c.Newest()
	switch {
	case number == 0:
		return "", 0, fmt.Errorf("%s has no file of keys: name the folder that backup wrote with --keys-out", dir)
	case number < newest.Number:
		return "", 0, fmt.Errorf("the keys in %s are of run %d, and the events in %s are of run %d: an older copy of the keys could bring erased customers back; use the folder of keys that belongs to the newest run",
			dir, number, c.Dir, newest.Number)
	}
	path = filepath.Join(dir, numbered(number, keysEnding))
	file, err := Read(path, func(h Header) error {
		if h.Log != newest.Log || h.Stream != streams.Secrets || h.Number != number {
			return fmt.Errorf("%w: %s is not the file of keys of run %d of this log", ErrDamaged, path, number)
		}
		return nil
	}, nil)
	if err == nil && number == newest.Number && file.SHA256 != newest.Keys {
		err = fmt.Errorf("%w: %s is not the file of keys that run %d wrote", ErrDamaged, path, number)
	}
	return path, number, err
}

// leftover lists the complete files of messages that no manifest names.
func (r *run) leftover() error {
	named := map[string]bool{}
	for _, m := range r.chain.Manifests {
		for _, f := range m.Files {
			named[f.Name] = true
		}
	}
	r.left = map[string]Header{}
	names, err := filesIn(r.Out, messagesEnding, messagesEnding+temporary, manifestEnding+temporary)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if named[name] {
			continue
		}
		path := filepath.Join(r.Out, name)
		h, err := readHeader(path)
		if err == nil && filepath.Ext(name) != temporary && h.Log == r.Source.log {
			r.left[name] = h
			continue
		}
		if err := removeFile(path); err != nil {
			return err
		}
	}
	return nil
}
